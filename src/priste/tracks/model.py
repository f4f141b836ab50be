"""A model: a map, a step, and how people move, fitted to tracks."""

import json
import math
import warnings
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from priste.checks import listing, shown, whole
from priste.errors import MobilityError, ModelFileError, TrackError, UnobservedRowsWarning
from priste.fitting import checked_smoothing
from priste.mobility import Mobility
from priste.progress import Progress
from priste.storage.archive import MAX_ARRAYS, checksum
from priste.storage.limits import (
    LONGEST_STEP,
    MAX_HABITS,
    MAX_MODEL_BYTES,
    MAX_PHASES,
    at_most,
)
from priste.tracks.habits import HABITS, habits_of
from priste.tracks.held_out import (
    ORDERS,
    SMOOTHINGS,
    Base,
    Choice,
    Days,
    Setting,
    choose,
)
from priste.tracks.local_phase import LocalPhase
from priste.tracks.new_places import cells_seen
from priste.tracks.places import LocalMap
from priste.tracks.seen import both_seen, seen_in
from priste.tracks.steps import Clock, duration, runs
from priste.tracks.usual_area import one_a_step
from priste.tracks.windows import day_start, zone

FORMAT = 3
DAY = pd.Timedelta(days=1)
PREDICTED = "nats per held-out move"
PREDICTED_BEFORE = f"{PREDICTED}, uniform base and smoothing 1"
PREDICTED_USUAL = f"{PREDICTED}, usual places"


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """Where (`place`), how often (`step`) and how (`mobilities`) people are followed.

    The mobilities are a set of habits: nobody knows which of them the person has, or an observer
    has learned, and promises hold for each. They differ in how people move, not in where they
    start. If they have a matrix for each step of the day, phase 0 is midnight in `time_zone`.
    The `provenance` says what the model was learned from: which days (ranges in `time_zone`) and,
    if the table said so, whose.
    """

    place: LocalMap
    step: pd.Timedelta
    mobilities: tuple[Mobility, ...]
    time_zone: str
    provenance: dict[str, Any]

    def __post_init__(self) -> None:
        zone(self.time_zone)
        _step(self.step)
        if not self.mobilities:
            raise ModelFileError("a model holds at least one habit")
        at_most(len(self.mobilities), MAX_HABITS, "the number of habits", "keep fewer", TrackError)
        for mobility in self.mobilities:
            if mobility.n_cells != self.place.grid.n_cells:
                raise ModelFileError(
                    f"the map has {self.place.grid.n_cells} cells, the mobility {mobility.n_cells}"
                )
            if not np.array_equal(mobility.initial, self.mobility.initial):
                raise ModelFileError("the habits of a model begin with the same belief")

    def __repr__(self) -> str:
        grid, habits = self.place.grid, len(self.mobilities)
        return (
            f"<Model: {grid.rows} × {grid.columns} cells, steps of {self.step.total_seconds():g} "
            f"s, {self.time_zone}, {f'{habits} habits' if habits > 1 else 'one habit'}>"
        )

    @property
    def mobility(self) -> Mobility:
        """The first of the mobilities: the likeliest."""
        return self.mobilities[0]

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of everything the model holds."""
        return checksum(arrays_of(self)).hex()

    def clock(self, start: pd.Timestamp) -> Clock:
        """Return the clock of a stream that begins at `start`."""
        return Clock(start, self.step)

    def mobilities_from(self, start: pd.Timestamp) -> tuple[Mobility, ...]:
        """Return the mobilities of a stream whose step 0 is at `start`, whatever its hour.

        With a matrix for each step of the day, every step has that of its hour on the wall clock.
        """
        return tuple(self._from(start, mobility) for mobility in self.mobilities)

    def _from(self, start: pd.Timestamp, mobility: Mobility) -> Mobility:
        matrices = mobility.matrices
        if len(matrices) == 1:
            return mobility
        phase = LocalPhase.of(self.clock(start), self.time_zone)
        if len(matrices) * self.step == DAY:
            return mobility.following(phase)
        initial, cell_of_state = mobility.initial, mobility.cell_of_state
        turned = [matrices[(phase(0) + t) % len(matrices)] for t in range(len(matrices))]
        return Mobility(turned, initial, repeat=True, cell_of_state=cell_of_state)


def fit_model(
    table: pd.DataFrame,
    *,
    step: pd.Timedelta | str = "10min",
    place: LocalMap | None = None,
    cells: int = 400,
    time_zone: str = "UTC",
    time_of_day: bool | None = None,
    order: int | None = None,
    smoothing: float | None = None,
    base: Base | None = None,
    others: pd.DataFrame | Model | None = None,
    habits: int = HABITS,
    elsewhere: bool = True,
    progress: Progress | None = None,
) -> Model:
    """Fit a model to a clean track table: a set of habits around the likeliest.

    Without a `place`, a map of about `cells` cells is laid around the fixes. Whatever is not given
    of `smoothing`, `base`, `order` and `time_of_day` (a matrix for each step of the day) is chosen
    by how well days that are left out are predicted. The base is where moves that were never seen
    lead: anywhere (``"uniform"``), as far as this person's moves do (``"local"``), so or now and
    then to a place where they usually are (``"usual"``), or as `others` move: a clean table of
    other people's tracks, or a model of the same map learned from them.
    `habits` says how many mobilities the set has; with 1 there is only the likeliest. What is off
    the map is one more cell, which people leave for and come back from; unless `elsewhere` is
    False, or the `place` has no such cell. Fixes off the map then end a run of moves.
    """
    zone(time_zone)
    length = _step(step)
    if time_of_day and DAY % length != pd.Timedelta(0):
        raise TrackError(
            f"a day is not a whole number of steps of {duration(length)}, as --time-of-day "
            f"(time_of_day=True) needs"
        )
    count = whole(habits, "habits", TrackError, least=1)
    at_most(count, MAX_HABITS, "the number of habits", "use fewer (--habits)", TrackError)
    if place is None:
        place = LocalMap.around(table, cells=cells, elsewhere=elsewhere)
    remedy = "use fewer cells (--cells), longer steps (--step) or fewer habits (--habits)"
    size, what = 8 * count * place.grid.n_cells**2, "the size of the model in bytes"
    at_most(size, MAX_MODEL_BYTES, what, remedy, TrackError)
    phases = DAY // length if DAY % length == pd.Timedelta(0) else 1
    by_hour = size + 8 * (phases - 1) * -(-count // HABITS) * place.grid.n_cells**2
    fits = by_hour <= MAX_MODEL_BYTES and 1 < phases <= MAX_PHASES
    if time_of_day:
        at_most(phases, MAX_PHASES, "the steps of a day", "use longer steps (--step)", TrackError)
        at_most(by_hour, MAX_MODEL_BYTES, what, remedy, TrackError)
    if base is not None and base not in get_args(Base):
        raise TrackError(f"the base (--base) is one of {listing(get_args(Base))}, got {base!r}")
    days = _days(table, place, length, time_zone, phases)
    if not any(len(run) > 1 for run in days.runs):
        raise TrackError(
            f"there is nothing to fit: the {len(table)} fixes have no two consecutive steps of "
            f"{duration(length)} on the map"
        )
    bases: list[Base] = ["uniform", "usual"] if base is None else [base]
    with warnings.catch_warnings():  # of a whole city most cells are never left: see provenance
        warnings.simplefilter("ignore", UnobservedRowsWarning)
        if others is not None:
            if isinstance(others, Model):
                moving = _as_base(others, place, length)
            else:
                _refuse_same_people(table, others)
                seen = _days(others, place, length, time_zone, phases)
                local = Mobility.by_distance(place.grid, seen.runs)
                moving = Mobility.fit(seen.runs, place.grid.n_cells, smoothing=10.0, base=local)
            days = replace(days, others=moving)
            bases = [*bases, "others"] if base is None else bases
        elif base == "others":
            raise TrackError("the base 'others' needs tracks of other people (--others)")
        choice = choose(
            days,
            bases=bases,
            smoothings=SMOOTHINGS if smoothing is None else [checked_smoothing(smoothing)],
            orders=ORDERS if order is None else [whole(order, "order", MobilityError, least=1)],
            times_of_day=([False, True] if fits else [False])
            if time_of_day is None
            else [time_of_day],
        )
        mobilities = habits_of(days, choice.setting, count, progress or (lambda _: None))
    owner = [name for name in ("user", "track") if name in table.columns]
    setting = choice.setting
    provenance = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "fixes": len(table),
        "tracks": int(table.groupby(owner).ngroups),
        "steps": int(sum(map(len, days.runs))),
        "moves": int(sum(len(run) - 1 for run in days.runs)),
        "on the map": round(_on_the_map(table, place, length), 4),
        "cells never left": len(mobilities[0].unobserved),
        "habits": count,
        "base": setting.base,
        "order": setting.order,
        "smoothing": setting.smoothing,
        "time of day": setting.time_of_day,
        **_predicted(choice),
        **_seen(table, others, time_zone),
        **cells_seen(days.runs),
    }
    model = Model(place, length, tuple(mobilities), time_zone, provenance)
    arrays = arrays_of(model)
    at_most(sum(a.nbytes for a in arrays.values()), MAX_MODEL_BYTES, what, remedy, TrackError)
    at_most(len(arrays) + 1, MAX_ARRAYS, "the number of matrices", remedy, TrackError)
    return model


def _on_the_map(table: pd.DataFrame, place: LocalMap, length: pd.Timedelta) -> float:
    """Return the share of the steps with a fix that are on the map."""
    firsts = one_a_step(table, length)
    return float(place.covers(firsts["latitude"], firsts["longitude"]).mean())


def _seen(
    table: pd.DataFrame, others: "pd.DataFrame | Model | None", time_zone: str
) -> dict[str, Any]:
    """Return the days that a model has seen; whose they were only if both sources say so."""
    if others is None:
        return seen_in(table, time_zone)
    if isinstance(others, Model):
        return both_seen(seen_in(table, time_zone), others.provenance)
    known = ["time", "user"] if "user" in table and "user" in others else ["time"]
    return seen_in(pd.concat([table[known], others[known]]), time_zone)


def _as_base(others: "Model", place: LocalMap, length: pd.Timedelta) -> Mobility:
    """Return how the people of a model move from cell to cell, on average over the day."""
    mobility = others.mobility
    if (others.place, others.step) != (place, length) or mobility.n_states != mobility.n_cells:
        raise TrackError(
            "the model of other people must have the same map and step, and moves that depend on "
            "the last cell alone (--order 1)"
        )
    matrices = mobility.matrices
    return Mobility(sum(matrices) / len(matrices), mobility.initial)


def _refuse_same_people(table: pd.DataFrame, others: pd.DataFrame) -> None:
    """Refuse other people's tracks that are this person's: their days would enter unnoticed."""
    if "user" in table and "user" in others:
        both = sorted(set(table["user"]) & set(others["user"]))
        if both:
            raise TrackError(
                f"the tracks of other people (--others) include those of {listing(both)}, who the "
                f"model is about: days to be protected must not enter it; leave them out"
            )


def _predicted(choice: Choice) -> dict[str, float]:
    """Return how well left-out days were predicted, in nats per move, if there were any."""
    found = {
        PREDICTED: choice.nats,
        PREDICTED_BEFORE: choice.held_out.get(Setting(), math.nan),
        PREDICTED_USUAL: choice.usual_places,
    }
    return {name: round(value, 4) for name, value in found.items() if math.isfinite(value)}


def _days(
    table: pd.DataFrame,
    place: LocalMap,
    length: pd.Timedelta,
    time_zone: str,
    phases: int,
) -> Days:
    """Return the runs of a table, cut where the clocks change; each belongs to its first day."""
    owner = [name for name in ("user", "track") if name in table.columns]
    sequences: list[list[int]] = []
    starts: list[int] = []
    dates: list[int] = []
    for _, fixes in table.groupby(owner, sort=False):
        clock = Clock(day_start(fixes["time"].min(), time_zone), length)
        phase = LocalPhase.of(clock, time_zone)
        found = runs(fixes, place, clock)
        local = _local_days(found, clock, time_zone)
        for (start, run), day_of in zip(found, local, strict=True):
            for first, day, part in _by_day(start, run, day_of):
                parts = _by_phase(first, part, phase, phases) if phases > 1 else [(0, part)]
                starts += [begins for begins, _ in parts]
                sequences += [cells for _, cells in parts]
                dates += [day] * len(parts)
    return Days(place.grid, sequences, dates, starts, phases, length)


def _local_days(
    found: list[tuple[int, list[int]]], clock: Clock, time_zone: str
) -> list[NDArray[np.int64]]:
    """Return the local day of each step of each run, all at once: one by one takes long."""
    steps = [np.arange(start, start + len(run)) for start, run in found]
    if not steps:
        return []
    times = clock.time_of(np.concatenate(steps)).tz_convert(time_zone)
    days = np.asarray(times.tz_localize(None).normalize().asi8)
    return np.split(days, np.cumsum([len(each) for each in steps])[:-1])


def _by_day(start: int, run: list[int], day: NDArray[np.int64]) -> list[tuple[int, int, list[int]]]:
    """Return a run cut at midnight: the first step of each part, its day, and its cells.

    The last cell of a part is the first of the next, so that no move is lost.
    """
    cuts = [0, *(np.flatnonzero(np.diff(day)) + 1).tolist()]
    ends = [*cuts[1:], len(run) - 1]
    return [
        (start + begin, int(day[begin]), run[begin : end + 1])
        for begin, end in zip(cuts, ends, strict=True)
        if begin < end or len(run) == 1
    ]


def _by_phase(
    start: int, run: list[int], phase: LocalPhase, period: int
) -> list[tuple[int, list[int]]]:
    """Return a run cut where the clocks change, each part with the phase that it begins with.

    The last cell of a part is the first of the next, so that no move is lost.
    """
    found = np.array([phase(start + i) for i in range(len(run))])
    ends = np.flatnonzero(np.diff(found) % period != 1 % period) + 1
    edges = [0, *ends.tolist(), len(run) - 1]
    return [
        (int(found[begin]), run[begin : end + 1])
        for begin, end in pairwise(edges)
        if begin < end or len(run) == 1
    ]


def _step(step: pd.Timedelta | str) -> pd.Timedelta:
    try:
        length = pd.Timedelta(step)
    except (ValueError, OverflowError, TypeError):
        length = pd.NaT
    if pd.isna(length) or not pd.Timedelta(seconds=1) <= length <= LONGEST_STEP:
        raise TrackError(
            f"a step is a length of time such as '10min' or '1h', at least a second and at most "
            f"{LONGEST_STEP.days} days, got {shown(str(step))}"
        )
    return length


def arrays_of(model: Model) -> dict[str, NDArray[Any]]:
    """Return everything a model holds as arrays, by their names in its file."""
    arrays: dict[str, NDArray[Any]] = {"initial": model.mobility.initial}
    for m, mobility in enumerate(model.mobilities):
        arrays[f"habit {m} cell_of_state"] = mobility.cell_of_state
        for t, matrix in enumerate(mobility.matrices):
            name = f"habit {m} matrix {t}"
            if sparse.issparse(matrix):
                parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
                arrays |= {f"{name} {part}": values for part, values in parts.items()}
            else:
                arrays[name] = matrix
    grid = model.place.grid
    meta = {
        "format": FORMAT,
        "rows": grid.rows,
        "columns": grid.columns,
        "cell_size_km": grid.cell_size,
        "elsewhere": grid.elsewhere,
        "latitude": model.place.latitude,
        "longitude": model.place.longitude,
        "step_seconds": model.step.total_seconds(),
        "time_zone": model.time_zone,
        "matrices": [len(mobility.matrices) for mobility in model.mobilities],
        "provenance": model.provenance,
    }
    text = json.dumps(meta, sort_keys=True)
    return {**arrays, "meta": np.frombuffer(text.encode(), dtype=np.uint8)}
