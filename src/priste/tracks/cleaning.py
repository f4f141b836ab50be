"""Cleaning with an account: every row is kept, or dropped by a rule that says why."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numba import njit
from numpy.typing import NDArray

from priste.checks import Array, positive
from priste.errors import TrackError
from priste.tracks.html_table import html_table

_EARTH_RADIUS = 6_371_008.8  # metres, the mean


@dataclass(frozen=True, repr=False)
class Rules:
    """What counts as impossible.

    `earliest` and `latest` bound the clock (the default latest is a day from now), `max_speed` is
    in metres per second: 340, faster than any airliner.
    """

    earliest: pd.Timestamp = field(default=pd.Timestamp("2001-01-01", tz="UTC"))
    latest: pd.Timestamp | None = None
    max_speed: float = 340.0

    def __post_init__(self) -> None:
        positive(self.max_speed, "max_speed", TrackError)
        for name in ("earliest", "latest"):
            moment = getattr(self, name)
            if moment is not None:
                moment = pd.Timestamp(moment)
                if moment.tz is None:
                    raise TrackError(f"{name} needs a time zone, got {moment}")
                object.__setattr__(self, name, moment)

    def __repr__(self) -> str:
        latest = "a day from now" if self.latest is None else f"{self.latest:%Y-%m-%d}"
        return f"<Rules: {self.earliest:%Y-%m-%d} to {latest}, at most {self.max_speed:g} m/s>"


@dataclass(frozen=True, repr=False)
class Account:
    """Where the rows went: ``read == kept + sum of dropped``, always.

    `dropped` gives the number of rows per reason, in the order in which the rules were applied;
    `moved` is how many of the kept rows stood out of order in time and were put into it.
    """

    read: int
    kept: int
    dropped: dict[str, int]
    moved: int

    def __post_init__(self) -> None:
        if self.read != self.kept + sum(self.dropped.values()):
            raise AssertionError(f"the account does not add up: {self}")

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "read": self.read,
            "kept": self.kept,
            "dropped": self.dropped,
            "sorted": self.moved,
        }

    def rows(self) -> list[tuple[str, str]]:
        """Return the account line by line, each number after what it counts."""
        rows = [("fixes read", self.read)]
        rows += [(f"dropped: {reason}", count) for reason, count in self.dropped.items() if count]
        rows.append(("kept", self.kept))
        rows += [("of these, moved to their place in time", self.moved)] if self.moved else []
        return [(what, f"{count:,}") for what, count in rows]

    def __str__(self) -> str:
        return "\n".join(f"{count:>10}  {what}" for what, count in self.rows())

    def __repr__(self) -> str:
        return f"<Account: {self.kept:,} of {self.read:,} fixes kept>"

    def _repr_html_(self) -> str:
        return html_table(("", ""), self.rows())


def clean(table: pd.DataFrame, rules: Rules | None = None) -> tuple[pd.DataFrame, Account]:
    """Return the fixes that can be true, in order of time within each track, and the account.

    Fixes of one track at the same time and place are one; of those at the same time in different
    places the first in the file is kept. A fix that could only be reached from the one before it
    faster than `max_speed` is dropped.
    """
    rules = Rules() if rules is None else rules
    latest = (
        pd.Timestamp.now("UTC") + pd.Timedelta(days=1) if rules.latest is None else rules.latest
    )
    dropped: dict[str, int] = {}
    rest = table.reset_index(drop=True)

    def drop(bad: "pd.Series[bool] | NDArray[np.bool_]", reason: str) -> None:
        nonlocal rest
        dropped[reason] = int(np.sum(bad))
        rest = rest[~np.asarray(bad)]

    drop(rest["latitude"].isna() | rest["longitude"].isna(), "no coordinates")
    off = (rest["latitude"].abs() > 90) | (rest["longitude"].abs() > 180)
    drop(off, "impossible coordinates (latitude beyond 90 or longitude beyond 180 degrees)")
    drop(rest["time"].isna(), "unreadable time")
    wrong = (rest["time"] < rules.earliest) | (rest["time"] > latest)
    drop(wrong, f"clock off (before {rules.earliest:%Y-%m-%d} or in the future)")

    owner = [name for name in ("user", "track") if name in rest.columns]
    moment = [*owner, "time"]
    drop(rest.duplicated([*moment, "latitude", "longitude"]), "duplicate (same time and place)")
    drop(rest.duplicated(moment), "contradiction (same time, another place)")
    before = rest.groupby(owner, sort=False)["time"].cummax()
    moved = int((rest["time"] < before).sum())
    order = rest.assign(_number=rest.groupby(owner, sort=False).ngroup())
    rest = rest.loc[order.sort_values(["_number", "time"], kind="stable").index]
    drop(_too_fast(rest, owner, rules.max_speed), f"faster than {rules.max_speed:g} m/s")
    kept = rest.reset_index(drop=True)
    return kept, Account(len(table), len(kept), dropped, moved)


def _too_fast(table: pd.DataFrame, owner: list[str], max_speed: float) -> NDArray[np.bool_]:
    tracks = table.groupby(owner, sort=False).ngroup().to_numpy()
    microseconds = table["time"].astype("datetime64[us, UTC]").astype("int64")
    seconds = microseconds.to_numpy() / 1e6
    radians = np.radians(table[["latitude", "longitude"]].to_numpy())
    return np.asarray(_outrun(tracks, seconds, radians[:, 0], radians[:, 1], max_speed))


@njit(cache=True)
def _outrun(
    tracks: NDArray[np.int64], seconds: Array, latitude: Array, longitude: Array, max_speed: float
) -> NDArray[np.bool_]:
    """Mark fixes out of reach of the last unmarked fix of the same track."""
    marked = np.zeros(len(tracks), dtype=np.bool_)
    last = -1
    for i in range(len(tracks)):
        if last >= 0 and tracks[last] == tracks[i]:
            half = np.sin((latitude[i] - latitude[last]) / 2) ** 2
            turn = np.sin((longitude[i] - longitude[last]) / 2) ** 2
            half += np.cos(latitude[i]) * np.cos(latitude[last]) * turn
            distance = 2 * _EARTH_RADIUS * np.arcsin(min(1.0, np.sqrt(half)))
            apart = max(seconds[i] - seconds[last], 1.0)  # in less, it is the receiver that jumps
            marked[i] = distance > max_speed * apart
        if not marked[i]:
            last = i
    return marked
