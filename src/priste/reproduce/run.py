"""The whole reproduction: measure what is missing, then write the page."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import priste
from priste.errors import TrackError
from priste.progress import Progress
from priste.reproduce import quadratic, runtime, small, thresholds
from priste.reproduce.experiments import FAST, FULL, Effort, Experiment, experiments
from priste.reproduce.geolife import PLACES, fingerprint, prepare
from priste.reproduce.kept import Kept
from priste.reproduce.page import write_page
from priste.reproduce.settings import METHODS, Setting
from priste.reproduce.verdicts import Results
from priste.reproduce.work import missing_audits, missing_runs, work_off

Working = Callable[[str], AbstractContextManager[Progress]]
"""Gives a progress to report to, under a label."""

NO_GEOLIFE = "Geolife: give --geolife, the folder of one person, such as Geolife/Data/000"
NO_OTHERS = "other persons: give --geolife once more for each"
NO_SOLVER = "the solver's table: CPLEX is not installed; pip install 'priste[reproduce]'"


def reproduce(
    folder: str | Path,
    *,
    geolife: Sequence[str | Path] = (),
    fast: bool = False,
    workers: int | None = None,
    working: Working,
) -> tuple[list[Path], Results]:
    """Regenerate the paper's evaluation into a folder; return the files and the results.

    What an earlier, perhaps interrupted, call into the same folder measured is used again. With
    `geolife`, folders of persons, the figures on real data are made too: of the first person, and
    one that compares them.
    """
    effort = FAST if fast else FULL
    people = _different([_person(folder) for folder in geolife])
    folder, why = Path(folder), dict[str, str]()
    with working("reading"):
        missing = _unusable(people, effort, why)
    kept = Kept(folder / "kept", effort.steps, [fingerprint(person) for person in people])
    wanted = [_without(e, missing) for e in experiments(effort, len(people))]
    wanted = [e for e in wanted if e.settings()]
    _measure_alone(kept, effort, working, why)
    with working("streams") as progress:
        jobs = missing_runs(wanted, kept)
        work_off(jobs, kept, effort, people, workers, progress)
    with working("audits") as progress:
        jobs = missing_audits(_audited(wanted, effort), kept, effort)
        work_off(jobs, kept, effort, people, workers, progress)
    results = Results(kept, tuple(wanted), why)
    with working("writing"):
        files = write_page(folder, results, effort, priste.__version__)
    return files, results


def _unusable(people: Sequence[Path], effort: Effort, why: dict[str, str]) -> set[str]:
    """Return the maps of Geolife that the first person does not fill, and note why.

    The main map everybody must fill.
    """
    if not people:
        why["geolife"] = NO_GEOLIFE
        return set(PLACES)
    first, *others = people
    for person in others:
        prepare(person, "geolife", effort.steps)
    if not others:
        why["others"] = NO_OTHERS
    missing = set()
    for place in PLACES:
        try:
            prepare(first, place, effort.steps)
        except TrackError as error:
            if place == "geolife":
                raise
            why[place] = f"the map “{place}”: {error}"
            missing.add(place)
    return missing


def _without(experiment: Experiment, places: set[str]) -> Experiment:
    """Return the experiment without the curves on some maps."""
    panels = tuple(
        panel._replace(curves=tuple(c for c in panel.curves if c.settings[0].place not in places))
        for panel in experiment.panels
    )
    return replace(experiment, panels=panels)


def _person(geolife: str | Path) -> Path:
    """Return the folder of a person, refused if there is nothing to read in it."""
    folder = Path(geolife)
    if not any(folder.rglob("*.plt")):
        raise TrackError(
            f"{folder} holds no .plt files; give the folder of one person, such as Geolife/Data/000"
        )
    return folder.resolve()


def _different(people: list[Path]) -> list[Path]:
    """Return the persons, refused if one is given twice."""
    for number, person in enumerate(people):
        for other in people[:number]:
            if fingerprint(person) == fingerprint(other):
                raise TrackError(f"{person} and {other} hold the same tracks; give each one once")
    return people


def _measure_alone(kept: Kept, effort: Effort, working: Working, why: dict[str, str]) -> None:
    """Measure what is timed, while nothing else runs; and the small maps."""
    if kept.measured("small") is None:
        with working("small maps"):
            kept.measure("small", small.measure(effort))
    if kept.measured("runtime") is None:
        with working("runtime") as progress:
            kept.measure("runtime", runtime.measure(effort, progress))
    if not quadratic.is_there():
        if kept.measured("thresholds") is None:
            why["thresholds"] = NO_SOLVER
    else:
        with working("thresholds") as progress:
            for found in thresholds.measure(effort, progress, kept.measured("thresholds") or {}):
                kept.measure("thresholds", found)


def _audited(wanted: list[Experiment], effort: Effort) -> list[Setting]:
    """Return the settings to audit: of figures where all methods are run, all of them.

    In the fast mode it is one of each experiment.
    """
    if not effort.is_fast:
        return [s for e in wanted if e.methods == METHODS for s in e.settings()]
    firsts = [(e.panels[0].curves[0].settings[0].but(epsilon=0.5), e.methods) for e in wanted]
    return [first.but(method=m) for first, methods in firsts for m in methods]
