"""The whole reproduction, with the few settings of one experiment."""

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from reproduction.claims import CLAIMS
from reproduction.experiments import FAST, Experiment, Mode, Runs, experiments
from reproduction.geolife import PLACES
from reproduction.results_store import ResultsStore
from reproduction.settings import Setting

from priste import PristeError
from priste.progress import Progress
from reproduction import jobs, quadratic, run, runtime
from tests.reproduction.test_geolife import person

TINY = FAST._replace(over_time=Runs(2, 1, 1), steps=9, audited=1, ways=2, repeats=2)


@contextmanager
def quietly(_label: str) -> Iterator[Progress]:
    yield lambda _: None


def one_figure(mode: Mode, _people: int = 0) -> list[Experiment]:
    """The first figure with one curve."""
    early = next(e for e in experiments(mode) if e.name == "presence early")
    panel = early.panels[0]._replace(curves=early.panels[0].curves[1:2])
    return [Experiment("one curve", early.shows, "time", (panel,), mode.over_time)]


@pytest.mark.usefixtures("one_curve")
def test_a_reproduction_goes_on_where_it_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, results = run.reproduce(tmp_path, fast=True, workers=1, working=quietly)
    setting = next(iter(one_figure(TINY)[0].settings()))
    first = results.store.record(setting)
    assert len(first) == 2
    assert first.values("budgets").shape == (2, 9)
    assert first.audit is not None
    page = files[0].read_text()
    for claim in CLAIMS:
        assert claim.where.split(";")[0].replace("&", "&amp;") in page
    assert "Missing: Geolife: give --geolife" in page
    with (tmp_path / "data" / "verdicts.csv").open() as file:
        assert len(list(csv.reader(file))) == len(CLAIMS) + 1
    assert (tmp_path / "figures" / "one-curve.png").stat().st_size > 10_000

    monkeypatch.setattr(jobs, "run_streams", None)  # nothing must be run again
    _, again = run.reproduce(tmp_path, fast=True, workers=1, working=quietly)
    assert again.store.record(setting).runs == first.runs

    more = TINY._replace(over_time=Runs(3, 1, 1))
    assert [job.seeds for job in jobs.missing_runs(one_figure(more), again.store)] == [(2,)]
    del again.store.record(setting).runs[0]  # as where an interruption left a hole
    assert [job.seeds for job in jobs.missing_runs(one_figure(more), again.store)] == [(0, 2)]


def test_results_of_another_format_are_not_used(tmp_path: Path) -> None:
    store = ResultsStore(tmp_path, 9)
    store.save("small-maps", {"rows": []})
    path = store.folder / "small-maps.json"
    assert store.load("small-maps") is not None
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 0}))
    assert ResultsStore(tmp_path, 9).load("small-maps") is None


@pytest.mark.parametrize("damage", ["", "[]", '{"format"'])
def test_a_damaged_file_is_computed_again(tmp_path: Path, damage: str) -> None:
    store = ResultsStore(tmp_path, 9)
    store.save("small-maps", {"rows": []})
    (store.folder / "small-maps.json").write_text(damage)
    assert store.load("small-maps") is None


def test_nobody_s_real_moves_are_taken_for_another_s(tmp_path: Path) -> None:
    real = Setting(place="geolife")
    ResultsStore(tmp_path, 9, ["somebody"]).add_runs(real, [{"seed": 0}])
    assert len(ResultsStore(tmp_path, 9, ["somebody"]).record(real)) == 1
    both = ResultsStore(tmp_path, 9, ["another", "somebody"])
    assert len(both.record(real)) == 0
    assert len(both.record(real.but(person=1))) == 1


def test_a_map_that_a_person_cannot_fill_is_left_out_and_said_to_be(tmp_path: Path) -> None:
    why: dict[str, str] = {}
    missing = run._unusable([person(tmp_path, minutes=60)], FAST, why)
    assert missing == {"geolife slow"}  # 22 steps of 5 minutes are longer than the walk
    assert "no 22 steps of 5min in a row" in why["geolife slow"]
    choices = next(e for e in experiments(FAST) if e.name == "choices geolife")
    left = run._without(choices, missing).settings()
    assert {s.place for s in left} == set(PLACES) - missing


def test_a_folder_without_tracks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PristeError, match="holds no .plt files; give the folder of one person"):
        run.reproduce(tmp_path / "out", geolife=[tmp_path], fast=True, working=quietly)
    assert not (tmp_path / "out").exists()


def test_nobody_is_given_twice(tmp_path: Path) -> None:
    somebody = person(tmp_path / "here")
    with pytest.raises(PristeError, match="hold the same tracks; give each person once"):
        run.reproduce(tmp_path / "out", geolife=[somebody] * 2, fast=True, working=quietly)
    assert not (tmp_path / "out").exists()


def test_audits_of_less_effort_are_made_anew(tmp_path: Path) -> None:
    setting, store = Setting(), ResultsStore(tmp_path, 9)
    store.add_runs(setting, [{"seed": 0}])
    store.add_audit(setting, {"realised": 0.1, "ways": TINY.ways, "repeats": TINY.repeats})
    assert jobs.missing_audits([setting], store, TINY) == []
    closer = TINY._replace(ways=TINY.ways + 1)
    assert jobs.missing_audits([setting], store, closer) == [jobs.Job(setting, None)]


def test_without_the_solver_its_table_is_missing_and_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quadratic, "is_installed", lambda: False)
    monkeypatch.setattr(runtime, "measure", lambda *_: {"points": {}})
    store, why = ResultsStore(tmp_path, 9), dict[str, str]()
    run._measure_alone(store, TINY, quietly, why)
    assert "CPLEX is not installed" in why["thresholds"]
    small = store.load("small-maps")
    assert small is not None
    losses = {row["method"]: row["realised"] for row in small["rows"]}
    assert max(losses["retry"]) == pytest.approx(3.4031, abs=5e-5)
    assert max(losses["every output"]) <= 0.5 + 1e-9
    assert max(losses["remap"]) <= 0.5 + 1e-9
