import signal
import stat
from pathlib import Path

import pytest

from priste.storage.atomic_files import SIGNALS, AtomicFiles, atomic_file


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "a.txt") as partial:
        partial.write_text("whole")
        assert not (tmp_path / "a.txt").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "whole"


def test_a_failure_leaves_what_was_there_before(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")

    def fail() -> None:
        with atomic_file(tmp_path / "a.txt") as partial:
            partial.write_text("ha")
            raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        fail()
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "before"


def test_a_private_file_is_for_its_owner_alone_from_the_start(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "secret", private=True) as partial:
        assert stat.S_IMODE(partial.stat().st_mode) == 0o600
        partial.write_text("x")
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_all_files_appear_and_the_unwanted_go_or_nothing_changes(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "stale.txt"):
        (tmp_path / name).write_text("before")

    def write(*, fail: bool) -> None:
        with AtomicFiles() as files:
            files.make_folder(tmp_path / "new" / "inner", private=True)
            files.add(tmp_path / "new" / "inner" / "c.txt").write_text("after")
            for name in ("a.txt", "b.txt"):
                files.add(tmp_path / name).write_text("after")
            files.remove(tmp_path / "stale.txt")
            files.remove(tmp_path / "none.txt")
            if fail:
                raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        write(fail=True)
    assert contents(tmp_path) == dict.fromkeys(("a.txt", "b.txt", "stale.txt"), "before")
    assert not (tmp_path / "new").exists()
    write(fail=False)
    assert contents(tmp_path) == dict.fromkeys(("a.txt", "b.txt", "new/inner/c.txt"), "after")
    assert stat.S_IMODE((tmp_path / "new" / "inner").stat().st_mode) == 0o700


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("moved", range(4))
def test_a_signal_while_files_are_moved_waits_until_all_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, moved: int
) -> None:
    """Two files replace two others: four renames, with the signal at each of them."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("before")
    rename = Path.rename
    done: list[Path] = []

    def interrupted(path: Path, target: Path) -> Path:
        if len(done) == moved:
            signal.raise_signal(number)
        done.append(path)
        return rename(path, target)

    def stop(number: int, _: object) -> None:
        raise Stopped(number)

    class Stopped(BaseException):
        pass

    def write() -> None:
        with AtomicFiles() as files:
            for name in ("a.txt", "b.txt"):
                files.add(tmp_path / name).write_text("after")

    monkeypatch.setattr(Path, "rename", interrupted)
    usual = signal.signal(number, stop)
    try:
        with pytest.raises(Stopped):
            write()
        assert signal.getsignal(number) is stop
    finally:
        signal.signal(number, usual)
    assert len(done) == 4
    assert contents(tmp_path) == dict.fromkeys(("a.txt", "b.txt"), "after")


def contents(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}
