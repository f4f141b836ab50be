"""A gateway with its ways in, from the first signal of life to an orderly end."""

import asyncio
import contextlib
import logging
from typing import Any

import httpx
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from priste.serve.config import Config, Receiver
from priste.serve.gateway import Gateway
from priste.serve.mqtt import Mqtt
from priste.serve.outbox import TIMEOUT, SendError, over_http
from priste.serve.web import Web

_log = logging.getLogger(__name__)

HEAD_SECONDS = 20.0
"""How long a sender may take until a request begins."""

MOST_CONNECTIONS = 20_000
"""How many connections are served at a time; more hear 503."""


class _Impatient(H11Protocol):
    """Closes a connection on which no request begins in time."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._first = self.loop.call_later(HEAD_SECONDS, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._first.cancel()
        super().connection_lost(exc)


async def serve(config: Config, *, begin_anew: bool = False) -> None:
    """Serve until a signal asks to end."""
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            httpx.AsyncClient(timeout=TIMEOUT, trust_env=False, follow_redirects=False)
        )
        post = over_http(client)

        async def send(receiver: Receiver, body: bytes) -> None:
            if receiver.kind != "mqtt":
                await post(receiver, body)
            elif mqtt is None:
                raise SendError("there is no broker")
            else:
                await mqtt.send(receiver, body)

        gateway = Gateway(config, send, begin_anew=begin_anew)
        stack.push_async_callback(gateway.close)
        mqtt = _mqtt(config, gateway)
        await gateway.start()
        if mqtt is not None:
            mqtt.start()
            stack.callback(mqtt.close)
        server = uvicorn.Server(http_settings(config, gateway))
        working = asyncio.create_task(gateway.run())
        answering = asyncio.create_task(server.serve())
        _log.info("listening on http://%s:%d for %d people", *_where(config))
        done, _ = await asyncio.wait({working, answering}, return_when=asyncio.FIRST_COMPLETED)
        server.should_exit = True
        await answering
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working
        for task in done - {working}:
            task.result()


def http_settings(config: Config, gateway: Gateway) -> uvicorn.Config:
    """Return how HTTP is answered: no word of who asked for what."""
    return uvicorn.Config(
        Web(gateway).app(),
        host=config.host,
        port=config.port,
        http=_Impatient,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,
    )


def _mqtt(config: Config, gateway: Gateway) -> Mqtt | None:
    if config.broker is None:
        return None
    topics = {
        person.owntracks_topic: (person.name, person.owntracks_key)
        for person in config.persons.values()
        if person.owntracks_topic
    }
    return Mqtt(config.broker, topics, gateway.take)


def _where(config: Config) -> tuple[str, int, int]:
    return config.host, config.port, len(config.persons)
