"""A day of a simulated phone through a gateway, in half a minute."""

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import numpy as np
import pandas as pd
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from priste import demo as city
from priste.serve.config import Config, read_config
from priste.serve.gateway import Gateway
from priste.serve.posting import Posting
from priste.serve.server import http_settings
from priste.tracks import check, clean, fit_model, load_certificate, save_model
from priste.tracks.accuracy import distances_to
from priste.tracks.model import Model

PACE = 1800.0
"""Seconds of the city's clock for each second."""

Say = Callable[[str], None]


def tell(say: Say, seed: int = 2019) -> None:
    """Run the demonstration, and say what happens."""
    table, _ = clean(city.city_days(seed))
    last = city.FIRST + pd.DateOffset(days=city.DAYS - 1)
    say("A simulated person, their phone, a gateway and a receiver, all on this machine.")
    say("Learning how the person moves, from the days before …")
    model = fit_model(
        table[table["time"] < last], step=city.STEP, place=city.CITY, time_zone=city.ZONE
    )
    today = table[table["time"] >= last]
    with TemporaryDirectory() as folder:
        asyncio.run(_Story(Path(folder), model, today, last, say).run())


class _Story:
    """One day, from six in the morning on."""

    def __init__(
        self, folder: Path, model: Model, today: pd.DataFrame, day: pd.Timestamp, say: Say
    ) -> None:
        self.folder, self.model, self.today, self.say = folder, model, today, say
        self.begins = day + pd.Timedelta(hours=6)
        self.ends = day + pd.Timedelta(days=1, minutes=10)
        self.started = time.monotonic()
        self.errors: list[float] = []

    def now(self) -> float:
        """Return the time on the city's clock."""
        return float(self.begins.timestamp()) + (time.monotonic() - self.started) * PACE

    async def until(self, moment: pd.Timestamp) -> None:
        """Wait for a moment on the city's clock."""
        await asyncio.sleep(max(0.0, (float(moment.timestamp()) - self.now()) / PACE))

    def config(self, port: int, receiver: int) -> Config:
        """Return what `priste serve` would be given in a file."""
        save_model(self.model, self.folder / "habits.npz")
        (self.folder / "secrets.toml").write_text(city.EVENTS, encoding="utf-8")
        (self.folder / "gateway.toml").write_text(
            f"""
[server]
port = {port}
workers = 0
[persons.sam]
model = "habits.npz"
events = "secrets.toml"
[persons.sam.receivers.friend]
kind = "webhook"
url = "http://127.0.0.1:{receiver}/"
""",
            encoding="utf-8",
        )
        return read_config(self.folder / "gateway.toml")

    async def run(self) -> None:
        """Let the day pass."""
        port, receiver = _free_ports()
        config = self.config(port, receiver)
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(httpx.AsyncClient(trust_env=False))
            posting = await stack.enter_async_context(Posting())
            gateway = Gateway(config, posting, now=self.now)
            stack.push_async_callback(gateway.close)
            await gateway.start()
            send, admin = (gateway.tokens.make("sam", role) for role in ("send", "admin"))
            await stack.enter_async_context(_served(http_settings(config, gateway)))
            await stack.enter_async_context(_served(self._friend(receiver)))
            working = asyncio.create_task(gateway.run())
            self.started = time.monotonic()
            self.say(
                f"Sam's phone sends to http://127.0.0.1:{port}/owntracks; a friend receives what "
                f"the gateway lets out.\nSecret: being at the clinic between 14 and 18 on a "
                f"weekday. Half hours pass in a second.\n"
            )
            await self._phone(client, port, send)
            await self.until(self.ends)
            await asyncio.sleep(1.0)
            await self._audit(client, port, admin)
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await working

    async def _phone(self, client: httpx.AsyncClient, port: int, token: str) -> None:
        for _, fix in self.today[self.today["time"] >= self.begins].iterrows():
            await self.until(fix["time"])
            message = {
                "_type": "location",
                "lat": fix["latitude"],
                "lon": fix["longitude"],
                "tst": int(fix["time"].timestamp()),
            }
            await client.post(
                f"http://127.0.0.1:{port}/owntracks", json=message, auth=("sam", token)
            )

    def _friend(self, port: int) -> uvicorn.Config:
        """Return a receiver that tells what it gets, and how far that is from the truth."""

        async def receive(request: Request) -> Response:
            got = json.loads(await request.body())
            moment = pd.Timestamp(got["time"])
            inside = self.today["time"].between(moment, moment + self.model.step, inclusive="left")
            true = self.today[inside].iloc[0]
            if got["away"]:
                told, error = "elsewhere", ""
            else:
                cell = self.model.place.cell_at([got["latitude"]], [got["longitude"]])
                where = np.array([[true["latitude"], true["longitude"]]])
                self.errors.append(float(distances_to(self.model.place, where, cell.tolist())[0]))
                told = f"{got['latitude']:.4f}, {got['longitude']:.4f}"
                error = f"   ({self.errors[-1]:.1f} km from the truth, which nobody is told)"
            local = moment.tz_convert(self.model.time_zone)
            self.say(f"  {local:%H:%M}  the friend sees {told}{error}")
            return Response("{}")

        app = Starlette(routes=[Route("/", receive, methods=["POST"])])
        return uvicorn.Config(
            app, host="127.0.0.1", port=port, log_config=None, access_log=False, lifespan="off"
        )

    async def _audit(self, client: httpx.AsyncClient, port: int, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        address = f"http://127.0.0.1:{port}/certificates"
        rows = (await client.get(address, headers=headers)).json()
        paths = []
        for row in rows:
            path = self.folder / f"{row['number']}.certificate.json"
            answer = await client.get(f"{address}/{row['stream']}/{row['number']}", headers=headers)
            path.write_bytes(answer.content)
            paths.append(path)
        self.say("\nMidnight: the gateway certified the day. Audited from the certificate alone:")
        verdicts = check([load_certificate(path) for path in paths], self.model)
        for verdict in verdicts.verdicts:
            if verdict.worst_step is not None:
                self.say(f"  {verdict}")
        if self.errors:
            self.say(f"The price: {np.mean(self.errors):.2f} km on average.")


@contextlib.asynccontextmanager
async def _served(config: uvicorn.Config) -> AsyncIterator[None]:
    """Serve HTTP as long as the block runs; signals are left alone."""
    server = uvicorn.Server(config)
    task = asyncio.create_task(server._serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        await task


def _free_ports() -> tuple[int, int]:
    """Return two ports that nobody listens on."""
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]
