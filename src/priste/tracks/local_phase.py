"""Which step of the local day a step of a stream is, over every change of the clocks."""

from dataclasses import dataclass
from datetime import datetime

import pandas as pd

from priste.tracks.steps import Clock
from priste.tracks.windows import zone

_SECOND = 10**9
DAY = 86_400 * _SECOND


@dataclass(frozen=True)
class LocalPhase:
    """A function of the step: how many steps of its local day, on the wall clock, are over.

    `start` and `length` are those of a clock, in nanoseconds.
    """

    start: int
    length: int
    time_zone: str

    @classmethod
    def of(cls, clock: Clock, time_zone: str) -> "LocalPhase":
        """Return the phase of each step of a clock."""
        epoch = clock.start - pd.Timestamp(0, tz="UTC")
        return cls(epoch.as_unit("ns").value, clock.length.as_unit("ns").value, time_zone)

    def __call__(self, step: int) -> int:
        """Return the phase of a step."""
        moment = self.start + step * self.length
        offset = datetime.fromtimestamp(moment // _SECOND, zone(self.time_zone)).utcoffset()
        ahead = 0 if offset is None else round(offset.total_seconds() * _SECOND)
        return (moment + ahead) % DAY // self.length
