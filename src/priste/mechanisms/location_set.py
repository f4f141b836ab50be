"""δ-location sets (Xiao and Xiong 2015): hide only among the places one could be.

At each step the public belief about the user gives the smallest set of cells that holds at least
1 - δ of it. A true cell outside is replaced by its nearest member, and outputs are snapped onto
the set, so nothing outside it is ever released.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from priste.checks import Array, distribution, fraction, frozen, numbers
from priste.errors import MechanismError
from priste.mechanisms.mechanism import Mechanism
from priste.mechanisms.uniform import Uniform


@dataclass(frozen=True, eq=False)
class LocationSet(Mechanism):
    """`mechanism` restricted, at each step, to the δ-location set of the public belief.

    `prior` is the belief over the cells at the first step; a `Protector` carries it on with the
    mobility and the releases. `distances` (between cells) are needed only if the mechanism does
    not know the map. With ``delta=0`` the set is every cell that is possible at all.
    """

    mechanism: Mechanism
    delta: float
    prior: Array = field(repr=False)
    distances: Array = field(repr=False)
    budget: float
    follows_belief: ClassVar[bool] = True

    def __init__(
        self,
        mechanism: Mechanism,
        delta: float,
        prior: ArrayLike,
        distances: ArrayLike | None = None,
    ) -> None:
        n_cells, n_outputs = mechanism.emission().shape
        if n_outputs != n_cells:
            raise MechanismError(
                f"a location set needs a mechanism that releases cells: {n_cells} cells, "
                f"but {n_outputs} outputs"
            )
        known = mechanism.distances if distances is None else distances
        if known is None:
            raise MechanismError(
                f"{type(mechanism).__name__} does not know how far cells are apart; "
                f"give distances= (a {n_cells} × {n_cells} matrix, such as grid.distances)"
            )
        between = numbers(known, "distances", MechanismError, ndim=2)
        if between.shape != (n_cells, n_cells):
            raise MechanismError(
                f"distances must have shape ({n_cells}, {n_cells}), got {between.shape}"
            )
        values = {
            "mechanism": mechanism,
            "delta": fraction(delta, "delta", MechanismError, open_at_one=True),
            "prior": distribution(prior, "prior", MechanismError, size=n_cells),
            "distances": between,
            "budget": mechanism.budget,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def emission(self) -> Array:
        """Return the matrix of the first step."""
        return self.for_belief(self.prior).emission()

    def uninformative(self) -> Uniform:
        """Return the uniform output on the set of the first step."""
        return self.for_belief(self.prior).uninformative()

    def for_belief(self, belief: Array) -> "OnSet":
        """Return the mechanism on the δ-location set of `belief`."""
        members = location_set(belief, self.delta)
        nearest = np.argmin(self.distances[:, members], axis=1)
        return OnSet(self.mechanism, members, nearest, self.mechanism.budget, self.distances)

    def weaker(self, decay: float) -> "LocationSet":
        """Return the location set over the weaker mechanism."""
        return LocationSet(self.mechanism.weaker(decay), self.delta, self.prior, self.distances)

    def with_budget(self, budget: float) -> "LocationSet":
        """Return the location set over the mechanism with another budget."""
        other = self.mechanism.with_budget(budget)
        return LocationSet(other, self.delta, self.prior, self.distances)


@dataclass(frozen=True, eq=False)
class OnSet(Mechanism):
    """A mechanism whose inputs and outputs are both snapped to the nearest of `members`.

    ``nearest[cell]`` is a position in `members`, the surrogate of the cell.
    """

    mechanism: Mechanism
    members: NDArray[np.intp]
    nearest: NDArray[np.intp]
    budget: float
    distances: Array | None = None

    @cached_property
    def _emission(self) -> Array:
        n_cells = len(self.nearest)
        outputs = self.members[self.nearest]
        snap = sparse.csr_array(
            (np.ones(n_cells), (np.arange(n_cells), outputs)), shape=(n_cells, n_cells)
        )
        return frozen(np.asarray(self.mechanism.emission()[self.members] @ snap)[self.nearest])

    def emission(self) -> Array:
        """Return the matrix; columns outside the set are zero."""
        return self._emission

    def uninformative(self) -> Uniform:
        """Return the uniform output on the set."""
        return Uniform(len(self.nearest), among=tuple(self.members.tolist()))

    def weaker(self, decay: float) -> "OnSet":
        """Return the weaker mechanism on the same set."""
        return self._over(self.mechanism.weaker(decay))

    def with_budget(self, budget: float) -> "OnSet":
        """Return the mechanism with another budget on the same set."""
        return self._over(self.mechanism.with_budget(budget))

    def _over(self, mechanism: Mechanism) -> "OnSet":
        return OnSet(mechanism, self.members, self.nearest, mechanism.budget, self.distances)


def location_set(belief: ArrayLike, delta: float) -> NDArray[np.intp]:
    """Return the fewest cells that hold at least 1 - `delta` of `belief`, sorted.

    Of equally likely cells the lower number comes first.
    """
    weights = distribution(belief, "belief", MechanismError)
    likely_first = np.argsort(-weights, kind="stable")
    possible = int(np.count_nonzero(weights))
    if delta == 0:
        return np.sort(likely_first[:possible])
    held = np.cumsum(weights[likely_first])
    enough = int(np.searchsorted(held, 1 - delta - 1e-12)) + 1  # a sum may fall short by rounding
    return np.sort(likely_first[: min(enough, possible)])
