"""From a table of many people to a protected one: lay out, hand out, sum up."""

import os
import shutil
import unicodedata
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from priste.calibration import Calibration
from priste.checks import listing, shown, whole
from priste.errors import TrackError
from priste.mechanisms import Mechanism, PlanarLaplace
from priste.progress import Progress, progress_line
from priste.stream.parts import DEFAULT_RHO
from priste.tracks import plain_toml
from priste.tracks.adversary import Adversary, AdversaryKind
from priste.tracks.html_table import html_table
from priste.tracks.many.crew import Alone, Cluster, Crew, Processes
from priste.tracks.many.folder import KEY_BYTES, Job, Run
from priste.tracks.many.intake import (
    MOST_PARTS,
    Reading,
    identity,
    lay_out_by_part,
    parts_for,
)
from priste.tracks.many.part import EVERYONE
from priste.tracks.many.told import Told, together
from priste.tracks.model import Model
from priste.tracks.recipe import Recipe

PERSONAL_DAYS = 14
"""How many days of history a person needs for a model of their own."""


@dataclass(frozen=True, eq=False, repr=False)
class Delivered:
    """What one run delivered: where, and what it tells about everybody (private)."""

    folder: Path
    run: int
    told: Told
    notes: tuple[str, ...] = ()
    """What was noticed in the files."""

    def __repr__(self) -> str:
        told = self.told
        return f"<Delivered: {told.released:,} of {told.people:,} people, {told.days:,} days>"

    @property
    def released(self) -> Path:
        """The folder of what was released, by part and run: public."""
        return self.folder / "released"

    @property
    def certificates(self) -> Path:
        """The folder of the certificates, by part and run: public."""
        return self.folder / "certificates"

    def rows(self) -> list[tuple[str, str]]:
        """Return what is told line by line."""
        told, errors, shares = self.told, self.told.errors, self.told.shares
        rows = [
            ("people", f"{told.people:,}"),
            ("released", f"{told.released:,}"),
            ("with a model of their own", f"{told.personal:,}"),
            ("refused", f"{told.n_refused:,}"),
            ("with nothing new", f"{told.unchanged:,}"),
            ("person-days", f"{told.days:,}"),
            ("releases", f"{told.releases:,}"),
            ("fixes of days released before, left out", f"{told.again:,}"),
            ("seconds of a core", f"{told.seconds:,.0f}"),
            ("releases with a remark", f"{told.remarks:,}"),
            ("releases of fixes off the map", f"{told.off_map:,}"),
            ("releases of fixes on the map that say “away”", f"{told.shown_away:,}"),
        ]
        if errors.count:
            rows += [
                ("mean error of the others", f"{errors.mean:.2f} km"),
                ("median error", f"{errors.quantile(0.5):.2f} km"),
                ("95 % of errors below", f"{errors.quantile(0.95):.2f} km"),
            ]
        if shares.count:
            rows += [
                ("largest loss, as a share of its ε", f"{shares.largest:.4f}"),
                ("mean of the largest loss about each event", f"{shares.mean:.4f}"),
            ]
        return rows

    def _repr_html_(self) -> str:
        return html_table(("", ""), self.rows())


def protect_many(
    source: str | Path | Sequence[str | Path],
    model: Model,
    events: str | Path,
    out: str | Path,
    *,
    history: str | Path | None = None,
    personal_days: int = PERSONAL_DAYS,
    adversary: AdversaryKind = "near",
    rho: float = DEFAULT_RHO,
    mechanism: Mechanism | None = None,
    calibration: Calibration | None = None,
    hide_events: bool = False,
    model_has_seen_these_days: bool = False,
    key: bytes | None = None,
    parts: int | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    user: str | None = None,
    columns: Mapping[str, str] | None = None,
    time_zone: str | None = None,
    time_format: str | None = None,
    progress: Progress | None = None,
) -> Delivered:
    """Protect the fixes of many people, each in a stream of their own that goes on from run to run.

    The `source` is a Parquet file with a column for the people, a folder of such files, or a folder
    with a file or a folder for each person; `user` names the column where it cannot be guessed. The
    `model` is that of the population; whoever has at least `personal_days` days in `history`, which
    must lie before what is protected, gets one of their own. `events` is an events file for all, or
    a folder with ``NAME.toml`` for some people and ``everyone.toml`` for the others. Other settings
    are those of `protect_track`.

    In `out` appear ``released`` and ``certificates`` (Parquet by part and run, public) and
    ``private``. Run it again with later fixes to go on, or after an interruption to finish: what is
    done stays done, and draws follow from a secret `key` (made when the job begins), so that work
    that is done again gives the same releases. Fixes of days that were released before are left
    out.

    By default there is a process for every core (so guard the call of a script with ``if __name__
    == "__main__"``); with ``workers=1`` all is done in this one. `cluster` gives the address of a
    Dask scheduler, whose workers must see `out` under the same path.
    """
    given = [source] if isinstance(source, str | Path) else list(source)
    paths = [Path(each) for each in given]
    others = [Path(events), *([] if history is None else [Path(history)])]
    missing = [str(path) for path in (*paths, *others) if not path.exists()]
    if missing or not paths:
        raise TrackError(f"{listing(missing) or 'nothing'} cannot be read: it does not exist")
    if key is not None and (not isinstance(key, bytes) or len(key) < KEY_BYTES):
        raise TrackError(f"a key is at least {KEY_BYTES} secret bytes")
    if parts is not None and not 1 <= whole(parts, "parts", TrackError, least=1) <= MOST_PARTS:
        raise TrackError(f"people are divided into 1 to {MOST_PARTS:,} parts, got {parts:,}")
    if history is not None and model.mobility.n_states != model.mobility.n_cells:
        raise TrackError(
            "models of people's own are learned around a model whose moves depend on the last cell "
            "alone (priste fit --order 1); learn it so, or leave the history out"
        )
    crew = _crew(workers, cluster)
    against = Adversary(adversary, rho)
    noise = PlanarLaplace(model.place.grid, 1.0) if mechanism is None else mechanism
    settings = {
        "parts": parts_for(paths) if parts is None else parts,
        "model": model.fingerprint,
        "adversary": against.kind,
        "rho": against.rho,
        "mechanism": _buildable(noise, model),
        "calibration": None if calibration is None else _buildable(calibration, model),
        "personal_days": whole(personal_days, "personal_days", TrackError, least=1),
        "hide_events": bool(hide_events),
        "model_has_seen_these_days": bool(model_has_seen_these_days),
    }
    job = Job.begin(Path(out), model, settings, key)
    reading = Reading(columns, time_zone, time_format, user)
    run = _run(job, paths, Path(events), None if history is None else Path(history), reading)
    _work(crew, run, progress or progress_line("protecting"))
    run.finish()
    told = together(run.part(part) / "told.json" for part in sorted(run.rows))
    return Delivered(job.folder, run.number, told, tuple(run.said["notes"]))


