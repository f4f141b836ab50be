"""Disks that are really full, or really cannot be written: small ones, mounted for the test."""

import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from priste.errors import GatewayError
from priste.serve.live import LiveStream
from tests.serve.rig import Rig, at, live, written


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False).returncode:
        pytest.skip("a disk cannot be mounted here: that takes Linux and root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[int, int], list[int]]:
    """What was drawn for each stream and step, each time."""
    found: dict[tuple[int, int], list[int]] = {}
    tick = LiveStream.tick

    def noted(self: LiveStream, fix: Any) -> Any:
        step, released = self.step, tick(self, fix)
        assert released is not None
        found.setdefault((self.id, step), []).append(released[0])
        return released

    monkeypatch.setattr(LiveStream, "tick", noted)
    return found


def fill(disk: Path) -> Path:
    """Leave no room on a disk."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filler


def test_a_full_disk_stops_everything_and_once_there_is_room_nothing_is_drawn_anew(
    disk: Path, drawn: dict[tuple[int, int], list[int]]
) -> None:
    async def story(rig: Rig) -> None:
        await rig.hour()
        await rig.end_steps()
        await rig.hour()
        filler = fill(disk)
        with pytest.raises(sqlite3.OperationalError):
            await rig.gateway.take("ada", [at(rig.watch.moment, n) for n in range(25)])
        for _ in range(3):
            with pytest.raises((sqlite3.OperationalError, OSError)):
                await rig.end_steps()
        assert drawn.keys() == {(1, 0), (2, 0), (1, 1), (2, 1)}
        assert len(rig.receivers.got["http://127.0.0.1:1/log"]) == 1
        filler.unlink()
        await rig.end_steps()
        for (stream, step), cells in drawn.items():
            assert cells == [rig.gateway.store.cells(stream)[step]]
        assert len(rig.receivers.got["http://127.0.0.1:1/log"]) == 2

    live(written(disk), story)


def test_on_a_read_only_disk_a_gateway_does_not_start_and_says_why(disk: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.hour()
        await rig.end_steps()

    config = written(disk)
    live(config, story)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(GatewayError, match=r"gateway\.db"):
        live(config, story)
