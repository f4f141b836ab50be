"""What every mechanism can do."""

from typing import Any, ClassVar

from priste.accelerator import ON_DEVICE, accelerator
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
            gpu = accelerator(self.n_inputs**2)
            if gpu is not None and ON_DEVICE in self.__dict__:
                known = gpu.to_host(self.__dict__[ON_DEVICE])
                known.setflags(write=False)
            else:
                known = dyadic(self._for_lottery())
            self.__dict__["_lottery"] = known
        return known

    def to_certify(self) -> Any:
        """Return the same matrix where it is certified: on the GPU, if one is used."""
        gpu = accelerator(self.n_inputs**2)
        if gpu is None or "_lottery" in self.__dict__:
            return self.lottery()
        if ON_DEVICE not in self.__dict__:
            self.__dict__[ON_DEVICE] = gpu.lottery_of(self)
        return self.__dict__[ON_DEVICE]

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
