"""What the adversary may believe about the cell at step 0, before any release.

Every set of beliefs here is the convex hull of finitely many distributions, its *vertices*. The
loss over the whole set follows exactly from its vertices.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from priste.checks import Array, cell_set, distribution, fraction, listing
from priste.errors import PriorError


class Prior(Protocol):
    """A convex set of beliefs over the cells."""

    def vertices(self, n_cells: int) -> Array:
        """Return the distributions that span the set, one per row: shape (n, n_cells)."""


@dataclass(frozen=True)
class AnyPrior:
    """Any belief at all: the adversary of the paper, and the strongest one."""

    def vertices(self, n_cells: int) -> Array:
        """Return all point masses."""
        return np.eye(n_cells)


@dataclass(frozen=True)
class AnyPriorOn:
    """Any belief that puts everything on the given cells."""

    cells: tuple[int, ...]

    def __init__(self, cells: Iterable[int]) -> None:
        object.__setattr__(self, "cells", cell_set(cells, "AnyPriorOn", PriorError))

    def __repr__(self) -> str:
        return f"AnyPriorOn({listing(self.cells)})"

    def vertices(self, n_cells: int) -> Array:
        """Return the point masses on the cells."""
        cells = cell_set(self.cells, "AnyPriorOn", PriorError, n_cells=n_cells)
        return np.eye(n_cells)[list(cells)]


@dataclass(frozen=True, eq=False)
class KnownPrior:
    """Exactly one belief."""

    belief: Array = field(repr=False)

    def __init__(self, belief: ArrayLike) -> None:
        object.__setattr__(self, "belief", distribution(belief, "the known prior", PriorError))

    def __repr__(self) -> str:
        return f"KnownPrior(a belief over {len(self.belief)} cells)"

    def vertices(self, n_cells: int) -> Array:
        """Return the belief as the only row."""
        return distribution(self.belief, "the known prior", PriorError, size=n_cells)[None, :]


@dataclass(frozen=True, eq=False)
class NearPrior:
    """A belief of which a fraction `rho` is free: ``(1 - rho) * belief + rho * anything``."""

    belief: Array = field(repr=False)
    rho: float

    def __init__(self, belief: ArrayLike, rho: float) -> None:
        object.__setattr__(self, "belief", distribution(belief, "the near prior", PriorError))
        object.__setattr__(self, "rho", fraction(rho, "rho", PriorError, open_at_one=False))

    def __repr__(self) -> str:
        return f"NearPrior(a belief over {len(self.belief)} cells, rho={self.rho:g})"

    def vertices(self, n_cells: int) -> Array:
        """Return the belief mixed with each point mass."""
        belief = distribution(self.belief, "the near prior", PriorError, size=n_cells)
        return (1 - self.rho) * belief + self.rho * np.eye(n_cells)
