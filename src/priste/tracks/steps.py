"""From fixes to steps and cells, and back."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from priste.checks import whole
from priste.errors import TrackError
from priste.storage.limits import LATEST, LONGEST_STEP, MAX_STEPS, at_most, moment_within
from priste.tracks.places import OFF_THE_MAP, LocalMap, Outside


@dataclass(frozen=True)
class Clock:
    """Steps of a fixed length from a start: step t covers ``[start + t·length, … + length)``."""

    start: pd.Timestamp
    length: pd.Timedelta

    def __post_init__(self) -> None:
        start, length = pd.Timestamp(self.start), pd.Timedelta(self.length)
        if pd.isna(start) or start.tz is None:
            raise TrackError(f"the start of a clock needs a time zone, got {start}")
        if not pd.Timedelta(0) < length <= LONGEST_STEP:
            raise TrackError(
                f"a step must be longer than zero and at most "
                f"{LONGEST_STEP.days} days, got {length}"
            )
        moment_within(start, "the start of the clock", TrackError)
        object.__setattr__(self, "start", start.tz_convert("UTC"))
        object.__setattr__(self, "length", length)

    def check_steps(self, n_steps: int) -> int:
        """Return `n_steps`, or refuse it if it is beyond the limit of a stream."""
        remedy = "take a shorter time (--from, --until) or longer steps"
        at_most(n_steps, MAX_STEPS, "the number of steps of the stream", remedy, TrackError)
        if n_steps * (self.length / pd.Timedelta(days=1)) > (LATEST - self.start).days:
            raise TrackError(f"the stream would end after {LATEST:%Y}; {remedy}")
        return n_steps

    def step_at(self, times: "pd.Series[pd.Timestamp]") -> NDArray[np.int64]:
        """Return the steps in which times lie; negative before the start."""
        return np.asarray((times - self.start) // self.length, dtype=np.int64)

    def time_of(self, steps: ArrayLike) -> pd.DatetimeIndex:
        """Return when steps begin."""
        return self.start + pd.to_timedelta(np.asarray(steps) * self.length.value, unit="ns")


def duration(length: pd.Timedelta) -> str:
    """Return a length of time as people say it."""
    seconds = length.total_seconds()
    for unit, size in (("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds >= 2 * size or seconds % size == 0 or size == 1:
            number = f"{seconds / size:g}"
            return f"{number} {unit}{'' if number == '1' else 's'}"
    raise AssertionError("seconds are always the last unit")


def discretise(
    table: pd.DataFrame,
    place: LocalMap,
    clock: Clock,
    *,
    steps: int | None = None,
    outside: Outside = "refuse",
) -> list[int | None]:
    """Return one cell per step: that of the first fix in it, or None where there is no fix.

    A step without a fix is one without a release. Whether there is a fix depends on the device and
    not on this function, which never looks at where a fix is to decide whether to use it. Only on a
    map without a cell for elsewhere, with ``outside="drop"``, being off the map shows as a gap. The
    stream ends with the last step that has a fix, or after `steps` steps.
    """
    if steps is not None:
        clock.check_steps(whole(steps, "steps", TrackError, least=0))
    found, cells = _cells_by_step(table, place, clock, steps, outside)
    if steps is None:
        steps = clock.check_steps(int(found[-1]) + 1 if len(found) else 0)
    stream: list[int | None] = [None] * steps
    for step, cell in zip(found.tolist(), cells.tolist(), strict=True):
        stream[step] = None if cell == OFF_THE_MAP else cell
    return stream


def runs(table: pd.DataFrame, place: LocalMap, clock: Clock) -> list[tuple[int, list[int]]]:
    """Return what `unbroken` finds in the stream of a table, however long its gaps are.

    A fix off a map without a cell for elsewhere ends a run.
    """
    found, cells = _cells_by_step(table, place, clock, None, "drop")
    found, cells = found[cells != OFF_THE_MAP], cells[cells != OFF_THE_MAP]
    breaks = np.flatnonzero(np.diff(found) != 1) + 1
    parts = zip(np.split(found, breaks), np.split(cells, breaks), strict=True)
    return [(int(steps[0]), part.tolist()) for steps, part in parts if len(steps)]


def _cells_by_step(
    table: pd.DataFrame, place: LocalMap, clock: Clock, steps: int | None, outside: Outside
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return the steps that have a fix, and the cell of the first fix of each."""
    found, fixes = first_fixes(table, clock, steps)
    return found, place.cell_at(fixes["latitude"], fixes["longitude"], outside=outside)


def first_fixes(
    table: pd.DataFrame, clock: Clock, steps: int | None
) -> tuple[NDArray[np.int64], pd.DataFrame]:
    """Return the steps that have a fix, and the first fix of each."""
    ordered = table.sort_values("time", kind="stable")
    if ordered["time"].isna().any():
        raise TrackError("some fixes have no time; clean the table first")
    number = clock.step_at(ordered["time"])
    inside = number >= 0 if steps is None else (number >= 0) & (number < steps)
    found, first = np.unique(number[inside], return_index=True)
    return found, ordered[inside].iloc[first]


def unbroken(stream: list[int | None]) -> list[tuple[int, list[int]]]:
    """Return the runs without a gap and the step at which each begins, to fit a mobility to."""
    runs: list[tuple[int, list[int]]] = []
    for step, cell in enumerate(stream):
        if cell is None:
            continue
        if runs and runs[-1][0] + len(runs[-1][1]) == step:
            runs[-1][1].append(cell)
        else:
            runs.append((step, [cell]))
    return runs


def as_track(
    steps: ArrayLike, cells: ArrayLike, place: LocalMap, clock: Clock, *, track: str = "0"
) -> pd.DataFrame:
    """Return released cells as a track table: the centre of each, at the start of its step.

    Elsewhere has no centre. If the map has that cell, a column `away` says where it was released.
    """
    latitude, longitude = place.centres(cells)
    times = pd.Series(clock.time_of(steps)).astype("datetime64[us, UTC]")
    table = pd.DataFrame({"time": times, "latitude": latitude, "longitude": longitude})
    table = table.assign(track=track).astype({"track": "str"})
    columns = ["track", "time", "latitude", "longitude"]
    if not place.grid.elsewhere:
        return table[columns]
    return table[columns].assign(away=np.asarray(cells) == place.grid.elsewhere_cell)
