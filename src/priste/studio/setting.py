"""What the page asks for, checked: the day, the map, the observer, the noise and the secrets."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from priste.checks import shown
from priste.errors import StudioError
from priste.storage.limits import refusing
from priste.studio.document import to_tables
from priste.studio.levels import HABITS, NOISES, OBSERVERS, Level, level
from priste.tracks.windows import zone

SIMULATED = "simulated"
"""The day that is drawn from the habits instead of one that was."""

STEPS = (5, 10, 15, 30, 60)
CELLS = (100, 225, 400, 900)


@dataclass(frozen=True, eq=False)
class Setting:
    """One question of the page."""

    time_zone: str
    step: pd.Timedelta
    cells: int
    day: str
    seed: int
    habits: str
    observer: Level
    noise: Level
    tables: dict[str, Any]
    """Those of the events file."""

    @property
    def of_model(self) -> tuple[Any, ...]:
        """What a model depends on, besides the tracks and the day."""
        return self.time_zone, self.step, self.cells, self.habits, *self.points

    @cached_property
    def points(self) -> list[tuple[float, float]]:
        """Latitude and longitude of what the places reach to, roughly."""
        found: list[tuple[float, float]] = []
        for region in self.tables.get("regions", {}).values():
            circle = region.get("circle")
            if isinstance(circle, Mapping):
                reach = float(circle["radius_km"]) / 100  # of a degree, and some more
                found += [
                    (
                        float(circle["latitude"]) + dy * reach,
                        float(circle["longitude"]) + dx * reach,
                    )
                    for dx, dy in ((-1, -1), (1, 1))
                ]
            found += [(float(y), float(x)) for x, y in region.get("polygon", [])]
        return found

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> "Setting":
        """Return what the page asks for, or refuse it."""
        if not isinstance(asked, Mapping):
            raise StudioError("the page asks with a table of settings")
        step, cells = asked.get("step", 10), asked.get("cells", 400)
        if step not in STEPS:
            raise StudioError(f"a step has {', '.join(map(str, STEPS))} minutes, got {shown(step)}")
        if cells not in CELLS:
            raise StudioError(f"a map has {', '.join(map(str, CELLS))} cells, got {shown(cells)}")
        document = asked.get("document")
        if not isinstance(document, Mapping):
            raise StudioError("the page asks with its places and secrets")
        seed = asked.get("seed", 0)
        setting = cls(
            str(zone(asked.get("time_zone", "UTC"))),
            pd.Timedelta(minutes=step),
            int(cells),
            str(asked.get("day", ""))[:20],
            int(seed) if isinstance(seed, int) and 0 <= seed < 2**31 else 0,
            level(HABITS, asked.get("habits", "quick"), "the habits").key,
            level(OBSERVERS, asked.get("observer", "near"), "the observer"),
            level(NOISES, asked.get("noise", "district"), "the noise"),
            to_tables(document),
        )
        with refusing("a place is a circle or a polygon of numbers", StudioError):
            len(setting.points)
        return setting
