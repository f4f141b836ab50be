import os
from pathlib import Path

from priste.tracks.many.folder import Job
from tests.tracks.many import town


def attempt(path: Path, *, hours: float) -> Path:
    (path / "parts").mkdir(parents=True)
    os.utime(path, times=(path.stat().st_mtime - 3600 * hours,) * 2)
    return path


def test_attempts_that_were_cut_short_are_removed_after_a_day(tmp_path: Path) -> None:
    runs = tmp_path / "private" / "runs"
    done = attempt(runs / "0001", hours=100)
    old = attempt(runs / ".0002.a", hours=25), attempt(done / "parts" / ".0003.b", hours=25)
    young = attempt(runs / ".0002.c", hours=23), attempt(done / "parts" / ".0003.d", hours=23)
    Job(tmp_path, {}, town.KEY).remove_lost()
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in (done, *young))


def test_an_attempt_of_another_may_end_while_old_ones_are_removed(tmp_path: Path) -> None:
    runs = tmp_path / "private" / "runs"
    building = attempt(runs / ".0001.a", hours=1)
    inside = attempt(building / "parts" / ".0000.b", hours=25)
    (runs / ".0001.gone").symlink_to("0001")  # listed, and no longer there when looked at
    Job(tmp_path, {}, town.KEY).remove_lost()
    assert inside.exists()  # nobody looks into an attempt: it may move any moment
