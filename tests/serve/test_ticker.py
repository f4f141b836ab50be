import asyncio
import os
import signal
import sqlite3
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from priste.serve import shard
from priste.serve import ticker as ticking
from priste.serve.seen import Seen
from priste.serve.ticker import LONGEST_GAP
from tests.serve.rig import HOUR, Rig, at, live, with_person, written


def test_what_cannot_be_committed_is_committed_later_and_not_drawn_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(rig: Rig) -> None:
        ticker, store = rig.gateway.ticker, rig.gateway.store
        assert ticker is not None
        commit, failures = store.tick, iter([True, True, False, False])

        def full(*arguments: Any) -> int:
            if next(failures):
                raise sqlite3.OperationalError("database or disk is full")
            return commit(*arguments)

        monkeypatch.setattr(store, "tick", full)
        await rig.hour()
        drawn = []
        for _ in range(2):
            with pytest.raises(sqlite3.OperationalError):
                await ticker.tick()
            assert ticker._waiting is not None
            drawn.append([(t.stream, t.step, t.release) for t in ticker._waiting.ticked])
            assert store.cells(1) == {}
        await rig.end_steps()
        assert drawn[0] is not drawn[1]
        assert drawn[0] == drawn[1]
        for stream, step, release in drawn[0]:
            assert release is not None
            assert store.cells(stream) == {step: release[0]}
        assert store.count_fixes("ada") == 0

    live(written(tmp_path), story)


def test_a_step_that_fails_stops_its_stream_and_no_other_and_is_not_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(rig: Rig) -> None:
        ticker, end_steps = rig.gateway.ticker, shard.Shard.end_steps
        assert ticker is not None
        drawn: list[str] = []

        def trouble(self: shard.Shard, person: str, fixes: Any) -> shard.Ended:
            ended = end_steps(self, person, fixes)
            drawn.append(person)
            if person == "ada":
                raise RuntimeError("perhaps because of what was drawn")
            return ended

        monkeypatch.setattr(shard.Shard, "end_steps", trouble)
        for _ in range(3):
            await rig.hour()
            await rig.end_steps()
        assert drawn.count("ada") == 1
        assert list(rig.gateway.store.cells(1)) == []
        assert list(rig.gateway.store.cells(2)) == [0, 1, 2]
        assert ticker.problem == "a step failed, and its stream stopped"

    live(written(tmp_path), story)


def test_a_worker_that_is_killed_at_midnight_is_replaced_and_the_day_is_certified(
    tmp_path: Path,
) -> None:
    async def story(rig: Rig) -> None:
        ask = rig.gateway.shards.ask

        async def killed(person: str, method: str, *arguments: Any) -> Any:
            if method == "close_day" and not deaths:
                deaths.append(person)
                raise BrokenProcessPool
            return await ask(person, method, *arguments)

        deaths: list[str] = []
        rig.gateway.shards.ask = killed  # type: ignore[method-assign]
        for _ in range(18):
            await rig.hour()
            await rig.end_steps()
        await rig.end_steps()
        assert deaths == ["ada"]
        for person in ("ada", "bob"):
            assert [row[1:] for row in rig.gateway.store.certificates(person)] == [(1, 0, 16)]
        assert list(rig.gateway.store.cells(1)) == list(range(18))

    live(written(tmp_path), story)


def test_days_are_certified_in_turn_after_midnight_and_nobody_waits_for_another_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ticking, "CERTIFYING", pd.Timedelta("4h"))
    done: list[tuple[str, str]] = []
    for method in ("end_steps", "close_day"):
        asked = getattr(shard.Shard, method)

        def noted(
            self: shard.Shard, person: str, *rest: Any, method: str = method, asked: Any = asked
        ) -> Any:
            done.append((method, person))
            return asked(self, person, *rest)

        monkeypatch.setattr(shard.Shard, method, noted)

    async def story(rig: Rig) -> None:
        for _ in range(42):
            await rig.hour()
            await rig.end_steps()
        store = rig.gateway.store
        assert store.certificates("ada") == [(1, 1, 0, 16), (1, 2, 16, 40)]
        assert store.certificates("bob") == [(2, 1, 0, 18), (2, 2, 18, 42)]

    live(written(tmp_path), story)
    first = done.index(("close_day", "ada"))
    assert done[first - 2 : first] == [("end_steps", "ada"), ("end_steps", "bob")]


