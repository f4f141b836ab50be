"""A person's stream on disk."""

import json
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from priste import EmissionMatrix
from priste.errors import StreamFileError
from priste.storage.archive import checksum
from priste.storage.atomic_files import AtomicFiles
from priste.tracks import TrackStream, load_stream, protect_track, save_stream
from priste.tracks.certificate_file import to_json
from priste.tracks.stream_file import (
    from_bytes,
    note_beside,
    open_stream,
    to_bytes,
    write_stream,
)
from tests.tracks import city, streams


def after(day: int) -> TrackStream:
    found = streams.days(day)[-1].continued
    assert found is not None
    return found


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_stream(after(1), tmp_path / "me.stream")
    return tmp_path / "me.stream"


def test_a_stream_goes_on_from_its_file_to_the_bit(saved: Path) -> None:
    resumed = protect_track(city.days(11, 12), city.model(), streams.events(), stream=saved)
    expected = streams.days()[1]
    one, other = (to_json(each.certificate) for each in (resumed, expected))
    for each in (one, other):
        del each["created"], each["meaning"]
    assert one == other
    assert resumed.continued is not None
    assert resumed.continued.account() == after(2).account()
    assert not (saved.parent / "c.json").exists()


def test_what_is_read_is_what_was_written(saved: Path) -> None:
    found, expected = load_stream(saved), after(1)
    for name in ("adversary", "clock", "asked", "laid_until", "number", "digest", "draws"):
        assert getattr(found, name) == getattr(expected, name)
    assert found.model.fingerprint == city.model().fingerprint
    assert found.account() == expected.account()
    assert len(found.models) == 1


def test_only_the_owner_can_read_it(saved: Path) -> None:
    for path in (saved, note_beside(saved)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_old_copy_is_refused(saved: Path) -> None:
    """To go on from it would release steps again."""
    old = saved.read_bytes()
    save_stream(after(2), saved)
    assert load_stream(saved).step == 48
    saved.write_bytes(old)
    with pytest.raises(StreamFileError, match="an old copy: it ends with step 23, and step 47"):
        load_stream(saved)
    note_beside(saved).unlink()  # moved to another machine, where nothing is known
    assert load_stream(saved).step == 24


def test_a_copy_that_went_another_way_is_refused(saved: Path) -> None:
    other = saved.with_name("other.stream")
    save_stream(replace(after(1), digest="0" * 64), other)
    saved.write_bytes(other.read_bytes())
    with pytest.raises(StreamFileError, match="is not the stream whose step 23 was released last"):
        load_stream(saved)


def test_a_stream_that_is_lost_is_not_begun_anew(saved: Path) -> None:
    assert open_stream(saved.with_name("new.stream")) is None
    saved.unlink()
    with pytest.raises(StreamFileError, match="me.stream is gone, and its step 23 has been"):
        open_stream(saved)


def test_of_two_that_go_on_at_once_the_second_is_refused(saved: Path) -> None:
    save_stream(after(2), saved)
    before = saved.read_bytes()
    for other in (replace(after(2), digest="0" * 64), after(1)):
        with pytest.raises(StreamFileError, match="has gone on to step 47 in the meantime"):
            save_stream(other, saved)
    assert saved.read_bytes() == before
    save_stream(after(2), saved)  # the same again does no harm


def test_a_note_that_cannot_be_read_is_not_passed_over(saved: Path) -> None:
    for text in ("{", "{}", '{"last_step": -1.5, "checksum": "x"}'):
        note_beside(saved).write_text(text)
        with pytest.raises(StreamFileError, match="which step was released last"):
            load_stream(saved)


def test_both_files_appear_together_or_none(tmp_path: Path) -> None:
    def failing() -> None:
        with AtomicFiles() as files:
            write_stream(after(1), tmp_path / "me.stream", files)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()
    assert not list(tmp_path.iterdir())


Content = dict[str, Any]


def rewritten(path: Path, spoil: Callable[[Content], object]) -> None:
    """Change the arrays of a file; its checksum is right again afterwards."""
    with np.load(path) as archive:
        content = {name: archive[name] for name in archive.files if name != "checksum"}
    spoil(content)
    digest = np.frombuffer(checksum(content), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, checksum=digest, **content)
    note_beside(path).unlink(missing_ok=True)


def said(**fields: object) -> Callable[[Content], None]:
    def spoil(content: Content) -> None:
        description = json.loads(content["description"].tobytes()) | fields
        text = json.dumps(description).encode()
        content["description"] = np.frombuffer(text, dtype=np.uint8)

    return spoil


def shrunk(name: str) -> Callable[[Content], None]:
    def spoil(content: Content) -> None:
        content[name] = content[name][:-1].copy()

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (said(format=2), "has format 2, this version reads format 1"),
        (said(models=0), "has 1 to 8 models"),
        (said(models=2), "is not the file of a stream"),
        (said(adversary="weak"), "must be one of known, near, any"),
        (said(adversary="known"), "another prior"),
        (said(rho=0.2), "another prior"),
        (said(mechanism={"name": "print"}), "print is not one of"),
        (said(calibration={"name": "Retry"}), "Retry is not one of"),
        (said(start="never"), "does not hold a stream"),
        (said(start="2024-05-16T00:00"), "needs a time zone"),
        (said(asked={}), "when each of its events was asked for"),
        (said(asked=[]), "does not hold a stream"),
        (said(laid_until="x"), "how far it has come"),
        (said(certificates=0), "its last certificate is named by"),
        (said(last_certificate=None), "its last certificate is named by"),
        (said(last_certificate="../../c.json"), "its last certificate is named by"),
        (shrunk("prior belief"), "does not hold a stream"),
        (shrunk("state whereabouts 0"), "does not hold the state of a stream"),
        (shrunk("model 0 initial"), "does not hold a stream|is not the file of a stream"),
        (lambda c: c.pop("prior belief"), "no belief about the start"),
        (lambda c: c.pop("model 0 meta"), "is not the file of a stream"),
        (lambda c: c.pop("state meta"), "does not hold the state of a stream"),
        (lambda c: c.pop("description"), "no checksum or no description"),
        (lambda c: c.update({"model 0 more": np.zeros(3)}), "unexpected arrays"),
        (lambda c: c.update({"model 0 cell_of_state": np.zeros((5, 5))}), "not possible|missing"),
    ],
)
def test_a_file_that_does_not_hold_together_is_refused(
    saved: Path, spoil: Callable[[Content], object], message: str
) -> None:
    rewritten(saved, spoil)
    with pytest.raises(StreamFileError, match=message):
        load_stream(saved)


