"""Planar Laplace noise on a grid: drawn in the plane, then snapped to the nearest cell.

The noise has the density ``budget² / 2π · exp(-budget · r)`` around the centre of the true cell.
What falls off the map goes to its border cells. Snapping looks at the noisy point alone, so the
mechanism is geo-indistinguishable exactly: P(o|x) ≤ exp(budget · distance(x, y)) · P(o|y).
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from priste.checks import Array
from priste.grid import Grid
from priste.mechanisms.on_grid import GridMechanism


class PlanarLaplace(GridMechanism):
    """Planar Laplace noise with `budget` per unit of distance, snapped to the grid."""

    def _matrix(self) -> Array:
        return _snapped_laplace(self.grid, self.budget)


def _snapped_laplace(grid: Grid, budget: float) -> Array:
    """Return the mass that noise around each cell's centre puts on each cell."""
    across, down = _Axis.of(grid.columns), _Axis.of(grid.rows)
    side = budget * grid.cell_size  # the plane in units of 1 / budget
    x_ends, y_ends = (across.low * side, across.high * side), (down.low * side, down.high * side)
    masses = _quadrant_masses(*x_ends, *y_ends)
    # mass of an output = sum over the intervals its extent consists of, on both axes
    cells = np.einsum("xup,pq,yvq->yxvu", across.parts, masses, down.parts, optimize=True)
    matrix = cells.reshape(grid.n_cells, grid.n_cells)
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


class _Axis(NamedTuple):
    """One axis of the map: intervals [low, high] ahead of the true cell's centre, in cell sides.

    ``parts[x, u, p]`` is how many times interval p makes up output u as seen from true cell x. By
    symmetry only what lies ahead counts: an output that contains the centre is made of two parts.
    """

    low: Array
    high: Array
    parts: Array

    @classmethod
    def of(cls, count: int) -> "_Axis":
        away = np.arange(count)
        low = np.maximum(away - 0.5, 0.0)
        inner, outer = np.arange(count), count + np.arange(count)  # [low, away+½] and [low, ∞)
        parts = np.zeros((count, count, 2 * count))
        for x in range(count):
            for u in range(count):
                first, last = u == 0, u == count - 1
                if x != u:
                    beyond = first if u < x else last
                    parts[x, u, (outer if beyond else inner)[abs(x - u)]] = 1.0
                else:
                    for at_border in (first, last):
                        parts[x, u, (outer if at_border else inner)[0]] += 1.0
        return cls(np.tile(low, 2), np.concatenate([away + 0.5, np.full(count, np.inf)]), parts)


@njit(cache=True)
def _quadrant_masses(x_low: Array, x_high: Array, y_low: Array, y_high: Array) -> Array:
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
    angles = np.empty(4)
    angles[0] = 0.0 if x_high == math.inf else math.atan2(y_low, x_high)
    angles[3] = math.pi / 2 if y_high == math.inf else math.atan2(y_high, x_low)
    inner = angles[0] if x_low == 0 and y_low == 0 else math.atan2(y_low, x_low)
    endless = x_high == math.inf and y_high == math.inf
    outer = angles[0] if endless else math.atan2(y_high, x_high)
    if x_high == math.inf and not endless:
        outer = 0.0
    angles[1], angles[2] = min(inner, outer), max(inner, outer)
    mass = 0.0
    for k in range(3):
        start, stop = max(angles[k], angles[0]), min(angles[k + 1], angles[3])
        if stop > start:
            mass += _sector(x_low, x_high, y_low, y_high, start, stop)
    return mass / (2 * math.pi)


_COARSE, _COARSE_WEIGHTS = np.polynomial.legendre.leggauss(12)
_FINE, _FINE_WEIGHTS = np.polynomial.legendre.leggauss(20)
_ACCURACY = 1e-9  # between the rules; the finer one is far better than their difference


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
        if half * abs(fine - coarse) <= _ACCURACY * largest or depth == 40:
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
