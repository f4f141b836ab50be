"""The whole reproduction: measure what is missing, then write the report."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import priste
from priste.errors import TrackError
from priste.progress import Progress
from reproduction import quadratic, runtime, small_maps, thresholds
from reproduction.experiments import FAST, FULL, Experiment, Mode, experiments
from reproduction.geolife import PLACES, fingerprint, prepare
from reproduction.jobs import missing_audits, missing_runs, run_jobs
from reproduction.page import write_page
from reproduction.results_store import ResultsStore
from reproduction.settings import METHODS, Setting
from reproduction.verdicts import Results

Working = Callable[[str], AbstractContextManager[Progress]]
"""Opens a progress bar with a label."""

NO_GEOLIFE = "Geolife: give --geolife, the folder of one person, such as Geolife/Data/000"
NO_OTHERS = "other people: give --geolife once for each"
NO_SOLVER = "the solver's table: CPLEX is not installed; pip install cplex"


def reproduce(
    folder: str | Path,
    *,
    geolife: Sequence[str | Path] = (),
    fast: bool = False,
    workers: int | None = None,
    working: Working,
) -> tuple[list[Path], Results]:
    """Regenerate the paper's evaluation in a folder; return the files and the results.

    What an earlier call measured in the same folder, even an interrupted one, is used again.
    `geolife` are folders of people: the figures on real data are of the first, and one figure
    compares them all.
    """
    mode = FAST if fast else FULL
    people = _distinct([_person(folder) for folder in geolife])
    folder, why = Path(folder), dict[str, str]()
    with working("reading"):
        missing = _unusable(people, mode, why)
    store = ResultsStore(folder / "raw", mode.steps, [fingerprint(person) for person in people])
    wanted = [_without(e, missing) for e in experiments(mode, len(people))]
    wanted = [e for e in wanted if e.settings()]
    _measure_alone(store, mode, working, why)
    with working("streams") as progress:
        jobs = missing_runs(wanted, store)
        run_jobs(jobs, store, mode, people, workers, progress)
    with working("audits") as progress:
        jobs = missing_audits(_audited(wanted, mode), store, mode)
        run_jobs(jobs, store, mode, people, workers, progress)
    results = Results(store, tuple(wanted), why)
    with working("writing"):
        files = write_page(folder, results, mode, priste.__version__)
    return files, results


def _unusable(people: Sequence[Path], mode: Mode, why: dict[str, str]) -> set[str]:
    """Return the maps on which the first person has too few steps, and note why.

    Everybody must have enough on the main map.
    """
    if not people:
        why["geolife"] = NO_GEOLIFE
        return set(PLACES)
    first, *others = people
    for person in others:
        prepare(person, "geolife", mode.steps)
    if not others:
        why["others"] = NO_OTHERS
    missing = set()
    for place in PLACES:
        try:
            prepare(first, place, mode.steps)
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
    """Return the folder of a person; refuse one without tracks."""
    folder = Path(geolife)
    if not any(folder.rglob("*.plt")):
        raise TrackError(
            f"{folder} holds no .plt files; give the folder of one person, such as Geolife/Data/000"
        )
    return folder.resolve()


def _distinct(people: list[Path]) -> list[Path]:
    """Return the people; refuse one who is given twice."""
    for number, person in enumerate(people):
        for other in people[:number]:
            if fingerprint(person) == fingerprint(other):
                raise TrackError(
                    f"{person} and {other} hold the same tracks; give each person once"
                )
    return people


def _measure_alone(store: ResultsStore, mode: Mode, working: Working, why: dict[str, str]) -> None:
    """Measure the small maps, and whatever is timed, while nothing else runs."""
    if store.load("small-maps") is None:
        with working("small maps"):
            store.save("small-maps", small_maps.measure(mode))
    if store.load("runtime") is None:
        with working("runtime") as progress:
            store.save("runtime", runtime.measure(mode, progress))
    if not quadratic.is_installed():
        if store.load("thresholds") is None:
            why["thresholds"] = NO_SOLVER
    else:
        with working("thresholds") as progress:
            for found in thresholds.measure(mode, progress, store.load("thresholds") or {}):
                store.save("thresholds", found)


def _audited(wanted: list[Experiment], mode: Mode) -> list[Setting]:
    """Return the settings to audit: all those of figures with all methods.

    In the fast mode it is one for each experiment.
    """
    if not mode.is_fast:
        return [s for e in wanted if e.methods == METHODS for s in e.settings()]
    firsts = [(e.panels[0].curves[0].settings[0].but(epsilon=0.5), e.methods) for e in wanted]
    return [first.but(method=m) for first, methods in firsts for m in methods]
