"""One part of a run: the fixes of some people in, their releases out."""

import hashlib
import json
import threading
import time
import traceback
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from priste import worst_case
from priste.errors import PristeError, TrackError
from priste.storage.limits import refusing
from priste.stream.parts import default_calibration
from priste.tracks.certificate_file import to_text
from priste.tracks.cleaning import clean
from priste.tracks.many.folder import Job, Run
from priste.tracks.many.intake import laid_out
from priste.tracks.many.told import Told
from priste.tracks.model import Model, fit_model
from priste.tracks.protect import ProtectedTrack, protect_track
from priste.tracks.stream_file import from_bytes, to_bytes
from priste.tracks.track_stream import TrackStream
from priste.tracks.windows import day_start

EVERYONE = "everyone.toml"
"""The events of all who have no file of their own in a folder of events."""

_alone = threading.Lock()  # a process does one part at a time, however many threads it is lent


def protect_part(folder: str, number: int, part: int) -> None:
    """Protect the people of a part in a run, unless that is done; then make it public."""
    run = Run(_job(Path(folder)), number)
    with _alone, _one_core():
        if not run.part(part).exists():
            try:
                with run.doing(part) as new:
                    _Part(run, part).write(new)
            except (OSError, TrackError):  # the fixes go when all is done
                if not run.part(part).exists():
                    raise
        run.publish(part)


def _job(folder: Path) -> Job:
    """Return a job, opened once by each process, unless another has taken its place."""
    folder = folder.resolve()
    files = [(folder / "private" / name).read_bytes() for name in ("key", "job.json")]
    return _opened(folder, hashlib.sha256(b"".join(files)).digest())


@lru_cache(maxsize=1)
def _opened(folder: Path, _mark: bytes) -> Job:
    return Job.open(folder)


@contextmanager
def _one_core() -> Iterator[None]:
    """Compute on one core: the others have people of their own."""
    usual, worst_case.CORES = worst_case.CORES, 1
    try:
        with threadpool_limits(1):
            yield
    finally:
        worst_case.CORES = usual