def _crew(workers: int | None, cluster: str | None) -> Crew:
    if cluster is not None:
        if workers is not None:
            raise TrackError("a Dask cluster has its own workers; give one or the other")
        return Cluster(cluster)
    asked = os.cpu_count() or 1 if workers is None else workers
    count = whole(asked, "workers", TrackError, least=1)
    return Alone() if count == 1 else Processes(count)


def _buildable(built: Mechanism | Calibration, model: Model) -> dict[str, object]:
    """Return how something was built, for workers to build it again."""
    recipe = Recipe.of(built, model.place.grid)
    if recipe.obstacle:
        raise TrackError(f"workers cannot build this again: {recipe.obstacle}")
    return recipe.to_json()


def _run(job: Job, paths: list[Path], events: Path, history: Path | None, reading: Reading) -> Run:
    """Return the run to work on: one that was cut short, one that is done, or a new one."""
    inputs = identity([*paths, events, *([] if history is None else [history])], reading)
    runs = job.runs()
    for run in runs:
        if run.said["inputs"] == inputs:
            return run
    if runs and not runs[-1].is_finished:
        raise TrackError(
            f"run {runs[-1].number} of {job.folder} was cut short, and these are other files; "
            f"finish it first, with the files that it began with"
        )
    number = len(runs) + 1
    with job.new_run(number) as new:
        named = _copied_events(events, new / "events")
        found = lay_out_by_part(paths, reading, job.part_of, new / "fixes")
        if not found.rows:
            raise TrackError(f"{listing([path.name for path in paths])} holds no fixes")
        notes = [*found.notes, *([] if named else _unmet(new / "events", found.people))]
        if history is not None:
            lay_out_by_part([history], reading, job.part_of, new / "history")
        began = datetime.now(UTC).isoformat(timespec="seconds")
        said = {"inputs": inputs, "began": began, "events": named}
        Run(job, number).write(new, {**said, "rows": found.rows, "notes": notes})
    made = Run(job, number)
    if made.said["inputs"] != inputs:
        raise TrackError(f"another run began in {job.folder} at the same time; run this again")
    return made


def _work(crew: Crew, run: Run, progress: Progress) -> None:
    """Do all parts, and say how many of the fixes are dealt with."""
    rows = run.rows
    total = sum(rows.values())
    done = total - sum(rows[part] for part in run.waiting())
    for part in crew.work(run):
        done += rows[part]
        progress(done / total)


def _copied_events(source: Path, target: Path) -> str | None:
    """Copy the events, so that all workers read the same; return the name of a single file."""
    if source.is_dir():
        files = [each for each in sorted(source.rglob("*")) if each.is_file()]
        for each in files:
            _copy(each, target / each.relative_to(source))
        if not any(each.suffix == ".toml" for each in files):
            raise TrackError(f"{source} holds no events file (NAME.toml, or everyone.toml)")
        return None
    content = plain_toml.read(source, TrackError)
    _copy(source, target / source.name)
    regions = content.get("regions", {})
    for region in regions.values() if isinstance(regions, dict) else ():
        beside = region.get("geojson") if isinstance(region, dict) else None
        if isinstance(beside, str):
            if Path(beside).is_absolute() or ".." in Path(beside).parts:
                raise TrackError(
                    f"{source.name} names {shown(beside)}; put it beside the events file, or below"
                )
            _copy(source.parent / beside, target / beside)
    return source.name


def _unmet(events: Path, people: Set[str]) -> list[str]:
    """Return a remark on events of people who have no fixes: their names may be misspelt."""
    names = {unicodedata.normalize("NFC", each.stem) for each in events.glob("*.toml")}
    unmet = sorted(names - people - {Path(EVERYONE).stem})
    if not unmet:
        return []
    return [
        f"nobody with fixes in this run is called {listing(unmet)}, as {len(unmet)} of the events "
        f"files are: a name that is misspelt protects nobody"
    ]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not source.is_file():
        raise TrackError(f"{source.name} cannot be read: it is no file")
    shutil.copyfile(source, target)
