"""The optimal remap for many streams of one setting, each plan computed once."""

from collections.abc import Iterator
from typing import Any, ClassVar

from priste.calibration import Draw, OptimalRemap, Outcome, Situation
from priste.calibration.search import Plan
from priste.randomness import Randomness

Plans = dict[tuple[int, ...], Plan]
"""Plans, by the cells released before."""


class CachedRemap:
    """The optimal remap, with plans reused from earlier streams.

    A plan depends on the releases so far and nothing else, and many streams of one setting begin
    alike. Each stream needs an object of its own; those of one setting share `plans`.
    """

    is_guarantee: ClassVar[bool] = True

    def __init__(self, plans: Plans, **options: Any) -> None:
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
        """Yield the outcomes of the remap itself, for audits; plans are not reused."""
        return self._remap.outcomes(situation)
