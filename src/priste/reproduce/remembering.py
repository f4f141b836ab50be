"""The optimal remap for many streams of one setting."""

from collections.abc import Iterator
from typing import Any, ClassVar

from priste.calibration import Draw, OptimalRemap, Outcome, Situation
from priste.calibration.search import Plan
from priste.randomness import Randomness

Planned = dict[tuple[int, ...], Plan]
"""Plans by what was released before."""


class Remembering:
    """The remap, which looks up what the same releases led to in an earlier stream.

    A plan depends on nothing but what was released, and against any belief many streams are alike.
    One object serves one stream; `plans` is shared among those of one setting.
    """

    is_guarantee: ClassVar[bool] = True

    def __init__(self, plans: Planned, **options: Any) -> None:
        self._plans, self._remap = plans, OptimalRemap(**options)
        self._released: tuple[int, ...] = ()

    def draw(self, situation: Situation, true_cell: int, randomness: Randomness) -> Draw:
        """Return one draw from the matrix of this step."""
        if self._released not in self._plans:
            self._plans[self._released] = self._remap.plan(situation)
        draw = self._plans[self._released].draw(true_cell, randomness)
        self._released += (draw.output,)
        return draw

    def outcomes(self, situation: Situation) -> Iterator[Outcome]:
        """Yield what the remap yields: an audit follows many streams, and nothing is looked up."""
        return self._remap.outcomes(situation)
