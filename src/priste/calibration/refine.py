"""Truth kept inside the cells that an output stands for.

On a map with few outputs everybody near one of them reports it, whoever they are. Those for whom it
is the nearest may say so more exactly: its column is parted into one for each of them, with the
same share of all others, and each is labelled by the cell that is best for it. In between all
columns are in proportion, which tells nothing more, and columns that keep a promise form a cone; so
there is a largest part of the truth that keeps every promise, and bisection finds it. Where odds
have a toll, less of it may be worth more. What is lost on average, with the toll, never grows.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from priste.calibration.bounds import Bound
from priste.calibration.calibration import Situation
from priste.calibration.finish import certified
from priste.calibration.program import SolverError
from priste.calibration.toll import FREE, Toll
from priste.checks import Array
from priste.worst_case import by_all_cores

Index = NDArray[np.intp]

_HALVINGS = 5  # of what is not known of the part that is told
_SHARES = np.linspace(1.0, 0.0, 5)  # of the largest part: what is tried where odds have a toll
_RARE = 1e-3  # of those for whom an output is the nearest: who is too rare to be told apart


def certified_with_truth(
    situation: Situation,
    mechanism: Array,
    remap: Array,
    outputs: Index,
    cost: Array,
    possible: Index,
    mass: Array,
    toll: Toll = FREE,
) -> Array:
    """Return the emission of a refined remap in whole tickets; if rounding hurts, of the remap."""
    pairs = zip(situation.protections, situation.evidence, strict=True)
    bounds = [Bound.of(p, e, mechanism) for p, e in pairs]
    n_cells = cost.shape[1]
    try:
        more = refined(bounds, remap, outputs, cost, possible, mass, toll)
        return certified(situation, mechanism, *more, n_cells)
    except SolverError:
        return certified(situation, mechanism, remap, outputs, n_cells)


def refined(
    bounds: Sequence[Bound],
    remap: Array,
    outputs: Index,
    cost: Array,
    possible: Index,
    mass: Array,
    toll: Toll = FREE,
) -> tuple[Array, Index]:
    """Return a remap of signals onto more outputs that costs no more, and these outputs.

    `cost` is that of giving each cell after each signal, `possible` are the cells that may be
    given, and `mass` is how likely each signal is. The remap keeps the promises, and so does what
    is returned.
    """
    nearest = cost[:, outputs].argmin(axis=1)

    def paid(columns: Array) -> float:
        return float((columns.T @ cost[:, possible]).min(axis=1).sum()) + toll.of(columns)

    def told(number: int) -> Array:
        column = remap[:, number]
        weight = np.where(nearest == number, mass * column, 0.0)
        members = np.flatnonzero(weight > _RARE * weight.sum())
        even, all_of_it = _parted(bounds, column, members, weight[members])
        if not toll.price:
            return all_of_it
        return min(((1 - share) * even + share * all_of_it for share in _SHARES), key=paid)

    columns: Array = np.concatenate(by_all_cores(told, range(len(outputs))), axis=1)
    totals = columns.T @ cost[:, possible]
    return columns, np.asarray(possible[totals.argmin(axis=1)])


def _parted(
    bounds: Sequence[Bound], column: Array, members: Index, weight: Array
) -> tuple[Array, Array]:
    """Return a column in proportional parts, and parted as far as that keeps the promises."""
    if len(members) < 2:
        return column[:, None], column[:, None]
    even = np.outer(column, weight / weight.sum())
    told = even.copy()
    told[members] = np.diag(column[members])

    def keeps(part: float) -> bool:
        between = (1 - part) * even + part * told
        return not any(bound.failing(between, any_will_do=True).any() for bound in bounds)

    if keeps(1.0):
        return even, told
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return (even, (1 - low) * even + low * told) if low else (column[:, None], column[:, None])
