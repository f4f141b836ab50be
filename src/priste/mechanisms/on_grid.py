"""What mechanisms on a grid share."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

from priste.checks import Array, frozen, positive
from priste.errors import MechanismError
from priste.grid import Grid
from priste.mechanisms.mechanism import Mechanism
from priste.mechanisms.uniform import Uniform


@dataclass(frozen=True)
class GridMechanism(Mechanism):
    """A mechanism on a grid with a `budget` per unit of its distance."""

    grid: Grid
    budget: float

    def __post_init__(self) -> None:
        if not isinstance(self.grid, Grid):
            raise MechanismError(
                f"{type(self).__name__} needs a Grid, got {type(self.grid).__name__}"
            )
        budget = positive(self.budget, "budget", MechanismError)
        object.__setattr__(self, "budget", budget)
        object.__setattr__(self, "distances", self.grid.distances)

    @property
    def n_inputs(self) -> int:
        """How many cells the map has."""
        return self.grid.n_cells

    @cached_property
    def _emission(self) -> Array:
        return frozen(self._matrix())

    def _matrix(self) -> Array:
        raise TypeError(f"{type(self).__name__} gives no emission matrix")

    def emission(self) -> Array:
        """Return Pr(output | true cell), computed once."""
        return self._emission

    def _for_lottery(self) -> Array:
        kept: Array | None = self.__dict__.get("_emission")
        return self._matrix() if kept is None else kept  # two large matrices are not kept at once

    def uninformative(self) -> Uniform:
        """Return the uniform output over the map."""
        return self._uniform

    @cached_property
    def _uniform(self) -> Uniform:
        return Uniform(self.grid.n_cells)

    def with_budget(self, budget: float) -> Self:
        """Return the mechanism with another budget."""
        return type(self)(self.grid, budget)
