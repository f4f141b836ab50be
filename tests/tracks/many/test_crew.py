"""A real Dask cluster, disturbed; and what is said when there is none."""

from pathlib import Path

import pytest

from priste.errors import TrackError
from priste.tracks import protect_many, save_model
from priste.tracks.many import crew
from tests.tracks import city
from tests.tracks.many import town


def test_killed_workers_and_another_scheduler_change_nothing(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    from benchmarks.disturbed import Cluster, disturbed_run, released

    town.desk(tmp_path)
    (tmp_path / "fixes.parquet").rename(tmp_path / "people.parquet")
    save_model(city.model(), tmp_path / "model.npz")
    (tmp_path / "key").write_bytes(town.KEY)
    given = tmp_path / "people.parquet", city.model(), tmp_path / "events.toml"
    protect_many(*given, tmp_path / "quiet", key=town.KEY, parts=5, workers=1)
    with Cluster(tmp_path) as cluster:
        killed = disturbed_run(tmp_path, cluster, kills=2, every=2.0, parts=5)
    assert killed >= 1
    assert released(tmp_path / "disturbed") == released(tmp_path / "quiet")


def test_a_cluster_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")

    def refused(*_: object, **__: object) -> None:
        raise OSError("connection refused")

    monkeypatch.setattr(distributed, "Client", refused)
    monkeypatch.setattr(crew, "_PATIENCE", 0.01)
    town.desk(tmp_path)
    given = tmp_path / "fixes.parquet", city.model(), tmp_path / "events.toml", tmp_path / "out"
    with pytest.raises(TrackError, match="scheduler at tcp://nowhere:1 cannot be reached"):
        protect_many(*given, cluster="tcp://nowhere:1")


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