def test_nothing_is_seen_and_nothing_goes_on_before_it_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(rig: Rig) -> None:
        ticker, write = rig.gateway.ticker, Seen.write
        assert ticker is not None
        failures = iter([True, True, False, False])

        def full(self: Seen, ticks: int) -> None:
            if next(failures):
                raise OSError("no space left on device")
            write(self, ticks)

        monkeypatch.setattr(Seen, "write", full)
        await rig.hour()
        with pytest.raises(OSError, match="no space"):
            await ticker.tick()
        assert list(rig.gateway.store.cells(1)) == [0]
        assert ticker.courses["ada"].seen == 0
        await rig.gateway.write_letters()
        assert rig.gateway.store.next_letter("ada", "home") is None
        await rig.hour()
        with pytest.raises(OSError, match="no space"):
            await ticker.tick()
        assert list(rig.gateway.store.cells(1)) == [0]
        await rig.end_steps()
        assert list(rig.gateway.store.cells(1)) == [0, 1]
        assert ticker.courses["ada"].seen == 2

    live(written(tmp_path), story)


def test_a_worker_that_is_killed_is_replaced_and_its_streams_go_on(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.hour()
        await rig.end_steps()
        (executor, _) = rig.gateway.shards._asking[0]
        before = rig.account("ada")
        for process in list(executor._processes):  # type: ignore[attr-defined]
            os.kill(process, signal.SIGKILL)
        await asyncio.sleep(0.2)
        await rig.hour()
        await rig.end_steps()
        await rig.end_steps()
        assert list(rig.gateway.store.cells(1)) == list(rig.gateway.store.cells(2)) == [0, 1]
        assert before.step == 1

    live(replace(written(tmp_path), workers=1), story)


def test_a_lag_waits_for_late_fixes_and_for_nothing_else(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        start = rig.watch.moment.ceil("1h")
        rig.watch.moment = start + HOUR
        await rig.end_steps()
        await rig.gateway.take("ada", [at(start, 12)])
        await rig.gateway.take("bob", [at(start, 12)])
        rig.watch.moment = start + HOUR + pd.Timedelta("29min")
        await rig.end_steps()
        assert rig.gateway.store.cells(1) == {}
        rig.watch.moment = start + HOUR + pd.Timedelta("30min")
        await rig.end_steps()
        assert list(rig.gateway.store.cells(1)) == [0]
        assert list(rig.gateway.store.cells(2)) == []  # bob has no lag: it came too late

    live(with_person(written(tmp_path), "ada", lag=pd.Timedelta("30min")), story)


@pytest.mark.parametrize("lag", ["1h", "2h", "26h"])
def test_a_long_lag_loses_nothing(tmp_path: Path, lag: str) -> None:
    async def story(rig: Rig) -> None:
        start = rig.watch.moment.ceil("1h")
        await rig.gateway.take("ada", [at(start, 12)])
        rig.watch.moment = start + HOUR + pd.Timedelta(lag) - pd.Timedelta("1s")
        await rig.end_steps()
        assert rig.gateway.store.cells(1) == {}
        rig.watch.moment += pd.Timedelta("2s")
        await rig.end_steps()
        assert list(rig.gateway.store.cells(1)) == [0]

    live(with_person(written(tmp_path), "ada", lag=pd.Timedelta(lag)), story)


def test_a_clock_far_ahead_stops_the_streams_until_somebody_looks(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        assert rig.gateway.ticker is not None
        await rig.hour()
        rig.watch.moment += LONGEST_GAP + 2 * HOUR
        await rig.end_steps()
        assert rig.gateway.store.cells(1) == {}
        assert rig.gateway.ticker.problem == "the clock is far ahead of a stream"
        rig.watch.moment -= LONGEST_GAP
        await rig.end_steps()
        assert rig.gateway.ticker.problem == ""
        assert rig.gateway.ticker.courses["ada"].step == 3

    live(written(tmp_path), story)


def test_steps_of_the_last_hour_are_made_up_for_and_older_ones_are_skipped(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        start = rig.watch.moment.ceil("1h")
        for hour in range(5):
            await rig.gateway.take("ada", [at(start + hour * HOUR, 12)])
        rig.watch.moment = start + 5 * HOUR + pd.Timedelta("10min")
        await rig.end_steps()
        assert list(rig.gateway.store.cells(1)) == [4]

    live(written(tmp_path), story)
