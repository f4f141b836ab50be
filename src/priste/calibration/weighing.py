"""How much the loss in each cell counts, where a remap is sought that loses least."""

import numpy as np

from priste.calibration.calibration import Situation
from priste.checks import Array

_ANYWHERE = 1e-3  # the share of the public belief that is spread over all cells
AS_BELIEVED = 0.1
"""The share of a focused belief that is left as it was, for unusual days."""


def weights(situation: Situation) -> Array:
    """Return the belief that weights losses: the public one, with a little of it anywhere."""
    belief = situation.belief
    return np.asarray((1 - _ANYWHERE) * belief + _ANYWHERE / len(belief))


def focused(belief: Array, focus: float, as_believed: float = AS_BELIEVED) -> Array:
    """Return a belief in the usual places: mostly the belief to the power of `focus`."""
    if focus == 1:
        return belief
    power = (belief / belief.max()) ** focus  # so that the largest stays 1
    return np.asarray((1 - as_believed) * power / power.sum() + as_believed * belief)
