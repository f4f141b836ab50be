"""From what a solver found to what may be used: repaired, in whole tickets, and certified."""

import math
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from priste.calibration.bounds import Bound
from priste.calibration.calibration import Situation
from priste.calibration.program import SolverError
from priste.checks import Array
from priste.dyadic import dyadic
from priste.worst_case import by_all_cores

_BUMPS = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)  # added to all that is used if rounding hurts


def repaired(bounds: Sequence[Bound], remap: Array, deadline: float = math.inf) -> Array:
    """Return the remap with as much of a constant in each column as it needs to pass.

    If there is no time to find out until the `deadline`, all of it is a constant.
    """
    missing = np.zeros(remap.shape[1])

    def lacks(place: tuple[Bound, int]) -> float:
        bound, j = place
        return bound.missing(remap[:, j]) if time.monotonic() <= deadline else math.inf

    places = [(bound, j) for bound in bounds for j in np.flatnonzero(bound.failing(remap)).tolist()]
    for (_, j), more in zip(places, by_all_cores(lacks, places), strict=True):
        missing[j] = max(missing[j], more)
    if not np.isfinite(missing).all():
        missing[:] = 0.0
        missing[0] = 1e9  # as good as a constant
    return np.asarray((remap + missing) / (1 + missing.sum()))


def certified(
    situation: Situation, mechanism: Array, remap: Array, outputs: NDArray[np.intp], n_outputs: int
) -> Array:
    """Return the emission in whole tickets, with a little more constant if rounding hurts.

    Outputs for cells that are hardly possible rest on shares too small for a ticket.
    """
    emission = np.zeros((len(mechanism), n_outputs))
    np.add.at(emission.T, outputs, (mechanism @ remap).T)
    used = emission.any(axis=0)
    for bump in _BUMPS:
        mended = emission + bump * used
        lottery = dyadic(mended / mended.sum(axis=1, keepdims=True))
        if situation.forbidden_output(lottery) is None:
            return lottery
    raise SolverError("rounding to whole tickets breaks a promise")
