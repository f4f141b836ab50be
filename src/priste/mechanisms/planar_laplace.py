"""Planar Laplace noise on a grid: drawn in the plane, then snapped to the nearest cell.

The noise has the density ``budget² / 2π · exp(-budget · r)`` around the centre of the true cell.
What falls off the map is elsewhere, or goes to the border cells of a map without that cell.
Snapping looks at the noisy point alone, so the mechanism is geo-indistinguishable exactly:
P(o|x) ≤ exp(budget · distance(x, y)) · P(o|y).

Somebody who is elsewhere has no centre to put noise around. They are shown on the map as rarely as
that inequality allows, and elsewhere otherwise; it then holds for them too (proved in the
documentation of the mathematics).
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from priste.checks import Array
from priste.grid import Grid
from priste.mechanisms.on_grid import GridMechanism


class PlanarLaplace(GridMechanism):
    """Planar Laplace noise with `budget` per unit of distance, snapped to the grid."""

    def _matrix(self) -> Array:
        return _snapped_laplace(self.grid, self.budget)


def _snapped_laplace(grid: Grid, budget: float) -> Array:
    """Return the mass that noise around each cell's centre puts on each cell."""
    side = budget * grid.cell_size
    if not grid.elsewhere:
        return _endless_at_border(grid.rows, grid.columns, side)
    ringed = _endless_at_border(grid.rows + 2, grid.columns + 2, side)
    on_map = np.pad(np.ones((grid.rows, grid.columns), dtype=bool), 1).ravel()
    matrix = np.empty((grid.n_cells, grid.n_cells))
    matrix[:-1, :-1] = ringed[np.ix_(on_map, on_map)]
    matrix[:-1, -1] = ringed[np.ix_(on_map, ~on_map)].sum(axis=1)
    likeness = np.exp(-budget * grid.distances[:-1, -1:])
    matrix[-1, :-1] = (likeness * matrix[:-1, :-1]).max(axis=0)
    matrix[-1, -1] = 1 - matrix[-1, :-1].sum()
    return matrix


def _endless_at_border(rows: int, columns: int, side: float) -> Array:
    """Return the masses on a map whose border cells reach as far as the plane."""
    across, down = Axis.of(columns), Axis.of(rows)
    masses = np.pad(interval_masses(across, down, side), (0, 1))
    (left, right), (below, above) = across.parts, down.parts
    matrix = np.empty((rows * columns, rows * columns))
    by_axis = matrix.reshape(rows, columns, rows, columns)
    for y in range(rows):  # one true cell after the other: what it needs stays in the cache
        by_row = np.take(masses, below[y], axis=1) + np.take(masses, above[y], axis=1)
        by_interval = np.ascontiguousarray(by_row.T)  # output row, then interval across
        for x in range(columns):
            np.take(by_interval, left[x], axis=1, out=by_axis[y, x], mode="clip")
            by_axis[y, x] += np.take(by_interval, right[x], axis=1, mode="clip")
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix


class Axis(NamedTuple):
    """One axis of the map: intervals ahead of the true cell's centre, in cell sides.

    There are two for each distance k in cells: [k - ½, k + ½] and, for border cells, the endless
    [k - ½, ∞); for k = 0 both begin at 0. `parts` are the one or two intervals that make up output
    u as seen from true cell x, at [x, u]: two where the output contains the centre, otherwise the
    second is an index past the last interval, for nothing.
    """

    low: Array
    high: Array
    parts: tuple[NDArray[np.intp], NDArray[np.intp]]

    @classmethod
    def of(cls, count: int) -> "Axis":
        """Return the intervals of an axis of so many cells."""
        away = np.arange(count)
        x, u = np.indices((count, count))
        at_start, at_end = count * (u == 0), count * (u == count - 1)
        first = abs(u - x) + np.where(u < x, at_start, at_end)
        second = np.where(u == x, at_start, 2 * count)
        low = np.maximum(away - 0.5, 0.0)
        high = np.concatenate([away + 0.5, np.full(count, np.inf)])
        return cls(np.tile(low, 2), high, (first, second))


def interval_masses(across: Axis, down: Axis, side: float) -> Array:
    """Return the mass of every box of an interval across and one down, `side` in 1 / budget."""
    x_low, x_high = side * across.low, side * across.high
    y_low, y_high = side * down.low, side * down.high
    n, m = len(x_low) // 2, len(y_low) // 2
    if side * max(n, m) > _SMALL_MAP:
        return np.asarray(_box_masses(x_low, x_high, y_low, y_high))
    # On a map small beside the noise endless boxes hold much of it, and integrating each is slow.
    # They are what the boxes nearer by leave of their strip, with no digits worth having lost.
    endless = np.array([np.inf])
    zero = np.zeros(1)
    finite = _box_masses(x_low[:n], x_high[:n], y_low[:m], y_high[:m])
    rows = _box_masses(zero, endless, y_low[:m], y_high[:m])
    columns = _box_masses(x_low[:n], x_high[:n], zero, endless)
    right = rows - _before(finite, axis=0)
    top = columns - _before(finite, axis=1)
    corner = (0.25 - _before(rows, axis=1)) - _before(top, axis=0)
    return np.block([[finite, top], [right, corner]])