def _flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "spoil", [_flipped, lambda c: c[:-40], lambda _: b"", lambda _: b"PK no", lambda _: b"\x80\x04"]
)
def test_a_damaged_or_foreign_file_is_refused(saved: Path, spoil: Callable[[bytes], bytes]) -> None:
    saved.write_bytes(spoil(saved.read_bytes()))
    with pytest.raises(StreamFileError, match="me.stream"):
        load_stream(saved)


def test_a_change_without_its_checksum_is_noticed(saved: Path) -> None:
    with np.load(saved) as archive:
        content = {name: archive[name] for name in archive.files}
    content["state whereabouts 0"] = np.roll(content["state whereabouts 0"], 1)
    with saved.open("wb") as file:
        np.savez(file, **content)
    with pytest.raises(StreamFileError, match="its checksum differs"):
        load_stream(saved)


def test_what_could_not_be_rebuilt_is_not_saved(tmp_path: Path) -> None:
    state = replace(after(1).state, mechanism=EmissionMatrix(np.eye(25)))
    with pytest.raises(StreamFileError, match="EmissionMatrix was given an array"):
        save_stream(replace(after(1), state=state), tmp_path / "me.stream")
    assert not list(tmp_path.iterdir())


def test_a_stream_may_leave_out_models_that_are_kept_elsewhere(saved: Path) -> None:
    stream = load_stream(saved)
    whole, lean = to_bytes(stream), to_bytes(stream, without=[stream.model])
    assert len(lean) < len(whole)
    again = from_bytes(lean, "the stream", models=[city.habits(), stream.model])
    assert to_bytes(again) == whole
    with pytest.raises(StreamFileError, match="its model .* is kept elsewhere; bring it along"):
        from_bytes(lean, "the stream")
    with pytest.raises(StreamFileError, match="its model .* is kept elsewhere"):
        from_bytes(lean, "the stream", models=[city.habits()])
