"""A mechanism given as its matrix."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from priste.checks import Array, fraction, frozen, stochastic
from priste.errors import MechanismError
from priste.mechanisms.mechanism import Mechanism
from priste.mechanisms.uniform import Uniform


@dataclass(frozen=True, eq=False)
class EmissionMatrix(Mechanism):
    """Any row-stochastic matrix: Pr(output | true cell), one row per cell.

    Its budget is the share of the matrix itself in a mixture with the uniform output, 1 at first;
    weaker versions have a smaller share.
    """

    matrix: Array = field(repr=False)
    budget: float = 1.0

    def __init__(self, matrix: ArrayLike, budget: float = 1.0) -> None:
        checked = stochastic(matrix, "the emission matrix", MechanismError)
        dense = checked if isinstance(checked, np.ndarray) else frozen(checked.toarray())
        share = fraction(budget, "the budget (a share)", MechanismError, open_at_one=False)
        object.__setattr__(self, "matrix", dense)
        object.__setattr__(self, "budget", share)

    def emission(self) -> Array:
        """Return the mixture of the matrix and the uniform output."""
        return self._emission

    @cached_property
    def _emission(self) -> Array:
        if self.budget == 1:
            return self.matrix
        return frozen(self.budget * self.matrix + (1 - self.budget) / self.matrix.shape[1])

    def uninformative(self) -> Uniform:
        """Return the uniform output over the matrix's columns."""
        return Uniform(*self.matrix.shape)

    def with_budget(self, budget: float) -> "EmissionMatrix":
        """Return the mixture with another share of the matrix."""
        return EmissionMatrix(self.matrix, budget)
