"""A person's stream in one file, to go on with on another day, to the bit.

The file holds the public state, the models, and how everything was set; nothing in it is executed
and nothing in it says where the person was. The models know habits, so only the owner can read it.

Beside it lies a note of the last step that was released. An older copy of the file would release
steps again, and is refused.
"""

import io
import json
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from priste.checks import Array, is_whole, shown
from priste.errors import StreamFileError
from priste.priors import AnyPrior, KnownPrior, NearPrior, Prior
from priste.storage import plain_json
from priste.storage.archive import Archive, Claim, checksum, verified, write_archive
from priste.storage.atomic_files import AtomicFiles
from priste.storage.limits import (
    MAX_STREAM_ARRAYS,
    MAX_STREAM_BYTES,
    MIB,
    at_most,
    content_of,
    refusing,
)
from priste.stream.parts import Parts
from priste.stream.state_file import arrays_of, state_of
from priste.tracks import model as models_as
from priste.tracks.adversary import Adversary
from priste.tracks.certificate import CALIBRATIONS, MECHANISMS
from priste.tracks.link import is_sha256
from priste.tracks.model import Model
from priste.tracks.model_file import check_claims, description_of, model_of
from priste.tracks.recipe import Recipe
from priste.tracks.steps import Clock
from priste.tracks.track_stream import TrackStream

FORMAT = 1
MAX_MODELS = 8
"""How many models a stream may be followed with at a time."""

_ELSEWHERE = "fingerprint"  # all that the file holds of a model that is kept elsewhere

Arrays = Mapping[str, NDArray[Any]]


def save_stream(stream: TrackStream, path: str | Path) -> None:
    """Write a stream and the note of its last step: both files or none."""
    with AtomicFiles() as files:
        write_stream(stream, Path(path), files)


def note_beside(path: Path) -> Path:
    """Return where the last step that was released is noted."""
    return path.with_name(f"{path.name}.seen")


def write_stream(stream: TrackStream, path: Path, files: AtomicFiles) -> None:
    """Write a stream and its note, to appear together with the other files."""
    content = _arrays(stream)
    digest, step = checksum(content), stream.state.step
    seen = _last_seen(path)
    if seen is not None and step <= seen[0] and digest.hex() != seen[1]:
        raise StreamFileError(
            f"{path.name} has gone on to step {seen[0]} in the meantime; nothing is written, for "
            f"these steps are released already"
        )
    with files.add(path, private=True).open("wb") as file:
        write_archive(file, content)
    note = {"stream": FORMAT, "last_step": step, "checksum": digest.hex()}
    files.add(note_beside(path), private=True).write_text(json.dumps(note), encoding="utf-8")


def to_bytes(stream: TrackStream, *, without: Iterable[Model] = ()) -> bytes:
    """Return the content of a stream's file; it only names models that are kept elsewhere."""
    file = io.BytesIO()
    write_archive(file, _arrays(stream, {model.fingerprint for model in without}))
    return file.getvalue()


def _arrays(stream: TrackStream, elsewhere: Container[str] = ()) -> dict[str, NDArray[Any]]:
    """Return what a stream's file holds, with the fingerprints of models that are `elsewhere`."""
    grid = stream.model.place.grid
    mechanism, calibration = (
        Recipe.of(each, grid) for each in (stream.state.mechanism, stream.calibration)
    )
    for recipe in (mechanism, calibration):
        if recipe.obstacle:
            raise StreamFileError(
                f"the stream cannot be saved, for nobody could go on with it: {recipe.obstacle}"
            )
    description = {
        "format": FORMAT,
        "models": len(stream.models),
        "adversary": stream.adversary.kind,
        "rho": stream.adversary.rho,
        "mechanism": mechanism.to_json(),
        "calibration": calibration.to_json(),
        "start": stream.clock.start.isoformat(),
        "asked": dict(stream.asked),
        "laid_until": stream.laid_until,
        "certificates": stream.number,
        "last_certificate": stream.digest,
    }
    state = stream.state
    content: dict[str, NDArray[Any]] = {
        "description": np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    }
    if isinstance(state.prior, KnownPrior | NearPrior):
        content["prior belief"] = state.prior.belief
    for m, model in enumerate(stream.models):
        if model.fingerprint in elsewhere:
            named = np.frombuffer(bytes.fromhex(model.fingerprint), dtype=np.uint8)
            content[f"model {m} {_ELSEWHERE}"] = named
            continue
        content |= {f"model {m} {name}": part for name, part in models_as.arrays_of(model).items()}
    parts = Parts(state.mobilities, state.mechanism, state.prior, stream.calibration)
    notes = {"draws": stream.draws}
    content |= {f"state {name}": part for name, part in arrays_of(state, parts, notes).items()}
    return content


