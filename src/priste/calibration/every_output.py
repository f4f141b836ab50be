"""A guarantee that holds: a mechanism of which every output passes, then one draw."""

from dataclasses import dataclass
from typing import ClassVar

from priste.calibration.calibration import CertifiedPlan, Situation
from priste.calibration.schedule import checked_schedule, weaker_and_weaker
from priste.checks import whole
from priste.errors import ProtectionError
from priste.mechanisms.mechanism import Mechanism


@dataclass(frozen=True)
class EveryOutput:
    """Choose the mechanism so that *every* output it could give keeps every promise.

    The choice looks only at what is public (the model, the events, ε, past releases), so it tells
    nothing, and an adversary may know it. The output is then drawn once, and accounted for with
    the very probabilities it was drawn with. By induction every sequence that can ever be seen has
    a loss of at most ε, against everybody whose belief and mobility model are in the protected set.

    The candidates are the mechanism and its weaker versions, each with `decay` times the budget of
    the last, at most `weakenings` of them; after these the output is uniform, which changes no
    odds at all. With `refine` the budget is then bisected that many times between the last
    candidate that failed and the first that passed: a larger budget now, for more time and, since
    the first steps then spend more of ε, often a smaller one later.
    """

    decay: float = 0.5
    weakenings: int = 11
    refine: int = 0
    is_guarantee: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_schedule(self.decay, self.weakenings)
        whole(self.refine, "refine", ProtectionError, least=0)

    def choose(self, situation: Situation) -> tuple[Mechanism, int]:
        """Return the strongest candidate of which every output passes, and how many were tried."""
        failed, tried, hint = None, 0, 0
        for chosen in weaker_and_weaker(situation.mechanism, self.decay, self.weakenings):
            if chosen.budget == 0:
                break
            tried += 1
            output = situation.forbidden_output(chosen.to_certify(), hint)
            if output is None:
                break
            failed, hint = chosen, output
        if failed is None:
            return chosen, tried
        for _ in range(self.refine):
            middle = (failed.budget + chosen.budget) / 2
            if middle in (failed.budget, chosen.budget):
                break  # no number lies between them
            tried += 1
            between = failed.with_budget(middle)
            output = situation.forbidden_output(between.to_certify(), hint)
            if output is None:
                chosen = between
            else:
                failed, hint = between, output
        return chosen, tried

    def plan(self, situation: Situation) -> CertifiedPlan:
        """Return one draw from the chosen mechanism."""
        mechanism, tried = self.choose(situation)
        return CertifiedPlan(mechanism.lottery(), mechanism.budget, tried)
