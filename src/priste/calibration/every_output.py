"""A guarantee that holds: a mechanism of which every output passes, then one draw."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from priste.calibration.calibration import Draw, Outcome, Situation
from priste.calibration.schedule import checked_schedule, weaker_and_weaker
from priste.checks import Array, whole
from priste.errors import ProtectionError
from priste.mechanisms.mechanism import Mechanism
from priste.randomness import Randomness


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
            output = situation.forbidden_output(chosen.lottery(), hint)
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
            output = situation.forbidden_output(between.lottery(), hint)
            if output is None:
                chosen = between
            else:
                failed, hint = between, output
        return chosen, tried

    def emission(self, situation: Situation) -> Array:
        """Return the matrix that this step draws from."""
        return self.choose(situation)[0].lottery()

    def draw(self, situation: Situation, true_cell: int, randomness: Randomness) -> Draw:
        """Return one draw from the chosen mechanism."""
        mechanism, tried = self.choose(situation)
        emission = mechanism.lottery()
        output = randomness.draw(emission[true_cell])
        return Draw(output, emission[:, output], mechanism.budget, tried)

    def outcomes(self, situation: Situation) -> Iterator[Outcome]:
        """Yield each output of the chosen mechanism: what is accounted for is what is true."""
        emission = self.choose(situation)[0].lottery()
        for output in np.flatnonzero(emission.any(axis=0)).tolist():
            yield Outcome(output, emission[:, output], emission[:, output])