def open_stream(path: str | Path) -> TrackStream | None:
    """Read a stream back if it is there; refuse to begin one in the place of one that is lost."""
    path = Path(path)
    if path.exists():
        return load_stream(path)
    seen = _last_seen(path)
    if seen is not None:
        raise StreamFileError(
            f"{path.name} is gone, and its step {seen[0]} has been released; bring it back, or "
            f"begin another stream in another place, for days that were never released"
        )
    return None


def load_stream(path: str | Path) -> TrackStream:
    """Read a stream back; refuse one that is damaged, or older than what was released."""
    path = Path(path)
    with refusing(f"{path.name} is not the file of a stream", StreamFileError):
        content = content_of(path, MAX_STREAM_BYTES, StreamFileError)
    stream, digest = _read(content, path.name)
    _refuse_old(path, stream.state.step, digest)
    return stream


def from_bytes(content: bytes, name: str, *, models: Iterable[Model] = ()) -> TrackStream:
    """Return the stream whose file has this content; errors call it `name`.

    The `models` are those that the file may only name.
    """
    return _read(content, name, models)[0]


def _read(content: bytes, name: str, known: Iterable[Model] = ()) -> tuple[TrackStream, str]:
    """Return a stream and the checksum of its file."""
    with refusing(f"{name} is not the file of a stream", StreamFileError):
        archive = Archive(content, most_bytes=MAX_STREAM_BYTES, most_arrays=MAX_STREAM_ARRAYS)
        archive.needs("description")
        size = archive.claims["description"].shape[0]
        at_most(size, MIB, "the size of its description", "it is not ours", StreamFileError)
        said = plain_json.parsed(archive["description"].tobytes(), StreamFileError)
        if not isinstance(said, dict) or said.get("format") != FORMAT:
            found = shown(said.get("format")) if isinstance(said, dict) else "none"
            raise StreamFileError(
                f"it has format {found}, this version reads format {FORMAT}; use the version of "
                f"priste that wrote it"
            )
        metas = _checked_models(archive, said["models"], known)
        arrays = archive.content()
        digest = arrays["checksum"].tobytes()
    arrays = verified(arrays, name, StreamFileError)
    with refusing(f"{name} does not hold a stream", StreamFileError):
        models = tuple(
            meta if isinstance(meta, Model) else model_of(_under(arrays, f"model {m} "), meta)
            for m, meta in enumerate(metas)
        )
        stream = _stream(arrays, said, models, name)
    return stream, digest.hex()


