"""What every mechanism can do."""

from typing import ClassVar

from priste.checks import Array
from priste.dyadic import dyadic


class Mechanism:
    """A randomised map from the true cell to a released one, immutable.

    `budget` says how much it reveals; 0 is nothing. `distances` (between cells) are there if the
    mechanism knows the map. Most mechanisms do the same at every step; one that follows the
    public belief about the user has a version `for_belief` of its own at each step.
    """

    budget: float
    distances: Array | None = None
    follows_belief: ClassVar[bool] = False

    @property
    def n_inputs(self) -> int:
        """How many cells the user can be in."""
        return len(self.emission())

    def emission(self) -> Array:
        """Return Pr(output | true cell), shape (n_cells, n_outputs), rows summing to 1."""
        raise TypeError(f"{type(self).__name__} gives no emission matrix")

    def lottery(self) -> Array:
        """Return the emission matrix that draws are made from: its entries in 2^53rds.

        It is the matrix that calibrations certify, bit for bit, see `priste.dyadic`.
        """
        known: Array | None = self.__dict__.get("_lottery")
        if known is None:
            known = self.__dict__["_lottery"] = dyadic(self._for_lottery())
        return known

    def _for_lottery(self) -> Array:
        return self.emission()

    def weaker(self, decay: float) -> "Mechanism":
        """Return the same mechanism with `decay` times the budget; asking again is free."""
        known: dict[float, Mechanism] = self.__dict__.setdefault("_weaker", {})
        if decay not in known:
            known.clear()  # one at a time: a matrix can be large
            known[decay] = self.with_budget(self.budget * decay)
        return known[decay]

    def with_budget(self, budget: float) -> "Mechanism":
        """Return the same mechanism with another budget."""
        raise TypeError(f"{type(self).__name__} has no version with budget {budget}")

    def uninformative(self) -> "Mechanism":
        """Return the version that gives all its outputs the same probability from every cell."""
        raise TypeError(f"{type(self).__name__} has no uninformative version")

    def for_belief(self, belief: Array) -> "Mechanism":  # noqa: ARG002
        """Return the version for a step at which the public belief over the cells is `belief`."""
        return self
