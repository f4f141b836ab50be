"""What a search for a remap may use: how much time, and which outputs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from priste.checks import Array

FEW = 2
"""How many promises leave a program on the whole map quick to solve, if they bound it linearly."""

LARGE = 900
"""How many cells a map may have for the program of all of them to be solved."""


class Effort(NamedTuple):
    """How near the bound, for how many rounds, on how many cells as outputs, for how long.

    `thrift` is the toll on moving odds, in units of the smallest loss there is.
    """

    gap: float
    rounds: int
    outputs: int | None
    time_limit: float
    thrift: float = 0.0


def usable_outputs(
    n_cells: int, emission: Array | None, avoided: NDArray[np.intp] | None
) -> NDArray[np.intp]:
    """Return the cells that may be released: those that the mechanism gives, if it gives cells.

    So what a location set leaves out stays out. Those `avoided` are left out unless none remain.
    """
    used = np.ones(n_cells, dtype=bool)
    if emission is not None and emission.shape[1] == n_cells:
        used &= emission.any(axis=0)
    if avoided is not None and used.sum() > used[avoided].sum():
        used[avoided] = False
    return np.flatnonzero(used)