def _under(things: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return what has names with a prefix, without it."""
    return {k.removeprefix(prefix): thing for k, thing in things.items() if k.startswith(prefix)}


def _checked_models(
    archive: Archive, count: object, known: Iterable[Model]
) -> list[dict[str, Any] | Model]:
    """Return the descriptions of the models, whose arrays can be what they claim.

    A model that the file only names is returned itself.
    """
    if not is_whole(count) or not 1 <= count <= MAX_MODELS:
        raise StreamFileError(f"a stream has 1 to {MAX_MODELS} models, this one {shown(count)}")
    elsewhere = {model.fingerprint: model for model in known}
    metas: list[dict[str, Any] | Model] = []
    for m in range(count):
        claims: dict[str, Claim] = _under(archive.claims, f"model {m} ")
        if _ELSEWHERE in claims:
            at_most(
                claims[_ELSEWHERE].shape[0], MIB, "a fingerprint", "it is not ours", StreamFileError
            )
            named = archive[f"model {m} {_ELSEWHERE}"].tobytes().hex()
            if named not in elsewhere:
                raise StreamFileError(f"its model {named[:12]}… is kept elsewhere; bring it along")
            metas.append(elsewhere[named])
            continue
        at_most(claims["meta"].shape[0], MIB, "its description", "it is not ours", StreamFileError)
        description = description_of(archive[f"model {m} meta"].tobytes())
        check_claims(claims, description["matrices"])
        metas.append(description)
    return metas


def _stream(
    content: Arrays, said: Mapping[str, Any], models: tuple[Model, ...], name: str
) -> TrackStream:
    model = models[-1]
    grid = model.place.grid
    clock = Clock(pd.Timestamp(said["start"]), model.step)
    adversary = Adversary(said["adversary"], said["rho"])
    mechanism = Recipe.from_json(said["mechanism"]).build(MECHANISMS, grid)
    calibration = Recipe.from_json(said["calibration"]).build(CALIBRATIONS, grid)
    prior = _prior(adversary, content.get("prior belief"))
    *before, mobilities = (each.mobilities_from(clock.start) for each in models)
    earlier = [mobility for each in before for mobility in each]
    parts = Parts(mobilities, mechanism, prior, calibration)
    state, notes = state_of(_under(content, "state "), parts, earlier, name)
    _check_numbers(said, {watched.name for watched in state.watched})
    return TrackStream(
        models,
        adversary,
        clock,
        calibration,
        state,
        said["asked"],
        said["laid_until"],
        said["certificates"],
        said["last_certificate"],
        notes["draws"],
    )


def _prior(adversary: Adversary, belief: Array | None) -> Prior:
    if adversary.kind == "any":
        return AnyPrior()
    if belief is None:
        raise StreamFileError("it has no belief about the start")
    if adversary.kind == "known":
        return KnownPrior(belief)
    return NearPrior(belief, adversary.rho)


def _check_numbers(said: Mapping[str, Any], watched: set[str]) -> None:
    asked, last = said["asked"], said["last_certificate"]
    if set(asked) != watched or not all(map(is_whole, asked.values())):
        raise StreamFileError("it does not say when each of its events was asked for")
    if not is_whole(said["laid_until"]) or not is_whole(said["certificates"]):
        raise StreamFileError("it does not say how far it has come")
    if (said["certificates"] > 0) != is_sha256(last):
        raise StreamFileError(f"its last certificate is named by {shown(last)}")


def _refuse_old(path: Path, step: int, digest: str) -> None:
    """Refuse a copy from before the last release, or one that went another way."""
    seen = _last_seen(path)
    if seen is None:  # moved from elsewhere
        return
    last, newest = seen
    if step < last:
        raise StreamFileError(
            f"{path.name} is an old copy: it ends with step {step}, and step {last} has been "
            f"released; to go on would release steps again. Bring back the newest copy, or begin "
            f"another stream"
        )
    if step == last and digest != newest:
        raise StreamFileError(
            f"{path.name} is not the stream whose step {last} was released last; bring back the "
            f"newest copy"
        )


def _last_seen(path: Path) -> tuple[int, str] | None:
    """Return the last step that was released, and the checksum of the stream then."""
    note = note_beside(path)
    if not note.exists():
        return None
    with refusing(
        f"{note.name} cannot be read; it says which step was released last, so that no older copy "
        f"is taken for the newest: bring it back, or remove it if you are sure",
        StreamFileError,
    ):
        seen = plain_json.parsed(content_of(note, MIB, StreamFileError), StreamFileError)
        last, digest = seen["last_step"], seen["checksum"]
        if not is_whole(last) or not is_sha256(digest):
            raise StreamFileError("it names no step")
    return int(last), digest
