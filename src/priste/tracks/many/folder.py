"""The folder of a job: what is public, what is private, and what counts as done.

    released/part=0007/run-0001.parquet       what was released: user, time, latitude, longitude
    certificates/part=0007/run-0001.parquet   the certificate of each person, as JSON
    private/key                               where all draws come from
    private/job.json, private/model.npz       how the job was set when it began
    private/runs/0001/                        one delivery of fixes, and what became of it
        run.json, events/, fixes/, history/
        parts/0007/                           a part that is done: it appears as a whole, once

A person always belongs to the same part. A part of a run is done when its folder stands in its
place. It is written elsewhere and moved there in one step, which fails if another was faster: so
every step of a stream is drawn once, however often the work is begun. Only what stands there is
made public.
"""

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from priste.calibration import Calibration
from priste.checks import listing, shown
from priste.errors import TrackError
from priste.mechanisms import Mechanism
from priste.randomness import KeyedRandomness, derived
from priste.storage import plain_json
from priste.storage.atomic_files import atomic_file
from priste.storage.limits import MIB, content_of
from priste.tracks.adversary import Adversary
from priste.tracks.certificate import CALIBRATIONS, MECHANISMS
from priste.tracks.model import Model
from priste.tracks.model_file import load_model, save_model
from priste.tracks.recipe import Recipe

FORMAT = 1
KEY_BYTES = 32
_LOST = 86_400.0  # seconds after which an attempt that has not appeared is taken for lost
_BRING_BACK = (
    "bring back the newest copy, or begin in another folder, with days that were never released"
)
PUBLIC = ("released", "certificates")
"""The files of a part that everybody may have."""


