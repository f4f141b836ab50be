import asyncio
from typing import Any

import httpx
import pytest

from priste.serve import posting
from priste.serve.config import Receiver
from priste.serve.outbox import SendError
from priste.serve.posting import Posting


def test_a_receiver_that_talks_without_end_is_not_listened_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(posting, "TIMEOUT", 0.3)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        status = 200 if scope["path"] == "/long" else 500
        await send({"type": "http.response.start", "status": status, "headers": []})
        for _ in range(50):
            await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    class Hangs(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await asyncio.sleep(10)
            raise AssertionError(request)

    async def story() -> None:
        async with Posting(httpx.ASGITransport(app)) as send:
            await send(Receiver("x", "webhook", "http://there/long"), b"{}")
            with pytest.raises(SendError, match="it answered 500"):
                await send(Receiver("x", "webhook", "http://there/bad"), b"{}")
        async with Posting(Hangs()) as send:
            with pytest.raises(SendError, match="TimeoutError"):
                await send(Receiver("x", "webhook", "http://there/"), b"{}")

    asyncio.run(story())
