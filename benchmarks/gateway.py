"""How many people one gateway serves: real HTTP, real processes, steps of a minute.

    python -m benchmarks.gateway 50 200        # so many people, one run each
    python -m benchmarks.gateway 200 minutes=5

Every person has a map of 400 cells, a phone that reports three times a step, and a daily secret of
four hours, which begin three minutes after the start. All are on this machine: phones and receiver
take their share of the two cores.
"""

import asyncio
import gc
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from priste import Grid, Mobility
from priste.serve.database import connect
from priste.serve.schema import migrate
from priste.serve.tokens import Tokens
from priste.tracks import LocalMap, Model, save_model

STEP = 60
WAITING, LASTING = pd.Timedelta("3min"), pd.Timedelta("4h")
PLACE = LocalMap(Grid(20, 20, 0.5), latitude=52.52, longitude=13.40)
EVENTS = """
time_zone = "UTC"
regions.clinic.circle = {{ latitude = 52.53, longitude = 13.42, radius_km = 0.6 }}
windows.hours = {{ from = "{}", to = "{}" }}
[events.treatment]
kind = "presence"
region = "clinic"
window = "hours"
epsilon = 1.0
"""


class Run:
    """One gateway with so many people."""

    def __init__(self, people: int, minutes: int, workers: int) -> None:
        self.people, self.minutes, self.workers = people, minutes, workers
        self.delays: list[float] = []
        self.latencies: list[float] = []
        self.failures = 0

    async def measure(self) -> dict[str, float]:
        """Serve, send and receive, and return what was measured."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            port, receiver = free_port(), free_port()
            tokens = self.prepare(folder, port, receiver)
            listening = uvicorn.Server(self._receiver(receiver))
            task = asyncio.create_task(listening._serve())
            start = time.monotonic()
            with subprocess.Popen(
                [sys.executable, "-m", "priste", "serve"],
                cwd=folder,
                stderr=(folder / "log").open("w"),
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            ) as server:
                try:
                    await until_open(port, server)
                    gc.freeze()  # phones and receiver must not be slower than the gateway
                    ready = time.monotonic() - start
                    await self._phones(port, tokens)
                    memory = memory_of(server.pid)
                finally:
                    server.terminate()
            listening.should_exit = True
            await task
        return {
            "people": self.people,
            "seconds to start": ready,
            "releases": len(self.delays),
            "expected": self.people * (self.minutes - 1),
            "delay p50 s": float(np.quantile(self.delays, 0.5)),
            "delay p99 s": float(np.quantile(self.delays, 0.99)),
            "delay max s": max(self.delays),
            "intake p50 ms": 1000 * float(np.quantile(self.latencies, 0.5)),
            "intake p99 ms": 1000 * float(np.quantile(self.latencies, 0.99)),
            "not taken": self.failures,
            "memory MB": memory,
        }

    def prepare(self, folder: Path, port: int, receiver: int) -> list[str]:
        """Write what a gateway needs, and return a token for each phone."""
        mobility = Mobility.gaussian(PLACE.grid, sigma=1.0)
        model = Model(PLACE, pd.Timedelta(seconds=STEP), (mobility,), "UTC", {"days": []})
        save_model(model, folder / "model.npz")
        first = pd.Timestamp.now("UTC") + WAITING
        hours = (f"{moment:%H:%M}" for moment in (first, first + LASTING))
        (folder / "events.toml").write_text(EVENTS.format(*hours))
        config = [f"[server]\nport = {port}\nworkers = {self.workers}\n"]
        for number in range(self.people):
            config.append(
                f'[persons.p{number}]\nmodel = "model.npz"\nevents = "events.toml"\n'
                f'adversary = "known"\n'
                f'[persons.p{number}.receivers.r]\nkind = "webhook"\n'
                f'url = "http://127.0.0.1:{receiver}/{number}"\n'
            )
        (folder / "gateway.toml").write_text("".join(config))
        database = connect(str(folder / "gateway.db"))
        migrate(database, "benchmark")
        with database.transaction():
            tokens = [Tokens(database).make(f"p{n}", "send") for n in range(self.people)]
        database.close()
        return tokens

    def _receiver(self, port: int) -> uvicorn.Config:
        async def receive(request: Request) -> Response:
            got = json.loads(await request.body())
            due = pd.Timestamp(got["time"]).timestamp() + STEP
            self.delays.append(time.time() - due)
            return Response("{}")

        app = Starlette(routes=[Route("/{number}", receive, methods=["POST"])])
        return uvicorn.Config(app, port=port, log_config=None, access_log=False, lifespan="off")

    async def _phones(self, port: int, tokens: list[str]) -> None:
        end = time.monotonic() + 60 * self.minutes
        limits = httpx.Limits(max_connections=50)
        async with (
            httpx.AsyncClient(limits=limits, timeout=30, trust_env=False) as client,
            asyncio.TaskGroup() as tasks,
        ):
            for token in tokens:
                tasks.create_task(self._phone(client, port, token, end))

    async def _phone(self, client: httpx.AsyncClient, port: int, token: str, end: float) -> None:
        latitude, longitude = 52.52, 13.40
        await asyncio.sleep(random.uniform(0, 20))
        while time.monotonic() < end:
            latitude += random.gauss(0, 0.001)
            longitude += random.gauss(0, 0.001)
            fix = {"_type": "location", "lat": latitude, "lon": longitude, "tst": time.time()}
            start = time.perf_counter()
            answer = await client.post(
                f"http://127.0.0.1:{port}/owntracks", json=fix, auth=("phone", token)
            )
            self.latencies.append(time.perf_counter() - start)
            self.failures += answer.status_code != 200
            await asyncio.sleep(20)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def until_open(port: int, server: "subprocess.Popen[bytes]") -> None:
    """Wait until a server listens."""
    while True:
        if server.poll() is not None:
            raise RuntimeError("the gateway ended")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        await asyncio.sleep(0.2)


def memory_of(pid: int) -> float:
    """Return the memory of a process and of those it started, in megabytes, shared parts once."""
    total = 0.0
    for process in [pid, *children_of(pid)]:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) / 1024
    return total


def children_of(pid: int) -> list[int]:
    """Return the processes that a process started, and those they did."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *children_of(child)]
    return found


def main(words: list[str]) -> None:
    """Measure each of some numbers of people."""
    options = dict(word.split("=", 1) for word in words if "=" in word)
    for people in [int(word) for word in words if "=" not in word] or [50]:
        run = Run(people, int(options.get("minutes", 4)), int(options.get("workers", 2)))
        for name, value in asyncio.run(run.measure()).items():
            print(f"{name:18} {value:10.4g}")
        print(flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
