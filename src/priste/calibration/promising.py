"""Which variables of a remap's program are worth having from the start."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from priste.checks import Array

_NEAREST = 6  # outputs that a row may use from the start
_LENDERS = 8  # rows from which an output may borrow evidence from the start
_PER_ROW, _PER_OUTPUT = 4, 2  # that are worth having where prices are known


def promising(cost: Array, hub: int, gains: Iterable[Array]) -> NDArray[np.bool_]:
    """Mark the variables to begin with, per row and output.

    Each row may use its cheapest outputs, and all of them the `hub`. Of each of the `gains`, those
    rows above zero can lend themselves to all outputs: each output may have those that do most for
    it at least cost.
    """
    wanted = np.zeros(cost.shape, dtype=bool)
    few = min(_NEAREST, cost.shape[1])
    nearest = np.argpartition(cost, few - 1, axis=1)[:, :few]
    np.put_along_axis(wanted, nearest, True, axis=1)
    wanted[:, hub] = True
    for gain in gains:
        lenders = np.flatnonzero(gain > 0)
        if len(lenders):
            with np.errstate(over="ignore"):  # who has next to nothing to lend is dear
                price = cost[lenders] / gain[lenders, None]
            enough = min(_LENDERS, len(lenders))
            best = lenders[np.argpartition(price, enough - 1, axis=0)[:enough]]
            wanted[best, np.arange(cost.shape[1])] = True
    return wanted


def cheapest(reduced: Array) -> NDArray[np.bool_]:
    """Mark the variables of least reduced cost, some of each row and of each output."""
    wanted = np.zeros(reduced.shape, dtype=bool)
    for axis, few in ((1, _PER_ROW), (0, _PER_OUTPUT)):
        few = min(few, reduced.shape[axis])
        best = np.argpartition(reduced, few - 1, axis=axis)
        np.put_along_axis(wanted, np.take(best, np.arange(few), axis=axis), True, axis=axis)
    return wanted
