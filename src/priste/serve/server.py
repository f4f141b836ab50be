"""A gateway with its ways in, from the first signal of life to an orderly end."""

import asyncio
import contextlib
import gc
import logging
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from priste.serve.config import Config, Receiver
from priste.serve.gateway import Gateway
from priste.serve.mqtt import Mqtt
from priste.serve.outbox import SendError
from priste.serve.posting import Posting
from priste.serve.web import Web

_log = logging.getLogger(__name__)

HEAD_SECONDS = 20.0
"""How long a sender may take until a request begins."""

MOST_CONNECTIONS = 20_000
"""How many connections are served at a time; more hear 503."""


class _Impatient(H11Protocol):
    """Closes a connection on which a request does not begin in time, the first or a later one."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait_for_a_request()

    def data_received(self, data: bytes) -> None:
        self._wait_for_a_request()
        super().data_received(data)
        if not self._is_idle:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait_for_a_request(self) -> None:
        if self._patience is None and self._is_idle:
            self._patience = self.loop.call_later(HEAD_SECONDS, self._close_if_idle)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _close_if_idle(self) -> None:
        self._patience = None
        if self._is_idle and not self.transport.is_closing():
            self.transport.close()


def allow_connections() -> None:
    """Have as many connections as the system lets a process have, not as few as it begins with."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource  # not on Windows

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def serve(config: Config, *, begin_anew: bool = False) -> None:
    """Serve until a signal asks to end."""
    allow_connections()
    async with contextlib.AsyncExitStack() as stack:
        post = await stack.enter_async_context(Posting())

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
        gc.collect()
        gc.freeze()  # what is there now stays: to look through it again takes a tenth of a second
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
    return Mqtt(config.broker, topics, gateway.take, f"priste-{gateway.identity}")


def _where(config: Config) -> tuple[str, int, int]:
    return config.host, config.port, len(config.persons)
