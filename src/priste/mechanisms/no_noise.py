"""No noise at all: the true cell, for a calibration that hides what has to be hidden."""

from dataclasses import dataclass

import numpy as np

from priste.checks import Array
from priste.errors import MechanismError
from priste.mechanisms.on_grid import GridMechanism


@dataclass(frozen=True)
class NoNoise(GridMechanism):
    """The true cell with a probability of `budget`, any cell otherwise.

    With budget 1 it offers no location privacy of its own; `OptimalRemap` then protects the events
    and nothing else.
    """

    budget: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget > 1:
            raise MechanismError(f"the budget of NoNoise is a share, at most 1; got {self.budget}")

    def _matrix(self) -> Array:
        n = self.grid.n_cells
        matrix = np.full((n, n), (1 - self.budget) / n)
        matrix.flat[:: n + 1] += self.budget
        return matrix


Exact = NoNoise
"""The earlier name of `NoNoise`."""
