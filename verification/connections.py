"""A gateway with ten thousand connections open that say nothing, or half a request.

    python -m verification.connections 10000

A phone must still be answered in time, memory must stay bounded, and the silent connections must be
closed after a while. Gateway and connections are two processes on this machine.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from benchmarks.gateway import Run, free_port, memory_of, until_open

from priste.serve.server import HEAD_SECONDS, allow_connections

HALVES = (b"", b"POST /owntracks HTTP/1.1\r\nHost: gateway\r\nX-", b"GET")
TIMELY = 1.0


async def main(count: int) -> bool:
    """Open connections, and tell whether a phone was served and they were closed."""
    allow_connections()
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        (token,) = Run(1, 1, 1).prepare(folder, port, free_port())
        command = [sys.executable, "-m", "priste", "serve"]
        with (
            (folder / "log").open("w") as log,
            subprocess.Popen(command, cwd=folder, stderr=log, env=os.environ) as server,
        ):
            try:
                await until_open(port, server)
                return await _watched(count, port, token, server.pid)
            finally:
                server.terminate()


async def _watched(count: int, port: int, token: str, pid: int) -> bool:
    before = memory_of(pid)
    start = time.monotonic()
    opened = []
    for number in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HALVES[number % len(HALVES)])
        opened.append((reader, writer))
    print(f"{count} connections are open after {time.monotonic() - start:.1f} s")
    times, statuses = [], set()
    async with httpx.AsyncClient(trust_env=False, timeout=30) as phone:
        for _ in range(100):
            fix = {"_type": "location", "lat": 52.52, "lon": 13.4, "tst": time.time()}
            sent = time.monotonic()
            answer = await phone.post(
                f"http://127.0.0.1:{port}/owntracks", json=fix, auth=("phone", token)
            )
            times.append(time.monotonic() - sent)
            statuses.add(answer.status_code)
    memory = memory_of(pid) - before
    slowest = max(times)
    middle, most = (f"{1000 * seconds:.0f} ms" for seconds in (statistics.median(times), slowest))
    print(f"a phone hears {statuses} after {middle}, at most {most}; {memory:.0f} MB more are used")
    left = start + 4 * HEAD_SECONDS - time.monotonic()
    ends = [asyncio.create_task(reader.read()) for reader, _ in opened]
    done, _ = await asyncio.wait(ends, timeout=max(left, HEAD_SECONDS))
    closed = len(done)
    for _, writer in opened:
        writer.close()
    print(f"{closed} of them were closed {time.monotonic() - start:.0f} s after the first")
    return statuses == {200} and slowest < TIMELY and closed == count


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(main(int((sys.argv[1:] or ["10000"])[0]))) else 1)
