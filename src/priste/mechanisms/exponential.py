"""Outputs that become unlikely with distance."""

import numpy as np

from priste.checks import Array
from priste.mechanisms.on_grid import GridMechanism


class Exponential(GridMechanism):
    """Output o from cell x with probability proportional to ``exp(-budget * distance(x, o))``.

    The rows' normalisation depends on x, so it is geo-indistinguishable with twice the budget.
    """

    def _matrix(self) -> Array:
        weights = np.exp(-self.budget * self.grid.distances)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))
