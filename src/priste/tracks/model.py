"""A model: a map, a step, and how people move, fitted to tracks."""

import json
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from priste.checks import shown
from priste.errors import ModelFileError, TrackError, UnobservedRowsWarning
from priste.mobility import Mobility
from priste.storage.archive import checksum
from priste.storage.limits import LONGEST_STEP, MAX_MODEL_BYTES, MAX_PHASES, at_most
from priste.tracks.local_phase import LocalPhase
from priste.tracks.places import LocalMap, Outside
from priste.tracks.seen import seen_in
from priste.tracks.steps import Clock, runs
from priste.tracks.windows import day_start, zone

FORMAT = 1
DAY = pd.Timedelta(days=1)


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """Where (`place`), how often (`step`) and how (`mobility`) people are followed.

    If the mobility has a matrix for each step of the day, phase 0 is midnight in `time_zone`.
    The `provenance` says what it was learned from: which days (ranges in `time_zone`) and, if the
    table said so, whose.
    """

    place: LocalMap
    step: pd.Timedelta
    mobility: Mobility
    time_zone: str
    provenance: dict[str, Any]

    def __post_init__(self) -> None:
        zone(self.time_zone)
        _step(self.step)
        if self.mobility.n_cells != self.place.grid.n_cells:
            raise ModelFileError(
                f"the map has {self.place.grid.n_cells} cells, the mobility {self.mobility.n_cells}"
            )

    def __repr__(self) -> str:
        grid, matrices = self.place.grid, len(self.mobility.matrices)
        return (
            f"<Model: {grid.rows} × {grid.columns} cells, steps of {self.step.total_seconds():g} "
            f"s, {self.time_zone}, {matrices} matrices>"
        )

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of everything the model holds."""
        return checksum(arrays_of(self)).hex()

    def clock(self, start: pd.Timestamp) -> Clock:
        """Return the clock of a stream that begins at `start`."""
        return Clock(start, self.step)

    def mobility_from(self, start: pd.Timestamp) -> Mobility:
        """Return the mobility of a stream whose step 0 is at `start`, whatever its hour.

        With a matrix for each step of the day, every step has that of its hour on the wall clock.
        """
        matrices = self.mobility.matrices
        if len(matrices) == 1:
            return self.mobility
        phase = LocalPhase.of(self.clock(start), self.time_zone)
        initial, cell_of_state = self.mobility.initial, self.mobility.cell_of_state
        if len(matrices) * self.step == DAY:
            return Mobility(matrices, initial, phase=phase, cell_of_state=cell_of_state)
        turned = [matrices[(phase(0) + t) % len(matrices)] for t in range(len(matrices))]
        return Mobility(turned, initial, repeat=True, cell_of_state=cell_of_state)


def fit_model(
    table: pd.DataFrame,
    *,
    step: pd.Timedelta | str = "10min",
    place: LocalMap | None = None,
    cells: int = 400,
    time_zone: str = "UTC",
    time_of_day: bool = False,
    order: int = 1,
    smoothing: float = 1.0,
    outside: Outside = "drop",
) -> Model:
    """Fit a model to a clean track table.

    Without a `place`, a map of about `cells` cells is laid around the fixes. `time_of_day` gives
    each step of the day its own matrix. Fixes off the map end a run of moves (``"drop"``), or count
    for the border (``"clamp"``).
    """
    zone(time_zone)
    length = _step(step)
    if time_of_day and DAY % length != pd.Timedelta(0):
        raise TrackError(
            f"a day is not a whole number of steps of {length}, as time_of_day requires"
        )
    phases = DAY // length if time_of_day else 1
    at_most(phases, MAX_PHASES, "the steps of a day", "use longer steps (--step)", TrackError)
    place = LocalMap.around(table, cells=cells) if place is None else place
    size = 8 * phases * place.grid.n_cells**2
    remedy = "use fewer cells (--cells) or longer steps (--step)"
    at_most(size, MAX_MODEL_BYTES, "the size of the model in bytes", remedy, TrackError)
    owner = [name for name in ("user", "track") if name in table.columns]
    sequences, starts = [], []
    for _, fixes in table.groupby(owner, sort=False):
        midnight = day_start(fixes["time"].min(), time_zone)
        clock = Clock(midnight, length)
        phase = LocalPhase.of(clock, time_zone)
        for start, run in runs(fixes, place, clock, outside=outside):
            parts = _by_phase(start, run, phase, phases) if time_of_day else [(start, run)]
            starts += [first for first, _ in parts]
            sequences += [part for _, part in parts]
    if not any(len(run) > 1 for run in sequences):
        raise TrackError(
            f"there is nothing to fit: the {len(table)} fixes have no two consecutive steps of "
            f"{length} on the map"
        )
    with warnings.catch_warnings():  # of a whole city most cells are never left: see provenance
        warnings.simplefilter("ignore", UnobservedRowsWarning)
        mobility = Mobility.fit(
            sequences,
            place.grid.n_cells,
            order=order,
            smoothing=smoothing,
            period=phases if time_of_day else None,
            starts=starts if time_of_day else None,
        )
    provenance = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "fixes": len(table),
        "tracks": int(table.groupby(owner).ngroups),
        "steps": int(sum(map(len, sequences))),
        "moves": int(sum(len(run) - 1 for run in sequences)),
        "cells never left": len(mobility.unobserved),
        "order": order,
        "smoothing": smoothing,
        "time of day": time_of_day,
        **seen_in(table, time_zone),
    }
    return Model(place, length, mobility, time_zone, provenance)


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
    arrays: dict[str, NDArray[Any]] = {
        "initial": model.mobility.initial,
        "cell_of_state": model.mobility.cell_of_state,
    }
    matrices = model.mobility.matrices
    for t, matrix in enumerate(matrices):
        if sparse.issparse(matrix):
            parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
            arrays |= {f"matrix {t} {name}": part for name, part in parts.items()}
        else:
            arrays[f"matrix {t}"] = matrix
    grid = model.place.grid
    meta = {
        "format": FORMAT,
        "rows": grid.rows,
        "columns": grid.columns,
        "cell_size_km": grid.cell_size,
        "latitude": model.place.latitude,
        "longitude": model.place.longitude,
        "step_seconds": model.step.total_seconds(),
        "time_zone": model.time_zone,
        "matrices": len(matrices),
        "provenance": model.provenance,
    }
    text = json.dumps(meta, sort_keys=True)
    return {**arrays, "meta": np.frombuffer(text.encode(), dtype=np.uint8)}
