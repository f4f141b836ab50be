"""A real Dask cluster, disturbed; and what is said when there is none."""

import socket
from pathlib import Path
from typing import Any

import pytest

from priste.errors import TrackError
from priste.tracks import protect_many
from priste.tracks.many import crew
from tests.tracks import city
from tests.tracks.many import town


def test_killed_workers_and_another_scheduler_change_nothing(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    from benchmarks.disturbed import Cluster, disturbed_run, released

    town.desk(tmp_path)
    (tmp_path / "fixes.parquet").rename(tmp_path / "people.parquet")
    settings: dict[str, Any] = {"key": town.KEY, "parts": 5}
    quiet = tmp_path / "people.parquet", city.model(), tmp_path / "events.toml", tmp_path / "quiet"
    protect_many(*quiet, **settings, workers=1)
    with Cluster(tmp_path) as cluster:
        killed = disturbed_run(tmp_path, city.model(), cluster, 2, every=2.0, **settings)
    assert killed >= 1
    assert released(tmp_path / "disturbed") == released(tmp_path / "quiet")


def test_a_cluster_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(crew, "_PATIENCE", 0.05)
    monkeypatch.setattr(crew, "ATTEMPTS", 2)
    town.desk(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(TrackError, match=f"scheduler at {address} cannot be reached"):
            protect_many(
                tmp_path / "fixes.parquet",
                city.model(),
                tmp_path / "events.toml",
                tmp_path / "out",
                cluster=address,
            )


def test_a_part_that_always_fails_ends_the_run() -> None:
    attempts = crew.Attempts()
    for _ in range(crew.ATTEMPTS - 1):
        attempts.failed(7, MemoryError("cell 12"))
    with pytest.raises(TrackError, match="part 7 failed 10 times, the last time with MemoryError"):
        attempts.failed(7, MemoryError("cell 12"))


def test_a_cluster_and_processes_are_not_asked_for_together(tmp_path: Path) -> None:
    town.desk(tmp_path)
    with pytest.raises(TrackError, match="give one or the other"):
        protect_many(
            tmp_path / "fixes.parquet",
            city.model(),
            tmp_path / "events.toml",
            tmp_path / "out",
            cluster="tcp://127.0.0.1:1",
            workers=2,
        )
