"""The observer that an ε holds against: what they may believe about the start of the stream."""

from dataclasses import dataclass
from typing import Literal, get_args

from priste.checks import fraction, listing, shown
from priste.errors import PriorError
from priste.mobility import Mobility
from priste.priors import AnyPrior, KnownPrior, NearPrior, Prior
from priste.stream.parts import DEFAULT_RHO

AdversaryKind = Literal["known", "near", "any"]


@dataclass(frozen=True)
class Adversary:
    """An observer who believes what the model says (`known`), mostly that (`near`), or anything.

    `rho` is the share of the belief that is free if the observer is `near`.
    """

    kind: AdversaryKind = "near"
    rho: float = DEFAULT_RHO

    def __post_init__(self) -> None:
        if self.kind not in get_args(AdversaryKind):
            raise PriorError(
                f"the adversary must be one of {listing(get_args(AdversaryKind))}, "
                f"got {shown(self.kind)}"
            )
        object.__setattr__(self, "rho", fraction(self.rho, "rho", PriorError, open_at_one=False))

    def prior(self, mobility: Mobility) -> Prior:
        """Return the set of beliefs about step 0 that the observer may hold."""
        if self.kind == "any":
            return AnyPrior()
        if self.kind == "known":
            return KnownPrior(mobility.initial)
        return NearPrior(mobility.initial, self.rho)

    def __str__(self) -> str:
        if self.kind == "any":
            return "any observer, whatever they believe about where the person started"
        if self.kind == "known":
            return "an observer who believes exactly what the model says about the start"
        return (
            f"an observer who believes mostly what the model says about the start: "
            f"{1 - self.rho:.4g} of the belief is the model's, the other {self.rho:.4g} may be "
            f"anything, even certainty"
        )
