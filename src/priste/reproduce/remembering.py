"""The optimal remap for many streams of one setting."""

from typing import Any

from priste.calibration import OptimalRemap
from priste.calibration.calibration import Draw, Situation
from priste.calibration.search import Plan
from priste.randomness import Randomness

Planned = dict[tuple[int, ...], Plan]
"""Plans by what was released before."""


class Remembering(OptimalRemap):
    """The remap, which looks up what the same releases led to in an earlier stream.

    A plan depends on nothing but what was released, and against any belief many streams are alike.
    One object serves one stream; `plans` is shared among those of one setting.
    """

    def __init__(self, plans: Planned, **options: Any) -> None:
        super().__init__(**options)
        self.__dict__.update(plans=plans, released=[])

    def plan(self, situation: Situation) -> Plan:
        """Return the matrix of this step."""
        plans: Planned = self.__dict__["plans"]
        released = tuple(self.__dict__["released"])
        if released not in plans:
            plans[released] = super().plan(situation)
        return plans[released]

    def draw(self, situation: Situation, true_cell: int, randomness: Randomness) -> Draw:
        """Return one draw from the planned matrix."""
        draw = super().draw(situation, true_cell, randomness)
        self.__dict__["released"].append(draw.output)
        return draw
