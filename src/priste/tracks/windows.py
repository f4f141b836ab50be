"""Clock windows: from when to when, at which hours, on which days, in whose time zone."""

from dataclasses import dataclass
from datetime import date, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pandas as pd

from priste.checks import listing
from priste.errors import TrackError
from priste.tracks.steps import Clock

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True)
class Window:
    """Moments from `start` to `end`, between the hours `opens` and `closes`, on `days`.

    Whatever is None does not restrict. Hours and days are those of the wall clock in `time_zone`,
    so "nine to five" follows daylight saving. Hours that end before they begin run past midnight
    and belong to the day on which they begin.
    """

    time_zone: str
    start: pd.Timestamp | None = None
    end: pd.Timestamp | None = None
    opens: time | None = None
    closes: time | None = None
    days: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        zone(self.time_zone)
        if (self.opens is None) != (self.closes is None):
            raise TrackError("a window with hours needs both: when they begin and when they end")
        if self.opens is not None and self.opens == self.closes:
            raise TrackError(
                f"the hours begin and end at {self.opens:%H:%M}: that is no time at all"
            )
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise TrackError(f"the window begins at {self.start} and ends at {self.end}")
        unknown = [day for day in self.days or () if day not in DAYS]
        if unknown:
            raise TrackError(f"days are {listing(DAYS, 7)}, not {listing(unknown)}")

    def steps(self, clock: Clock, n_steps: int) -> list[int]:
        """Return the steps of `clock`, of the first `n_steps`, that begin inside the window."""
        return sorted(step for steps in self.by_day(clock, n_steps).values() for step in steps)

    def by_day(self, clock: Clock, n_steps: int) -> dict[date, list[int]]:
        """Return the same steps by the day they belong to."""
        local = clock.time_of(range(n_steps)).tz_convert(self.time_zone)
        found: dict[date, list[int]] = {}
        for step, moment in enumerate(local):
            day = self._day(moment)
            if day is not None:
                found.setdefault(day, []).append(step)
        return found

    def _day(self, moment: pd.Timestamp) -> date | None:
        """Return the day a moment in the window belongs to, None if it is not in the window."""
        if self.start is not None and moment < self.start:
            return None
        if self.end is not None and moment >= self.end:
            return None
        day: date = moment.date()
        if self.opens is not None and self.closes is not None:
            clock = moment.time()
            if self.opens < self.closes:
                if not self.opens <= clock < self.closes:
                    return None
            elif clock < self.closes:
                day -= timedelta(days=1)  # the small hours belong to the evening before
            elif clock < self.opens:
                return None
        return day if self.days is None or DAYS[day.weekday()] in self.days else None


def zone(name: object) -> ZoneInfo:
    """Return the time zone of that name."""
    try:
        return ZoneInfo(str(name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise TrackError(
            f"time_zone {name!r} is not known; a name such as 'Europe/Berlin' is expected"
        ) from None


def day_start(moment: pd.Timestamp, time_zone: str, *, later: int = 0) -> pd.Timestamp:
    """Return when the local day of a moment, or the one `later` days on, begins.

    Where clocks skip midnight it begins with the first hour there is.
    """
    zone(time_zone)
    day = moment.tz_convert(time_zone).tz_localize(None).normalize() + pd.Timedelta(days=later)
    return day.tz_localize(time_zone, ambiguous=True, nonexistent="shift_forward")