@dataclass(frozen=True, eq=False, repr=False)
class Job:
    """A job in its folder, as it was set when it began."""

    folder: Path
    settings: Mapping[str, Any]
    key: bytes

    def __repr__(self) -> str:
        return f"<Job: {self.parts} parts>"

    @classmethod
    def begin(
        cls, folder: Path, model: Model, settings: Mapping[str, Any], key: bytes | None
    ) -> "Job":
        """Begin a job in a folder, or go on with the one that is there, which must be the same."""
        private = folder / "private"
        if folder.exists() and not folder.is_dir():
            raise TrackError(f"{folder} is a file; the job needs a folder of its own")
        if not private.exists():
            if (folder / "released").exists():
                raise TrackError(
                    f"{private} is gone, and what it knew has been released; {_BRING_BACK}"
                )
            folder.mkdir(parents=True, exist_ok=True)
            with _appearing(private) as new:
                save_model(model, new / "model.npz")
                (new / "runs").mkdir()
                _write(new / "job.json", _as_bytes({"job": FORMAT, **settings}))
                _write(new / "key", secrets.token_bytes(KEY_BYTES) if key is None else key)
        job = cls.open(folder)
        job.refuse_older()
        job.remove_lost()
        if key is not None and key != job.key:
            raise TrackError(f"{folder} was begun with another key; leave the key out to go on")
        for name, now in settings.items():
            began = job.settings.get(name)
            if name != "parts" and began != now:
                raise TrackError(
                    f"{folder} was begun with another {name}: {_told(began)}, and not "
                    f"{_told(now)}; go on with what it began with, or use another folder for days "
                    f"that were never released"
                )
        return job

    @classmethod
    def open(cls, folder: Path) -> "Job":
        """Open the job in a folder."""
        private = folder / "private"
        settings = _read(private / "job.json")
        if settings.get("job") != FORMAT:
            raise TrackError(
                f"{folder} holds a job of format {shown(settings.get('job'))}, this version reads "
                f"format {FORMAT}; use the version of priste that wrote it"
            )
        key = content_of(private / "key", MIB, TrackError)
        if len(key) < KEY_BYTES:
            raise TrackError(f"the key of {folder} has {len(key)} bytes; {KEY_BYTES} are needed")
        return cls(folder, settings, key)

    def refuse_older(self) -> None:
        """Refuse a copy that does not know of something that has been released."""
        for path in (self.folder / "released").glob("part=*/run-*.parquet"):
            found = re.fullmatch(r"part=(\d+)/run-(\d+)\.parquet", "/".join(path.parts[-2:]))
            if found is None:
                continue  # not ours
            run = Run(self, int(found[2]))
            if not run.part(int(found[1])).exists():
                raise TrackError(
                    f"{self.folder / 'private'} is an old copy: it does not know of run "
                    f"{run.number}, which has been released; {_BRING_BACK}"
                )

    def remove_lost(self) -> None:
        """Remove attempts that were cut short, once nobody can be at them any more.

        Attempts of others may end meanwhile, and then they stand elsewhere.
        """
        for place in (self._runs, *self._runs.glob("[!.]*/parts")):
            for attempt in place.glob(".*"):
                with suppress(FileNotFoundError):
                    if time.time() - attempt.stat().st_mtime > _LOST:
                        shutil.rmtree(attempt, ignore_errors=True)

    @property
    def parts(self) -> int:
        """How many parts people are divided into."""
        return int(self.settings["parts"])

    @cached_property
    def model(self) -> Model:
        """The model of the population."""
        return load_model(self.folder / "private" / "model.npz")

    @cached_property
    def adversary(self) -> Adversary:
        """The observer that every ε holds against."""
        return Adversary(self.settings["adversary"], self.settings["rho"])

    @cached_property
    def mechanism(self) -> Mechanism:
        """The noise."""
        return Recipe.from_json(self.settings["mechanism"]).build(MECHANISMS, self.model.place.grid)

    @cached_property
    def calibration(self) -> Calibration | None:
        """How promises are kept; None is the default for each person's model."""
        recipe = self.settings["calibration"]
        grid = self.model.place.grid
        return None if recipe is None else Recipe.from_json(recipe).build(CALIBRATIONS, grid)

    def part_of(self, user: str) -> int:
        """Return the part that a person belongs to; it says nothing about who they are."""
        return int.from_bytes(derived(self.key, f"part of {user}")[:8]) % self.parts

    def draws(self, user: str, moment: datetime) -> KeyedRandomness:
        """Return where the draws of a person's stream come from, from a moment on."""
        label = f"draws from {moment.astimezone(UTC).isoformat()} under {self.settings['model']} of"
        return KeyedRandomness(self.key, f"{label} {user}")

    def runs(self) -> list["Run"]:
        """Return all runs, the first one first."""
        numbers = sorted(int(each.name) for each in self._runs.iterdir() if each.name.isdigit())
        return [Run(self, number) for number in numbers]

    @property
    def _runs(self) -> Path:
        return self.folder / "private" / "runs"

    @contextmanager
    def new_run(self, number: int) -> Iterator[Path]:
        """Give a folder to prepare a run in; it becomes that run, unless another was faster."""
        with _appearing(self._runs / f"{number:04d}") as new:
            (new / "parts").mkdir()
            yield new


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """One delivery of fixes to a job."""

    job: Job
    number: int

    def __repr__(self) -> str:
        return f"<Run {self.number} of {self.job!r}>"

    @property
    def folder(self) -> Path:
        """Where everything about it lies."""
        return self.job.folder / "private" / "runs" / f"{self.number:04d}"

    @cached_property
    def said(self) -> dict[str, Any]:
        """What was written down when it began."""
        said = _read(self.folder / "run.json")
        missing = {"inputs", "began", "events", "rows", "notes"} - said.keys()
        if missing:
            raise TrackError(
                f"run.json of run {self.number} says nothing about {listing(sorted(missing))}"
            )
        return said

    @property
    def rows(self) -> dict[int, int]:
        """The number of fixes of each part that has any."""
        return {int(part): rows for part, rows in self.said["rows"].items()}

    @property
    def is_finished(self) -> bool:
        """Whether all its parts are done and public."""
        return (self.folder / "finished").exists()

    def part(self, part: int) -> Path:
        """Return where a part stands when it is done."""
        return self.folder / "parts" / f"{part:04d}"

    def waiting(self) -> list[int]:
        """Return the parts that are not done yet, the largest first."""
        rows = self.rows
        there = (each.name for each in (self.folder / "parts").iterdir())
        done = {int(name) for name in there if name.isdigit()}
        return sorted(rows.keys() - done, key=lambda part: (-rows[part], part))

    @contextmanager
    def doing(self, part: int) -> Iterator[Path]:
        """Give a folder to write a part to; it becomes that part, unless another was faster."""
        with _appearing(self.part(part)) as new:
            yield new

    def publish(self, part: int) -> None:
        """Copy what is public of a part that is done to where everybody finds it."""
        for name in PUBLIC:
            source = self.part(part) / f"{name}.parquet"
            folder = self.job.folder / name / f"part={part:04d}"
            target = folder / f"run-{self.number:04d}.parquet"
            if source.exists() and not _is_copy(target, source):
                folder.mkdir(parents=True, exist_ok=True)
                with atomic_file(target) as partial:
                    shutil.copyfile(source, partial)
                    _flush_one(partial)

    def finish(self) -> None:
        """Note that all is done, and remove the fixes that were laid out for it."""
        for part in self.rows:
            self.publish(part)
        if not self.is_finished:
            (self.folder / "finished").touch(mode=0o600)
            for name in ("fixes", "history"):
                shutil.rmtree(self.folder / name, ignore_errors=True)

    def write(self, folder: Path, said: Mapping[str, Any]) -> None:
        """Write down what the run is about, in the folder that it is prepared in."""
        _write(folder / "run.json", _as_bytes(said))

    def streams_before(self, part: int) -> Path | None:
        """Return where the streams of a part stand that an earlier run left, if one did."""
        for number in range(self.number - 1, 0, -1):
            folder = Run(self.job, number).part(part)
            if folder.exists():
                path = folder / "streams.parquet"
                if not path.exists():
                    raise TrackError(f"{path} is gone; {_BRING_BACK}")
                return path
        return None


@contextmanager
def _appearing(path: Path) -> Iterator[Path]:
    """Give a private folder to fill; it stands at `path` afterwards, unless one does already.

    Its files are on the disk before it appears: what is made public then cannot be lost.
    """
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    new.mkdir(mode=0o700)
    try:
        yield new
        _flush(new)
        with suppress(FileExistsError):
            _move(new, path)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _move(new: Path, path: Path) -> None:
    """Move a folder to a place that is free, in one step."""
    try:
        new.rename(path)  # a folder that is not empty is never replaced
    except OSError as error:
        if not path.is_dir():
            raise
        raise FileExistsError(None, "it stands there already", path) from error
    _flush_one(path.parent)


def _flush(folder: Path) -> None:
    for each in folder.rglob("*"):
        each.chmod(0o700 if each.is_dir() else 0o600)
        _flush_one(each)
    _flush_one(folder)


def _flush_one(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _is_copy(path: Path, source: Path) -> bool:
    return path.exists() and path.stat().st_size == source.stat().st_size


def _write(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "wb") as target:
        target.write(content)


def _read(path: Path) -> dict[str, Any]:
    content = plain_json.read(path, 64 * MIB, TrackError, "what a job writes")
    if not isinstance(content, dict):
        raise TrackError(f"{path.name} is not what a job writes")
    return content


def _as_bytes(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False, indent=1).encode()


def _told(value: object) -> str:
    return str(Recipe.from_json(value)) if isinstance(value, dict) else shown(value)
