import json
from pathlib import Path

import pandas as pd

from priste.serve.config import Receiver
from priste.serve.outbox import LONGEST_PAUSE, SendError, pause_after
from tests.serve.rig import HOUR, Rig, at, live, written


async def release(rig: Rig, count: int = 1) -> None:
    for _ in range(count):
        now = rig.watch.moment.ceil("1h")
        await rig.gateway.take("ada", [at(now, 12)])
        rig.watch.moment = now + HOUR
        await rig.end_steps()


def test_a_receiver_that_fails_gets_everything_later_in_order_and_in_the_same_bytes(
    tmp_path: Path,
) -> None:
    async def story(rig: Rig) -> None:
        tried: list[bytes] = []

        def down(receiver: Receiver) -> SendError | None:
            return SendError("it answered 500") if receiver.name == "home" else None

        rig.receivers.problem = down
        await release(rig, 3)
        assert "http://127.0.0.1:1/home" not in rig.receivers.got
        assert len(rig.receivers.got["http://127.0.0.1:1/log"]) == 3
        waiting = rig.gateway.store.next_letter("ada", "home")
        assert waiting is not None
        tried.append(waiting[0].body)
        rig.receivers.problem = lambda _: None
        rig.watch.forward(pd.Timedelta(seconds=LONGEST_PAUSE))
        await rig.end_steps()
        got = rig.receivers.got["http://127.0.0.1:1/home"]
        assert got[0] == tried[0]
        assert [json.loads(b)["tst"] for b in got] == sorted(json.loads(b)["tst"] for b in got)
        assert len(got) == 3

    live(written(tmp_path), story)


def test_what_is_hopeless_is_given_up_listed_and_sent_again_on_request(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        rig.receivers.problem = lambda r: (
            SendError("it answered 410", is_final=True) if r.name == "home" else None
        )
        await release(rig, 2)
        store = rig.gateway.store
        assert store.dead_letters("ada") == [
            (1, step, "home", 1, "it answered 410") for step in (0, 1)
        ]
        assert store.dead_letters("bob") == []
        rig.receivers.problem = lambda _: None
        assert await rig.gateway.revive("ada") == 2
        await rig.end_steps()
        assert len(rig.receivers.got["http://127.0.0.1:1/home"]) == 2
        assert store.dead_letters("ada") == []

    live(written(tmp_path), story)


def test_a_receiver_that_is_gone_for_a_day_is_given_up(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        rig.receivers.problem = lambda r: SendError("ConnectError") if r.name == "home" else None
        await release(rig)
        tries = 0
        while not rig.gateway.store.dead_letters("ada"):
            rig.watch.forward(pd.Timedelta(seconds=LONGEST_PAUSE))
            tries += 1
            await rig.gateway.outbox._send_all(rig.gateway.outbox._boxes[0])
        assert 24 * 6 <= tries <= 24 * 6 + 12

    live(written(tmp_path), story)


def test_pauses_grow_to_ten_minutes() -> None:
    assert [pause_after(n) for n in (0, 1, 2, 9)] == [1, 2, 4, 512]
    assert pause_after(10) == pause_after(10_000) == LONGEST_PAUSE