class _Part:
    """The people of a part: what they had, and what becomes of it."""

    def __init__(self, run: Run, part: int) -> None:
        self.run, self.job, self.number = run, run.job, part
        self.told = Told()
        self.streams = self._streams_before()
        self.tables: dict[str, list[pd.DataFrame]] = {"released": [], "diary": []}
        self.certificates: dict[str, tuple[str, str]] = {}

    def _streams_before(self) -> dict[str, bytes]:
        path = self.run.streams_before(self.number)
        if path is None:
            return {}
        with refusing(f"{path} cannot be read", TrackError):
            columns = pq.read_table(path).to_pydict()
        return dict(zip(columns["user"], columns["stream"], strict=True))

    def write(self, folder: Path) -> None:
        """Protect everybody, and write all that came of it to a folder."""
        began = time.monotonic()
        fixes = laid_out(self.run.folder / "fixes", self.number)
        if len(fixes) != self.run.rows[self.number]:
            raise TrackError(f"fixes of part {self.number} are gone; use another folder")
        history = laid_out(self.run.folder / "history", self.number)
        earlier = dict(list(history.groupby("user")))
        for user, table in fixes.groupby("user", sort=True):
            self._take(str(user), table, earlier.get(user))
        for name, tables in self.tables.items():
            if tables:
                frame = pd.concat(tables, ignore_index=True)
                frame.to_parquet(folder / f"{name}.parquet", index=False)
        _save(folder / "streams.parquet", user=self.streams, stream=self.streams.values())
        for name, which in (("certificates", 0), ("full_certificates", 1)):
            texts = [texts[which] for texts in self.certificates.values()]
            _save(folder / f"{name}.parquet", user=self.certificates, certificate=texts)
        self.told.seconds = time.monotonic() - began
        self.told.save(folder / "told.json")

    def _take(self, user: str, table: pd.DataFrame, history: pd.DataFrame | None) -> None:
        """Protect one person's fixes, or note why that cannot be."""
        self.told.people += 1
        try:
            result = self._protected(user, table, history)
        except PristeError as error:
            self.told.refuse(user, str(error))
        except (MemoryError, OSError):  # not the person's fault: the part is tried again
            raise
        except Exception as error:  # ours: the others must not wait for it
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).stem}, line {last.lineno}"  # values may be secret
            self.told.refuse(user, f"internal error: {type(error).__name__} in {where}")
        else:
            if result is not None:
                self._keep(user, result)

    def _protected(
        self, user: str, table: pd.DataFrame, history: pd.DataFrame | None
    ) -> ProtectedTrack | None:
        job = self.job
        kept, account = clean(table)
        self.told += Told(account=account)
        before = self.streams.get(user)
        stream = None
        if before is not None:
            stream = from_bytes(before, "the stream", models=[job.model])
            ahead = kept[kept["time"] >= stream.end]
            self.told.again += len(kept) - len(ahead)
            if ahead.empty and len(kept):
                self.told.unchanged += 1
                return None
            kept = ahead
        if kept.empty:
            raise TrackError("no fix can be used")
        if stream is None:
            stream = self._begun(kept, history)
        return protect_track(
            kept,
            stream.model,
            self._events(user),
            adversary=job.adversary.kind,
            rho=job.adversary.rho,
            mechanism=job.mechanism,
            stream=stream,
            progress=lambda _: None,
            model_has_seen_these_days=job.settings["model_has_seen_these_days"],
            draws=job.draws(user, stream.end),
            created=self.run.said["began"],
        )

    def _begun(self, table: pd.DataFrame, history: pd.DataFrame | None) -> TrackStream:
        """Return a stream that begins with these days, with a model of their own if possible."""
        job = self.job
        model = personal_model(job.model, history, job.settings["personal_days"])
        calibration = job.calibration
        if calibration is None:
            calibration = default_calibration(job.mechanism, len(model.mobilities))
        start = day_start(table["time"].min(), model.time_zone)
        return TrackStream.begin(start, model, job.adversary, job.mechanism, calibration)

    def _events(self, user: str) -> Path:
        events = self.run.folder / "events"
        named = self.run.said["events"]
        if named is not None:
            return events / str(named)
        files = {unicodedata.normalize("NFC", each.name): each for each in events.iterdir()}
        chosen = files.get(f"{user}.toml", files.get(EVERYONE))
        if chosen is None:
            raise TrackError("the folder of events has no file for this person, and none for all")
        return chosen

    def _keep(self, user: str, result: ProtectedTrack) -> None:
        told, model = self.told, self.job.model
        if result.continued is not None:
            self.streams[user] = to_bytes(result.continued, without=[model])
        full = result.certificate
        hide = self.job.settings["hide_events"]
        public = full.without_events(result.asked) if hide else full
        self.certificates[user] = to_text(public), to_text(full)
        self.tables["released"].append(result.released.drop(columns="track").assign(user=user))
        losses = [json.dumps(release.private.losses) for release in result.releases]
        self.tables["diary"].append(result.entries.assign(user=user, losses=losses))
        told.released += 1
        told.personal += result.stream.model.fingerprint != model.fingerprint
        told.releases += len(result.releases)
        local = result.released["time"].dt.tz_convert(model.time_zone)
        told.days += int(local.dt.date.nunique())
        told.remarks += sum(bool(r.private.remark) for r in result.releases)
        here = model.place.covers(result.entries["true_latitude"], result.entries["true_longitude"])
        told.off_map += int((~here).sum())
        told.shown_away += int(np.isnan(result.errors[here]).sum())
        told.errors.add(result.errors[here & np.isfinite(result.errors)])
        pairs = zip(full.protections, full.largest, strict=True)
        shares = [max(loss, 0.0) / protection.epsilon for protection, loss in pairs]
        told.shares.add(np.array(shares))


def personal_model(population: Model, history: pd.DataFrame | None, days: int) -> Model:
    """Return a model of a person's own, if their history has enough days on the map, or else all's.

    Moves that they were never seen to make lead where they lead other people.
    """
    if history is None:
        return population
    kept, _ = clean(history)
    if kept["time"].dt.tz_convert(population.time_zone).dt.date.nunique() < days:
        return population
    try:
        return fit_model(
            kept,
            step=population.step,
            place=population.place,
            time_zone=population.time_zone,
            habits=len(population.mobilities),
            others=population,
        )
    except TrackError:  # no two fixes in a row on the map: nothing to learn
        return population


def _save(path: Path, **columns: object) -> None:
    """Write a table of few columns."""
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), path)  # type: ignore[call-overload]
