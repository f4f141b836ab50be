import asyncio
import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from priste.errors import GatewayError
from priste.serve.gateway import Gateway
from priste.serve.seen import Seen
from priste.tracks import check, load_certificate
from tests.serve.rig import BEGIN, HOUR, Rig, Watch, at, live, written
from tests.tracks import city
from tests.tracks.streams import EVENTS


async def hours(rig: Rig, count: int, *, silent: tuple[int, ...] = ()) -> None:
    """Live through some hours, with a fix in each but the silent ones."""
    for hour in range(count):
        now = rig.watch.moment.ceil("1h")
        if hour not in silent:
            for person, cell in (("ada", 12), ("bob", 3)):
                await rig.gateway.take(person, [at(now + pd.Timedelta("10min"), cell)])
        rig.watch.moment = now + HOUR
        await rig.end_steps()


def test_a_fix_becomes_one_release_that_every_receiver_gets(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await hours(rig, 3)

    got = live(written(tmp_path), story).got
    owntracks = [json.loads(body) for body in got["http://127.0.0.1:1/home"]]
    webhook = [json.loads(body) for body in got["http://127.0.0.1:1/log"]]
    assert [m["step"] for m in webhook] == [0, 1, 2]
    assert [m["tst"] for m in owntracks] == [
        int((BEGIN.ceil("1h") + step * HOUR).timestamp()) for step in range(3)
    ]
    for one, other in zip(owntracks, webhook, strict=True):
        assert (one["lat"], one["lon"]) == (other["latitude"], other["longitude"])
        assert set(one) == {"_type", "lat", "lon", "tst", "acc", "tid", "topic"}


def test_silence_is_a_step_without_a_release_and_may_be_sent_again(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await hours(rig, 4, silent=(2,))
        assert list(rig.gateway.store.cells(1)) == list(rig.gateway.store.cells(2)) == [0, 1, 3]

    got = live(written(tmp_path), story).got
    assert len(got["http://127.0.0.1:1/home"]) == 3
    bob = [json.loads(b)["locations"][0] for b in got["http://127.0.0.1:1/bob"]]
    assert len(bob) == 4
    assert bob[2]["geometry"] == bob[1]["geometry"]
    assert bob[2]["properties"]["timestamp"] != bob[1]["properties"]["timestamp"]


def test_fixes_are_gone_after_their_step_unless_kept_and_then_sealed(tmp_path: Path) -> None:
    config = written(tmp_path)

    async def story(rig: Rig) -> None:
        await hours(rig, 2)
        assert rig.gateway.store.count_fixes("ada") == rig.gateway.store.count_fixes("bob") == 0
        assert rig.gateway.store.kept_fixes("ada") == []
        assert rig.gateway._sealer is not None
        kept = [
            rig.gateway._sealer.open(sealed) for _, sealed in rig.gateway.store.kept_fixes("bob")
        ]
        start = BEGIN.ceil("1h") + pd.Timedelta("10min")
        assert kept == [at(start, 3), at(start + HOUR, 3)]
        rig.gateway.reading.database.tidy()

    live(config, story)
    true = np.float64(at(BEGIN, 3).latitude).tobytes()
    for file in tmp_path.glob("gateway.db*"):
        content = file.read_bytes()
        assert true not in content
        assert true[::-1] not in content


def test_a_late_fix_is_taken_and_never_released(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await hours(rig, 2, silent=(0,))
        await rig.gateway.take("ada", [at(BEGIN.ceil("1h") + pd.Timedelta("20min"), 7)])
        await hours(rig, 1, silent=(0,))
        assert list(rig.gateway.store.cells(1)) == [1]
        assert rig.gateway.store.count_fixes("ada") == 0

    live(written(tmp_path), story)


def test_the_first_fix_of_a_step_counts_by_its_own_time(tmp_path: Path) -> None:
    config = written(tmp_path)

    async def story(rig: Rig) -> None:
        start = BEGIN.ceil("1h")
        for minute, cell in ((30, 20), (10, 7), (10, 8), (50, 21)):
            await rig.gateway.take("ada", [at(start + pd.Timedelta(minutes=minute), cell)])
        found = rig.gateway.store.first_fix(
            "ada", int(start.timestamp() * 1e6), int((start + HOUR).timestamp() * 1e6)
        )
        assert found == at(start + pd.Timedelta("10min"), 7)

    live(config, story)


def test_a_stream_goes_on_where_it_was_after_the_gateway_was_down(tmp_path: Path) -> None:
    config, watch = written(tmp_path), Watch()

    async def first(rig: Rig) -> None:
        await hours(rig, 5)
        accounts.append(rig.account("ada"))

    async def second(rig: Rig) -> None:
        accounts.append(rig.account("ada"))
        rig.watch.forward(5 * HOUR)
        await hours(rig, 2)
        assert list(rig.gateway.store.cells(1)) == [0, 1, 2, 3, 4, 10, 11]

    accounts: list[object] = []
    live(config, first, watch=watch)
    live(config, second, watch=watch)
    assert str(accounts[0]) == str(accounts[1])


def test_the_certificates_of_days_are_a_chain_that_audits(tmp_path: Path) -> None:
    config = written(tmp_path)

    async def story(rig: Rig) -> None:
        await hours(rig, 60)
        rows = rig.gateway.store.certificates("ada")
        assert [row[1:] for row in rows] == [(1, 0, 16), (2, 16, 40)]
        for _, number, *_ in rows:
            content = rig.gateway.store.certificate("ada", 1, number)
            assert content is not None
            (tmp_path / f"{number}.json").write_bytes(content)
        assert rig.gateway.store.certificate("bob", 1, 1) is None

    live(config, story)
    certificates = [load_certificate(tmp_path / f"{n}.json") for n in (1, 2)]
    verdicts = check(certificates, city.model())
    assert verdicts.kept
    assert {v.name for v in verdicts.verdicts} >= {"treatment 2024-06-03", "treatment 2024-06-04"}


def test_two_gateways_on_one_database_are_refused(tmp_path: Path) -> None:
    config = written(tmp_path)

    async def story(rig: Rig) -> None:
        with pytest.raises(GatewayError, match="another gateway holds gateway.db"):
            Gateway(config, rig.receivers)

    live(config, story)


def test_an_old_copy_of_the_database_is_refused_until_its_owner_begins_anew(tmp_path: Path) -> None:
    config, watch = written(tmp_path), Watch()

    async def live_on(rig: Rig) -> None:
        await hours(rig, 2)

    live(config, live_on, watch=watch)
    backup = (tmp_path / "gateway.db").read_bytes()
    live(config, live_on, watch=watch)
    for file in tmp_path.glob("gateway.db-*"):
        file.unlink()
    (tmp_path / "gateway.db").write_bytes(backup)
    with pytest.raises(GatewayError, match="old copy: steps have ended 4 times, and it knows of 2"):
        live(config, live_on, watch=watch)

    async def anew(rig: Rig) -> None:
        await hours(rig, 1)
        assert list(rig.gateway.store.cells(3)) == [0]

    live(config, anew, watch=watch, begin_anew=True)


def test_a_clock_set_back_draws_nothing_twice(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await hours(rig, 3)
        before = rig.gateway.store.cells(1)
        rig.watch.forward(-2 * HOUR)
        await hours(rig, 2)
        assert rig.gateway.store.cells(1) == before
        await hours(rig, 1)
        assert list(rig.gateway.store.cells(1)) == [0, 1, 2, 3]

    live(written(tmp_path), story)


def test_an_events_file_that_changes_a_promise_is_told_of_at_once_and_every_day(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = written(tmp_path)
    watch = Watch()

    async def before(rig: Rig) -> None:
        await hours(rig, 1)
        assert rig.gateway.ticker is not None
        assert rig.gateway.ticker.problem == ""

    async def after(rig: Rig) -> None:
        ticker = rig.gateway.ticker
        assert ticker is not None
        assert ticker.problem == "an events file cannot be used; the log says why"
        assert "the events file of ada cannot be used on the stream that runs" in caplog.text
        assert {entry.epsilon for entry in rig.account("ada")} == {0.8}
        caplog.clear()
        await hours(rig, 24)
        assert "the events file of ada cannot be used on the stream that runs" in caplog.text
        (tmp_path / "events.toml").write_text(EVENTS)
        await hours(rig, 24)
        assert ticker.problem == ""

    live(config, before, watch=watch)
    (tmp_path / "events.toml").write_text(EVENTS.replace("0.8", "0.5"))
    live(config, after, watch=watch)


def test_the_clock_of_a_step_is_that_of_the_wall_when_summer_ends(tmp_path: Path) -> None:
    watch = Watch(pd.Timestamp("2024-10-26 20:30", tz="UTC"))  # 22:30 in the city

    async def story(rig: Rig) -> None:
        for _ in range(30):
            rig.watch.moment = rig.watch.moment.ceil("1h") + HOUR
            await rig.end_steps()
        rows = rig.gateway.store.certificates("ada")
        assert [row[2:] for row in rows] == [(0, 1), (1, 26)]  # the day has 25 hours

    live(written(tmp_path), story, watch=watch)


def test_a_crash_before_the_note_is_survived_and_no_older_copy_passes_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, watch = written(tmp_path), Watch()

    async def begin(rig: Rig) -> None:
        """Only begin."""

    async def crash(rig: Rig) -> None:
        monkeypatch.setattr(Seen, "write", lambda *_: None)
        await hours(rig, 1)
        monkeypatch.undo()

    live(config, begin, watch=watch)
    backup = (tmp_path / "gateway.db").read_bytes()
    live(config, crash, watch=watch)
    live(config, begin, watch=watch)  # what was committed may be seen from now on
    for file in tmp_path.glob("gateway.db-*"):
        file.unlink()
    (tmp_path / "gateway.db").write_bytes(backup)
    with pytest.raises(GatewayError, match="old copy: steps have ended 1 times, and it knows of 0"):
        live(config, begin, watch=watch)


def test_after_beginning_anew_no_copy_from_before_passes(tmp_path: Path) -> None:
    config, watch = written(tmp_path), Watch()

    async def live_on(rig: Rig) -> None:
        await hours(rig, 2)

    live(config, live_on, watch=watch)
    backup = (tmp_path / "gateway.db").read_bytes()
    live(config, live_on, watch=watch, begin_anew=True)
    for file in tmp_path.glob("gateway.db-*"):
        file.unlink()
    (tmp_path / "gateway.db").write_bytes(backup)
    with pytest.raises(GatewayError, match="not the database that was used here last"):
        live(config, live_on, watch=watch)


def test_a_database_is_held_by_whatever_way_it_is_reached(tmp_path: Path) -> None:
    config = written(tmp_path)
    (tmp_path / "other.db").symlink_to(tmp_path / "gateway.db")

    async def story(rig: Rig) -> None:
        with pytest.raises(GatewayError, match="another gateway holds gateway.db"):
            Gateway(replace(config, database=str(tmp_path / "other.db")), rig.receivers)

    live(config, story)


def test_fixes_are_not_taken_while_the_clock_is_far_behind(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await hours(rig, 1)
        rig.watch.moment = pd.Timestamp("1970-01-01", tz="UTC")
        with pytest.raises(GatewayError, match="the clock is behind the stream"):
            await rig.gateway.take("ada", [at(BEGIN + 3 * HOUR, 12)])

    live(written(tmp_path), story)


def test_a_change_that_nobody_waits_for_any_more_does_not_stop_the_writer(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        writer, gate = rig.gateway.writer, threading.Event()
        first = asyncio.ensure_future(writer.run(lambda: gate.wait(5)))
        waiting = [asyncio.ensure_future(writer.run(lambda: 1)) for _ in range(3)]
        await asyncio.sleep(0.05)
        for task in waiting[:2]:
            task.cancel()
        gate.set()
        assert await waiting[2] == 1
        assert await first
        assert await writer.run(lambda: 2) == 2

    live(written(tmp_path), story)
