import stat
from pathlib import Path

import pytest

from priste.tracks.outputs import aside


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    with aside(tmp_path / "a.txt") as partial:
        partial.write_text("whole")
        assert not (tmp_path / "a.txt").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "whole"


def test_a_failure_leaves_what_was_there_before(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")

    def fail() -> None:
        with aside(tmp_path / "a.txt") as partial:
            partial.write_text("ha")
            raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        fail()
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "before"


def test_a_private_file_is_for_its_owner_alone_from_the_start(tmp_path: Path) -> None:
    with aside(tmp_path / "secret", private=True) as partial:
        assert stat.S_IMODE(partial.stat().st_mode) == 0o600
        partial.write_text("x")
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
