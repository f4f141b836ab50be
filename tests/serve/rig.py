"""A gateway on a watch that tests set, with receivers that write down what they get."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from priste.serve.config import Config, Receiver, read_config
from priste.serve.gateway import Gateway
from priste.serve.outbox import Send, SendError
from priste.serve.payloads import Fix
from priste.stream import Account
from priste.tracks import save_model
from tests.tracks import city
from tests.tracks.streams import EVENTS

BEGIN = pd.Timestamp("2024-06-03 07:30", tz=city.ZONE)
HOUR = pd.Timedelta("1h")

CONFIG = """
[server]
workers = 0
key_file = "gateway.key"
[persons.ada]
model = "model.npz"
events = "events.toml"
[persons.ada.receivers.home]
kind = "owntracks"
url = "http://127.0.0.1:1/home"
[persons.ada.receivers.log]
kind = "webhook"
url = "http://127.0.0.1:1/log"
[persons.bob]
model = "model.npz"
events = "events.toml"
silence = "repeat"
keep_fixes = true
[persons.bob.receivers.home]
kind = "overland"
url = "http://127.0.0.1:1/bob"
"""


class Watch:
    """The time, as a test sets it."""

    def __init__(self, moment: pd.Timestamp = BEGIN) -> None:
        self.moment = moment

    def __call__(self) -> float:
        return float(self.moment.timestamp())

    def forward(self, length: pd.Timedelta = HOUR) -> None:
        self.moment += length


class Receivers:
    """Writes down what each receiver gets; some fail."""

    def __init__(self) -> None:
        self.got: dict[str, list[bytes]] = {}
        self.problem: Callable[[Receiver], SendError | None] = lambda _: None

    async def __call__(self, receiver: Receiver, body: bytes) -> None:
        error = self.problem(receiver)
        if error is not None:
            raise error
        self.got.setdefault(receiver.url, []).append(body)


def written(folder: Path, text: str = CONFIG) -> Config:
    """A configuration with what it names beside it."""
    if not (folder / "model.npz").exists():
        save_model(city.model(), folder / "model.npz")
        (folder / "events.toml").write_text(EVENTS)
    (folder / "gateway.toml").write_text(text)
    return read_config(folder / "gateway.toml")


def at(moment: pd.Timestamp, cell: int) -> Fix:
    """A fix in a cell of the city."""
    latitude, longitude = city.PLACE.centres([cell])
    time = int(moment.timestamp() * 1_000_000)
    return Fix(time, float(latitude[0]), float(longitude[0]))


class Rig(NamedTuple):
    """A gateway that is started, its watch and its receivers."""

    gateway: Gateway
    watch: Watch
    receivers: Receivers

    def account(self, person: str) -> Account:
        """The account of a person after the last step."""
        assert self.gateway.ticker is not None
        account = self.gateway.ticker.courses[person].account
        assert account is not None
        return account

    async def hour(self) -> None:
        """Let an hour pass, with a fix of everybody at its beginning; its step has not ended."""
        now = self.watch.moment.ceil("1h")
        for person in self.gateway.config.persons:
            await self.gateway.take(person, [at(now, 12)])
        self.watch.moment = now + HOUR

    async def end_steps(self) -> None:
        """End what is due by the watch, and send all that can be sent."""
        gateway = self.gateway
        assert gateway.ticker is not None
        await gateway.ticker.tick()
        await gateway.write_letters()
        for box in gateway.outbox._boxes:
            await gateway.outbox._send_all(box)


async def lived(
    config: Config,
    story: Callable[[Rig], Awaitable[None]],
    *,
    watch: Watch | None = None,
    receivers: Receivers | None = None,
    send: Send | None = None,
    begin_anew: bool = False,
) -> Receivers:
    """Tell a story with a gateway that is started and closed around it."""
    watch = Watch() if watch is None else watch
    receivers = Receivers() if receivers is None else receivers
    gateway = Gateway(config, send or receivers, now=watch, begin_anew=begin_anew)
    try:
        await gateway.start()
        await story(Rig(gateway, watch, receivers))
    finally:
        await gateway.close()
    return receivers


def live(config: Config, story: Callable[[Rig], Awaitable[None]], **options: Any) -> Receivers:
    """Tell it in a loop of its own."""
    return asyncio.run(lived(config, story, **options))


def with_person(config: Config, name: str, **changes: object) -> Config:
    """A configuration in which something about a person is different."""
    person = replace(config.persons[name], **changes)  # type: ignore[arg-type]
    return replace(config, persons={**config.persons, name: person})