_SMALL_MAP = 3.0  # widest map, in 1 / budget, on which a difference loses less than two digits


def _before(masses: Array, axis: int) -> Array:
    """Return the sums of all earlier entries along an axis."""
    return np.asarray(np.cumsum(masses, axis=axis) - masses)


@njit(cache=True)
def _box_masses(x_low: Array, x_high: Array, y_low: Array, y_high: Array) -> Array:
    """Return the Laplace mass (unit budget) of every box [x_low, x_high] × [y_low, y_high] ≥ 0."""
    masses = np.empty((len(x_low), len(y_low)))
    square = len(x_low) == len(y_low)
    for i in range(len(x_low)):
        for j in range(i if square else 0, len(y_low)):
            masses[i, j] = _box_mass(x_low[i], x_high[i], y_low[j], y_high[j])
            if square:
                masses[j, i] = masses[i, j]
    return masses


@njit(cache=True)
def _box_mass(x_low: float, x_high: float, y_low: float, y_high: float) -> float:
    """Return the mass of a box in the first quadrant: in polar coordinates, over the angle.

    The angles of its corners cut the integral into pieces on which it is smooth.
    """
    first = 0.0 if x_high == math.inf else math.atan2(y_low, x_high)
    last = math.pi / 2 if y_high == math.inf else math.atan2(y_high, x_low)
    inner = first if x_low == 0 and y_low == 0 else math.atan2(y_low, x_low)
    outer = math.atan2(y_high, x_high)
    if x_high == math.inf:
        outer = first
    elif y_high == math.inf:
        outer = last
    middle = min(max(min(inner, outer), first), last), min(max(inner, outer), last)
    mass = 0.0
    for start, stop in ((first, middle[0]), middle, (middle[1], last)):
        if stop > start:
            mass += _sector(x_low, x_high, y_low, y_high, start, stop)
    return mass / (2 * math.pi)


_COARSE, _COARSE_WEIGHTS = np.polynomial.legendre.leggauss(8)
_FINE, _FINE_WEIGHTS = np.polynomial.legendre.leggauss(14)
_ACCURACY = 1e-11  # between the rules; the finer one is far better than their difference


@njit(cache=True)
def _sector(
    x_low: float, x_high: float, y_low: float, y_high: float, start: float, stop: float
) -> float:
    """Integrate the radial mass over the angle, halving the interval until two rules agree."""
    stack = [(start, stop, 0)]
    total = largest = 0.0
    while stack:
        left, right, depth = stack.pop()
        middle, half = (left + right) / 2, (right - left) / 2
        coarse = fine = 0.0
        for k in range(len(_COARSE)):
            angle = middle + half * _COARSE[k]
            coarse += _COARSE_WEIGHTS[k] * _radial(x_low, x_high, y_low, y_high, angle)
        for k in range(len(_FINE)):
            angle = middle + half * _FINE[k]
            fine += _FINE_WEIGHTS[k] * _radial(x_low, x_high, y_low, y_high, angle)
        largest = max(largest, half * fine)
        if not half * abs(fine - coarse) > _ACCURACY * largest or depth == 40:
            total += half * fine
        else:
            stack.append((left, middle, depth + 1))
            stack.append((middle, right, depth + 1))
    return total


@njit(cache=True)
def _radial(x_low: float, x_high: float, y_low: float, y_high: float, angle: float) -> float:
    """Return ∫ r e^{-r} dr along the ray at `angle` from where it enters the box to its exit."""
    cosine, sine = math.cos(angle), math.sin(angle)
    enter = max(x_low / cosine, y_low / sine)
    leave = min(x_high / cosine, y_high / sine)
    length = leave - enter
    if length <= 0:
        return 0.0
    return math.exp(-enter) * (enter * -math.expm1(-length) + _erlang(length))


@njit(cache=True)
def _erlang(length: float) -> float:
    """Return 1 - (1 + length) e^{-length} without cancellation."""
    if length > 0.5:
        return 1.0 if length == math.inf else 1 - (1 + length) * math.exp(-length)
    term = length * length / 2  # Σ_{k≥2} (-1)^k (k-1)/k! length^k
    total, k = term, 2
    while abs(term) > 1e-18 * total:
        term *= -length * k / ((k - 1) * (k + 1))
        total += term
        k += 1
    return total
