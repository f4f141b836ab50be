"""Any output, whatever the truth."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from priste.checks import Array, cell_set, frozen, whole
from priste.errors import MechanismError
from priste.mechanisms.mechanism import Mechanism


@dataclass(frozen=True)
class Uniform(Mechanism):
    """Every output with the same probability from every cell: it reveals nothing.

    There are `n_outputs` outputs (as many as cells if not given); if `among` is given, only those
    of them occur.
    """

    n_cells: int
    n_outputs: int | None = None
    among: tuple[int, ...] | None = None
    budget: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        whole(self.n_cells, "n_cells", MechanismError, least=1)
        given = self.n_cells if self.n_outputs is None else self.n_outputs
        outputs = whole(given, "n_outputs", MechanismError, least=1)
        object.__setattr__(self, "n_outputs", outputs)
        if self.among is not None:
            among = cell_set(self.among, "among", MechanismError, n_cells=outputs)
            object.__setattr__(self, "among", among)

    @cached_property
    def _emission(self) -> Array:
        outputs = self.n_outputs or self.n_cells
        chosen = range(outputs) if self.among is None else self.among
        row = np.zeros(outputs)
        row[list(chosen)] = 1 / len(chosen)
        return frozen(np.tile(row, (self.n_cells, 1)))

    def emission(self) -> Array:
        """Return the matrix of equal rows."""
        return self._emission

    def uninformative(self) -> "Uniform":
        """Return itself."""
        return self

    def with_budget(self, budget: float) -> "Uniform":  # noqa: ARG002
        """Return itself: it has no other version."""
        return self
