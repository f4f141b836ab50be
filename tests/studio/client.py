"""A client of an ASGI application, one request at a time."""

import asyncio
from typing import Any

import httpx
from starlette.applications import Starlette


class Client:
    """Asks an application at an address."""

    def __init__(self, app: Starlette, address: str) -> None:
        self.app, self._address = app, address

    def request(self, method: str, path: str, **given: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url=self._address) as client:
                return await client.request(method, path, **given)

        return asyncio.run(ask())

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self.request("GET", path, **given)

    def post(self, path: str, **given: Any) -> httpx.Response:
        return self.request("POST", path, **given)
