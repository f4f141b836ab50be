import threading
import time

import pytest

from priste.errors import StudioError
from priste.studio.runs import MAX_KEPT, Run, Runs


def ended(run: Run) -> Run:
    end = time.monotonic() + 10
    while run.state == "running":
        assert time.monotonic() < end, "the run does not end"
        time.sleep(0.005)
    return run


def test_a_run_tells_how_far_it_is_and_what_it_found() -> None:
    def work(run: Run) -> None:
        report = run.begin("counting")
        report(0.5)
        run.tell({"early": 1})
        run.tell({"late": 2})

    run = ended(Runs().start("watch", work))
    assert run.status() == {
        "run": "1",
        "state": "done",
        "phase": "counting",
        "progress": 0.5,
        "revision": 2,
        "problem": "",
    }
    assert run.result == b'{"late":2}'


def test_a_stopped_run_ends_at_its_next_word_and_tells_nothing_more() -> None:
    said, go_on = threading.Event(), threading.Event()

    def work(run: Run) -> None:
        report = run.begin("waiting")
        said.set()
        go_on.wait(10)
        report(0.9)
        run.tell({"never": True})

    runs = Runs()
    run = runs.start("protect", work)
    said.wait(10)
    run.stop()
    go_on.set()
    assert ended(run).state == "stopped"
    assert run.revision == 0


def test_a_new_run_of_a_kind_stops_the_one_before_and_does_not_wait_for_it() -> None:
    hold = threading.Event()

    def slow(run: Run) -> None:
        run.begin("slow")
        hold.wait(10)
        run.at(1.0)

    runs = Runs()
    first, other = runs.start("protect", slow), runs.start("watch", slow)
    second = ended(runs.start("protect", lambda run: run.tell({"quick": 1})))
    assert (second.state, first.state, other.state) == ("done", "running", "running")
    hold.set()
    assert ended(first).state == "stopped"
    assert ended(other).state == "done"


def test_what_is_wrong_is_told_in_words_and_a_surprise_without_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refused(_: Run) -> None:
        raise StudioError("paint some hours")

    def broken(_: Run) -> None:
        raise KeyError("52.5200, 13.4060")

    runs = Runs()
    assert ended(runs.start("watch", refused)).problem == "paint some hours"
    assert ended(runs.start("watch", broken)).problem == "something went wrong (KeyError)"
    assert "52.52" not in caplog.text


def test_only_the_newest_runs_are_remembered() -> None:
    runs = Runs()
    for _ in range(MAX_KEPT + 3):
        ended(runs.start("watch", lambda run: run.tell({})))
    assert runs.get("3") is None
    assert runs.get("4") is not None


def test_a_run_that_is_done_lets_go_of_what_it_replaces() -> None:
    def work(run: Run) -> None:
        run.files["model.npz"] = lambda: b"large"
        run.tell({"found": 1})

    runs = Runs()
    first, other = ended(runs.start("watch", work)), ended(runs.start("protect", work))
    second = ended(runs.start("watch", work))
    end = time.monotonic() + 5
    while first.files and time.monotonic() < end:
        time.sleep(0.005)
    assert (first.files, first.result) == ({}, b"null")
    assert set(other.files) == set(second.files) == {"model.npz"}
    runs.clear()
    assert (other.files, second.files, runs.get("2")) == ({}, {}, None)
