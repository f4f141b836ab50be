"""The planar Laplace matrix is noise drawn in the plane and moved to the nearest cell.

Once by drawing millions of points, once by integrating the density over every cell.
"""

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import dblquad

from priste import Grid, PlanarLaplace
from priste.checks import Array
from verification.report import Finding, times
from verification.statistics import agree, noticeable, nudged

MISTAKE = "a probability of 0.001 moved from the likeliest cell to the least likely"
GRID = Grid(5, 4)
CASES = ((0.3, 0), (0.8, 6), (2.0, 13))  # budget and true cell
DRAWS, ACCURACY = 20_000_000, 1e-9


def findings(effort: float, *, mistaken: bool) -> Iterator[Finding]:
    """Compare whole rows for a corner and two inner cells, with much and with little noise."""
    for budget, true in CASES:
        row = np.array(PlanarLaplace(GRID, budget).emission()[true])
        if mistaken:
            row = nudged(row, noticeable(effort))
        where = f"budget {budget:g}, true cell {true}"
        yield agree(f"noise drawn and snapped to cells, {where}", drawn(budget, true, effort), row)
        exact = integrated(budget, true)
        worst = float(np.max(np.abs(row / exact - 1)))
        numbers = f"{len(exact)} cells, largest relative difference {worst:.1e}"
        yield Finding(f"the density integrated, {where}", numbers, worst <= ACCURACY)


@cache
def drawn(budget: float, true: int, effort: float) -> NDArray[np.int64]:
    """Return how many points of noise around a cell are nearest to each cell."""
    random = np.random.default_rng(true)
    draws = times(DRAWS, effort)
    radius, angle = random.gamma(2.0, 1 / budget, draws), random.uniform(0, 2 * math.pi, draws)
    x, y = GRID.centres[true]
    column = nearest(x + radius * np.cos(angle), GRID.columns)
    row = nearest(y + radius * np.sin(angle), GRID.rows)
    return np.bincount(row * GRID.columns + column, minlength=GRID.n_cells)


def nearest(places: Array, count: int) -> NDArray[np.intp]:
    """Return the index of the nearest of the centres 0.5, 1.5, ..."""
    middles = np.arange(1, count)  # halfway between neighbours
    return np.searchsorted(middles, places)


@cache
def integrated(budget: float, true: int) -> Array:
    """Return the mass of the noise around a cell in each cell, the border reaching to infinity."""
    row, column = divmod(true, GRID.columns)
    across = [pieces(place - column, place, GRID.columns) for place in range(GRID.columns)]
    down = [pieces(place - row, place, GRID.rows) for place in range(GRID.rows)]
    return np.array(
        [sum(mass(budget, *x, *y) for x in xs for y in ys) for ys in down for xs in across]
    )


def pieces(away: int, place: int, count: int) -> list[tuple[float, float]]:
    """Return the extent of a cell on one axis as seen from the true one, cut at the peak."""
    low = -math.inf if place == 0 else away - 0.5
    high = math.inf if place == count - 1 else away + 0.5
    return [(low, 0.0), (0.0, high)] if low < 0 < high else [(low, high)]


def mass(budget: float, x_low: float, x_high: float, y_low: float, y_high: float) -> float:
    """Return the integral of the density over a box."""

    def density(y: float, x: float) -> float:
        return budget**2 / (2 * math.pi) * math.exp(-budget * math.hypot(x, y))

    found: float = dblquad(density, x_low, x_high, y_low, y_high, epsabs=1e-14, epsrel=1e-11)[0]
    return found
