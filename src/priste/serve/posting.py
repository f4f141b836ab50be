"""Handing letters to receivers over HTTP."""

import asyncio
import contextlib
from types import TracebackType
from typing import Self

import httpx

from priste.serve.config import Receiver
from priste.serve.outbox import TIMEOUT, SendError

LONGEST_ANSWER, LARGEST_ANSWER = 1.0, 100_000
"""Seconds and bytes after which the rest of an answer is not waited for."""

HOPELESS = frozenset({400, 404, 405, 410, 413, 414, 415, 422})
"""Answers after which sending the same again is in vain."""


class Posting:
    """Posts letters. Every address has a client of its own, and so a connection that stays open.

    One client for all looks at each of its connections whenever one of them becomes free.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._transport = transport
        self._certificates = httpx.create_ssl_context()
        self._clients: dict[str, httpx.AsyncClient] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for client in self._clients.values():
            await client.aclose()

    async def __call__(self, receiver: Receiver, body: bytes) -> None:
        """Hand over a letter, or raise `SendError`."""
        client = self._client(receiver.url)
        headers = {"Content-Type": "application/json", **receiver.headers}
        try:
            async with asyncio.timeout(TIMEOUT):
                sending = client.stream("POST", receiver.url, content=body, headers=headers)
                async with sending as answer:
                    status, is_success = answer.status_code, answer.is_success
                    await _read_to_the_end(answer)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            raise SendError(type(error).__name__) from None  # its text may hold the address
        client.cookies.clear()
        if not is_success:
            raise SendError(f"it answered {status}", is_final=status in HOPELESS)

    def _client(self, url: str) -> httpx.AsyncClient:
        if url not in self._clients:
            self._clients[url] = httpx.AsyncClient(
                timeout=TIMEOUT,
                trust_env=False,
                verify=self._certificates,
                transport=self._transport,
            )
        return self._clients[url]


async def _read_to_the_end(answer: httpx.Response) -> None:
    """Read what nobody needs, so that the connection serves again; unless it takes long."""
    with contextlib.suppress(httpx.HTTPError, TimeoutError):
        async with asyncio.timeout(LONGEST_ANSWER):
            async for _ in answer.aiter_raw():
                if answer.num_bytes_downloaded > LARGEST_ANSWER:
                    return
