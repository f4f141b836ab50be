"""The optimal remap for many streams of one setting."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from priste.calibration import (
    CertifiedPlan,
    Draw,
    OptimalRemap,
    Outcome,
    Plan,
    Situation,
    WarmStart,
)
from priste.randomness import Randomness

Planned = dict[tuple[int, ...], CertifiedPlan]
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

    def plan(self, situation: Situation) -> Plan:
        """Return the plan of this step, made now or when the same releases were seen before."""
        if self._released not in self._plans:
            self._plans[self._released] = self._remap.plan(situation)
        return _Noted(self._plans[self._released], self)

    def note(self, output: int) -> None:
        """Remember what was released."""
        self._released += (output,)


@dataclass(frozen=True, eq=False)
class _Noted:
    """A plan that tells its stream what was drawn from it."""

    plan: CertifiedPlan
    stream: Remembering

    @property
    def warm_start(self) -> WarmStart | None:
        return self.plan.warm_start

    @property
    def remark(self) -> str:
        return self.plan.remark

    def draw(self, true_cell: int, randomness: Randomness) -> Draw:
        draw = self.plan.draw(true_cell, randomness)
        self.stream.note(draw.output)
        return draw

    def outcomes(self) -> Iterator[Outcome]:
        return self.plan.outcomes()
