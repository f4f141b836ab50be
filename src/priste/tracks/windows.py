"""Time windows: moments, hours and days in a time zone."""

from dataclasses import dataclass
from datetime import date, datetime, time
from difflib import get_close_matches
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np
import pandas as pd

from priste.checks import listing, shown
from priste.errors import TrackError
from priste.storage.limits import moment_within
from priste.tracks.names import MAX_NAME, short
from priste.tracks.steps import Clock

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, repr=False)
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
            raise TrackError("a window with hours needs both an opening and a closing hour")
        if self.opens is not None and self.opens == self.closes:
            raise TrackError(f"the hours begin and end at {self.opens:%H:%M}, which leaves no time")
        for moment in (self.start, self.end):
            if moment is not None:
                moment_within(moment, "an end of the window", TrackError)
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise TrackError(f"the window begins at {self.start} and ends at {self.end}")
        unknown = [day for day in self.days or () if day not in DAYS]
        if unknown:
            raise TrackError(
                f"days are {listing(DAYS, 7)}, not {listing([shown(day) for day in unknown])}"
            )

    def __repr__(self) -> str:
        hours = "all day" if self.opens is None else f"{self.opens:%H:%M} to {self.closes:%H:%M}"
        days = ", ".join(DAYS if self.days is None else self.days)
        return f"<Window: {hours}, {short(days)}, {self.time_zone}>"

    def steps(self, clock: Clock, among: int | range) -> list[int]:
        """Return the steps of `clock` that begin inside the window: of the first, or of a range."""
        return sorted(step for steps in self.by_day(clock, among).values() for step in steps)

    def by_day(self, clock: Clock, among: int | range) -> dict[date, list[int]]:
        """Return the same steps by the day they belong to."""
        looked_at = range(among) if isinstance(among, int) else among
        local = clock.time_of(looked_at).tz_convert(self.time_zone)
        inside = np.ones(len(looked_at), dtype=bool)
        if self.start is not None:
            inside &= local >= self.start
        if self.end is not None:
            inside &= local < self.end
        wall = local.tz_localize(None)
        day = wall.normalize()
        if self.opens is not None and self.closes is not None:
            opens, closes = (_since_midnight(hour) for hour in (self.opens, self.closes))
            hour = wall - day
            if opens < closes:
                inside &= (hour >= opens) & (hour < closes)
            else:
                inside &= (hour >= opens) | (hour < closes)
                small = hour < closes  # the small hours belong to the evening before
                day = day.where(~small, day - pd.Timedelta(days=1))
        if self.days is not None:
            inside &= np.isin(day.day_of_week, [DAYS.index(name) for name in self.days])
        found: dict[date, list[int]] = {}
        for i in np.flatnonzero(inside).tolist():
            found.setdefault(day[i].date(), []).append(looked_at[i])
        return found


def _since_midnight(hour: time) -> pd.Timedelta:
    return pd.Timedelta(datetime.combine(date.min, hour) - datetime.min)


def zone(name: object) -> ZoneInfo:
    """Return the time zone of that name."""
    try:
        if isinstance(name, str) and len(name) <= MAX_NAME:
            return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    near = get_close_matches(str(name)[:MAX_NAME], sorted(available_timezones()), 1)
    raise TrackError(
        f"time_zone {shown(name)} is not known; a name such as {(near or ['Europe/Berlin'])[0]!r} "
        f"is expected"
    )


def day_start(moment: pd.Timestamp, time_zone: str, *, later: int = 0) -> pd.Timestamp:
    """Return when the local day of a moment begins, or the day `later` days after it.

    Where clocks skip midnight it begins with the first hour there is.
    """
    zone(time_zone)
    day = moment.tz_convert(time_zone).tz_localize(None).normalize() + pd.Timedelta(days=later)
    return day.tz_localize(time_zone, ambiguous=True, nonexistent="shift_forward")
