"""The published loop: draw, test, and on failure draw again with a smaller budget."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from priste.calibration.calibration import Draw, Outcome, Situation
from priste.calibration.schedule import checked_schedule, weaker_and_weaker
from priste.checks import Array, frozen
from priste.mechanisms.mechanism import Mechanism
from priste.randomness import Randomness


@dataclass(frozen=True)
class Retry:
    """Algorithms 1 to 3 of the paper, as published: an ε that is *not* a guarantee.

    Each step starts from the mechanism itself. While the drawn output fails the test, the budget
    is multiplied by `decay` and another output is drawn, at most `weakenings` times; after that
    the output is uniform (over a location set: uniform on the set), which always passes.

    The released output is accounted for as if it came from one draw at the final budget. But how
    often earlier draws fail depends on the true cell, so an adversary who knows the algorithm
    learns more than is accounted for; `priste.audit` computes how much. It is here for
    reproduction and comparison.
    """

    decay: float = 0.5
    weakenings: int = 11
    is_guarantee: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checked_schedule(self.decay, self.weakenings)

    def plan(self, situation: Situation) -> "Loop":
        """Return the loop with its mechanisms."""
        return Loop(situation, self)

    def passes(self, situation: Situation, column: Array) -> bool:
        """Tell whether a drawn output may be released."""
        return situation.allows(column)


@dataclass(frozen=True, eq=False)
class Loop:
    """The loop of one step. Which draws it rejects depends on the true cell: that is the leak."""

    situation: Situation
    retry: Retry
    warm_start: None = None
    remark: str = ""

    def draw(self, true_cell: int, randomness: Randomness) -> Draw:
        """Return the first drawn output that passes."""
        for attempt, mechanism in enumerate(self._schedule(), start=1):
            emission = mechanism.lottery()
            output = randomness.draw(emission[true_cell])
            column = frozen(emission[:, output])
            if mechanism.budget == 0 or self.retry.passes(self.situation, column):
                return Draw(output, column, mechanism.budget, attempt)
        raise AssertionError("the last mechanism of a schedule has budget 0")

    def outcomes(self) -> Iterator[Outcome]:
        """Yield each output at each attempt, with the chance that all earlier attempts failed."""
        reached = np.ones(len(self.situation.belief))  # from each cell: that the loop gets this far
        for mechanism in self._schedule():
            emission = mechanism.lottery()
            outputs = np.flatnonzero(emission.any(axis=0))
            passing = outputs
            if mechanism.budget > 0:
                passing = outputs[self.situation.allowed(emission[:, outputs])]
            for output in passing.tolist():
                column = emission[:, output]
                yield Outcome(output, reached * column, column)
            reached = reached * emission[:, np.setdiff1d(outputs, passing)].sum(axis=1)
            if not reached.any():
                return

    def _schedule(self) -> Iterator[Mechanism]:
        retry = self.retry
        return weaker_and_weaker(self.situation.mechanism, retry.decay, retry.weakenings)
