"""What the page computes: what leaks from a day, the same day protected, and the price of an ε."""

import copy
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from priste.errors import StudioError
from priste.mechanisms import NoNoise, PlanarLaplace
from priste.mechanisms.on_grid import GridMechanism
from priste.progress import Progress
from priste.protection import Protect
from priste.report.picture import picture
from priste.report.ways import Way, protected_way, usual_ways
from priste.studio.desk import Desk, model_bytes
from priste.studio.levels import EPSILONS
from priste.studio.runs import Run
from priste.studio.setting import Setting
from priste.tracks import Model, ProtectedTrack, Stream, protect_track
from priste.tracks.certificate_file import to_text
from priste.tracks.events_file import Reader
from priste.tracks.events_remarks import absent_events, grown_regions, hours_of_other_zones
from priste.tracks.files import write_as
from priste.tracks.names import escaped
from priste.tracks.observer import Observed

SEEN = (
    "The habits were learned from this very day, so the observer is taken to know it. Load more "
    "days for a true picture, or open a model of other days."
)


class Case(NamedTuple):
    """A day with the model to look at it with, and what is secret about it."""

    model: Model
    table: pd.DataFrame
    stream: Stream
    protections: tuple[Protect, ...]
    asked: tuple[Protect, ...]
    """All that is ever secret, without saying what it is."""
    remarks: list[str]
    seen: bool


def case_of(desk: Desk, setting: Setting, progress: Progress) -> Case:
    """Return the day that the page asks about."""
    model, seen = desk.model(setting, progress)
    table = desk.day(setting, model)
    if table.empty:
        raise StudioError("there is no fix on that day; choose another")
    stream = Stream.of(table, model)
    file = events_of(setting, stream)
    remarks = [SEEN] * seen + stream.at_new_places
    if file is None:
        return Case(model, table, stream, (), (), remarks, seen)
    protections = tuple(file.protections())
    remarks += [
        f"“{escaped(name)}” cannot happen on this day: none of its hours is on it. It is not shown."
        for name in absent_events(file)
    ]
    remarks += [*hours_of_other_zones(file, model.time_zone), *grown_regions(file)]
    return Case(model, table, stream, protections, tuple(file.asked()), remarks, seen)


def events_of(setting: Setting, stream: Stream) -> Reader | None:
    """Return what the page says is secret, for a day; None if it says nothing."""
    for name, region in setting.tables.get("regions", {}).items():
        if "geojson" in region:
            raise StudioError(f"the place {escaped(name)!r} is in another file; draw it instead")
    if not any("epsilon" in event for event in setting.tables.get("events", {}).values()):
        return None
    place, clock = stream.model.place, stream.clock
    return Reader(copy.deepcopy(setting.tables), Path(), place, clock, stream.n_steps)


def noise_of(setting: Setting, model: Model) -> GridMechanism:
    """Return the noise that is asked for."""
    grid, budget = model.place.grid, setting.noise.value
    return NoNoise(grid, 1.0) if budget is None else PlanarLaplace(grid, budget)


def watch(desk: Desk, setting: Setting) -> Callable[[Run], None]:
    """Return the work that shows what leaks from a day as people share it today."""

    def work(run: Run) -> None:
        case = case_of(desk, setting, run.begin("learning the habits"))
        _tell(run, case, _usual(case, setting, run.begin("following the observer")))

    return work


def protect(desk: Desk, setting: Setting) -> Callable[[Run], None]:
    """Return the work that protects a day."""

    def work(run: Run) -> None:
        case = case_of(desk, setting, run.begin("learning the habits"))
        track = _protected(case, setting, run.begin("protecting"))
        report = run.begin("following the observer")
        hidden = track.certificate.without_events(case.asked)
        run.files |= {
            "certificate.json": lambda: to_text(track.certificate).encode(),
            "hidden.certificate.json": lambda: to_text(hidden).encode(),
            "track.gpx": lambda: _written(track, ".gpx"),
            "track.csv": lambda: _written(track, ".csv"),
        }
        _tell(
            run,
            case,
            [*_usual(case, setting, report), protected_way(track, report)],
            sentences=list(track.certificate.sentences()),
            accuracy=track.accuracy.rows(),
        )

    return work


def price(desk: Desk, setting: Setting, secret: str) -> Callable[[Run], None]:
    """Return the work that finds the error for each ε of a secret, with the others as they are."""
    if secret not in setting.tables.get("events", {}):
        raise StudioError("choose the secret whose ε is to vary")

    def work(run: Run) -> None:
        found: list[dict[str, Any]] = []
        first = run.begin("learning the habits")
        for done, epsilon in enumerate(_from_the_middle(EPSILONS)):
            tables = copy.deepcopy(setting.tables)
            tables["events"][secret]["epsilon"] = epsilon
            case = case_of(desk, replace(setting, tables=tables), first)
            report = run.begin(f"protecting with ε = {epsilon:g}")
            progress = partial(_share, report, done, len(EPSILONS))
            released = _protected(case, setting, progress).accuracy.released
            found.append({"epsilon": epsilon, "km": None if isnan(released) else released})
            run.tell({"price": sorted(found, key=lambda point: point["epsilon"])})

    return work


def _share(report: Progress, done: int, of: int, share: float) -> None:
    report((done + share) / of)


def _from_the_middle(values: Sequence[float]) -> list[float]:
    """Return values such that the first few give the shape of the curve."""
    ends = [values[0], values[-1], values[len(values) // 2]]
    return [*ends, *(value for value in values if value not in ends)]


def _protected(case: Case, setting: Setting, progress: Progress) -> ProtectedTrack:
    if not case.protections:
        raise StudioError("nothing is secret on that day: draw a place, and paint hours of the day")
    observer = setting.observer.value
    return protect_track(
        case.table,
        case.model,
        case.protections,
        adversary=observer.kind,
        rho=observer.rho,
        mechanism=noise_of(setting, case.model),
        progress=progress,
        model_has_seen_these_days=case.seen,
    )


def _usual(case: Case, setting: Setting, progress: Progress) -> list[tuple[Way, Observed]]:
    noise = noise_of(setting, case.model)
    return usual_ways(case.stream, case.protections, noise, progress)


def _tell(run: Run, case: Case, ways: Sequence[tuple[Way, Observed]], **more: Any) -> None:
    """Give what the page shows of a day, and the files of it."""
    run.files |= {
        "model.npz": lambda: model_bytes(case.model),
        "odds.csv": lambda: _numbers(case, ways),
    }
    run.tell(
        {
            "picture": picture(case.stream, case.protections, ways),
            "remarks": case.remarks,
            "files": sorted(run.files),
            **more,
        }
    )


def _written(track: ProtectedTrack, suffix: str) -> bytes:
    """Return the file of a released track."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"track{suffix}"
        write_as(track.released, path, suffix)
        return path.read_bytes()


def _numbers(case: Case, ways: Sequence[tuple[Way, Observed]]) -> bytes:
    """Return the numbers of the curves as CSV: a row for each step, way and secret."""
    stream = case.stream
    times = stream.clock.time_of(range(stream.first, stream.first + stream.n_steps))
    parts = [
        pd.DataFrame(
            {
                "time": times.tz_convert(case.model.time_zone).map(lambda t: t.isoformat()),
                "way": way.key,
                "secret": name,
                "odds": odds,
                "error_km": observed.sharing.errors,
            }
        )
        for way, observed in ways
        for name, odds in observed.odds.items()
    ]
    return (
        pd.concat(parts).to_csv(index=False).encode()
        if parts
        else b"time,way,secret,odds,error_km\n"
    )
