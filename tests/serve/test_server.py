import asyncio
import time
from dataclasses import replace
from pathlib import Path

import pytest
import uvicorn

from priste.serve import server
from tests.serve.rig import Rig, live, written
from tests.serve.servers import free_port

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n"


async def until_closed(reader: asyncio.StreamReader) -> float:
    """How many seconds a connection stays open."""
    start = time.monotonic()
    async with asyncio.timeout(10):
        while await reader.read(1000):
            pass
    return time.monotonic() - start


def test_a_request_that_does_not_begin_closes_its_connection_the_first_or_a_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.4)
    port = free_port()

    async def story(rig: Rig) -> None:
        config = replace(rig.gateway.config, port=port)
        http = uvicorn.Server(server.http_settings(config, rig.gateway))
        task = asyncio.create_task(http._serve())
        while not http.started:
            await asyncio.sleep(0.01)

        writers: list[asyncio.StreamWriter] = []

        async def connected() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            streams = await asyncio.open_connection("127.0.0.1", port)
            writers.append(streams[1])
            return streams

        silent, _ = await connected()
        assert 0.2 < await until_closed(silent) < 3
        reader, writer = await connected()
        writer.write(REQUEST)
        assert b"200 OK" in await reader.readuntil(b"\r\n")
        assert b"ok" in await reader.readuntil(b"}")
        writer.write(REQUEST[:20])  # and no more of it
        assert 0.2 < await until_closed(reader) < 3
        busy, writer = await connected()
        for _ in range(4):  # one after the other, for longer than a head may take
            writer.write(REQUEST)
            assert b"200 OK" in await busy.readuntil(b"\r\n")
            await busy.readuntil(b"}")
            await asyncio.sleep(0.2)
        for each in writers:
            each.close()
        http.should_exit = True
        await task

    live(written(tmp_path), story)
