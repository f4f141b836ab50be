"""The gateway at an MQTT broker: fixes of OwnTracks in, releases out.

A message is acknowledged when its fixes are durable, not before. A retained message is old, and may
be anybody's: it is left alone. Who may publish to a person's topic is for the broker to say.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from priste.errors import PayloadError
from priste.serve.config import Broker, Receiver
from priste.serve.outbox import TIMEOUT, SendError
from priste.serve.payloads import MAX_BODY, SOURCES, Fix, Message

_log = logging.getLogger(__name__)

Take = Callable[[str, list[Fix]], Awaitable[None]]
"""Keeps the fixes of a person."""

CLIENT = "priste-gateway"

RETRY_SECONDS = 2.0
"""How long to wait before a fix is kept that could not be."""


class Mqtt:
    """A client of a broker. `topics` says whose fixes come on which topic, with the key of each."""

    def __init__(
        self,
        broker: Broker,
        topics: Mapping[str, tuple[str, bytes | None]],
        take: Take,
        client: str = CLIENT,
    ) -> None:
        self._broker, self._topics, self._take = broker, topics, take
        self._loop = asyncio.get_running_loop()
        self._client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=client,
            clean_session=False,  # what comes while the gateway is down waits at the broker
            manual_ack=True,
        )
        if broker.username is not None:
            self._client.username_pw_set(broker.username, broker.password)
        if broker.tls:
            self._client.tls_set(cert_reqs=ssl.CERT_REQUIRED)
        self._client.on_connect = self._subscribe
        self._client.on_message = self._receive
        self._client.on_disconnect = self._note_disconnect

    def start(self) -> None:
        """Connect, now or whenever the broker answers, and stay connected."""
        self._client.connect_async(self._broker.host, self._broker.port)
        self._client.loop_start()

    def close(self) -> None:
        """Disconnect."""
        self._client.disconnect()
        self._client.loop_stop()

    def _subscribe(self, client: paho.Client, *_: object) -> None:
        _log.info("connected to the MQTT broker")
        for topic in self._topics:
            client.subscribe(topic, qos=1)

    @staticmethod
    def _note_disconnect(*_: object) -> None:
        _log.warning("not connected to the MQTT broker; it is tried again")

    def _receive(self, client: paho.Client, _: object, message: paho.MQTTMessage) -> None:
        """Keep the fixes of a message, then acknowledge it; in the client's own thread."""
        known = self._topics.get(message.topic)
        if known is None or message.retain or len(message.payload) > MAX_BODY:
            client.ack(message.mid, message.qos)
            return
        person, key = known
        try:
            fixes = SOURCES["owntracks"].read(Message("", "", bytes(message.payload)), key)
        except PayloadError as error:
            _log.warning("a message of %s over MQTT is not understood: %s", person, error)
            fixes = []
        kept = asyncio.run_coroutine_threadsafe(self._kept(person, fixes), self._loop)
        mid, qos = message.mid, message.qos

        def acknowledge(done: "Future[None]") -> None:
            if not done.cancelled() and done.exception() is None:
                client.ack(mid, qos)

        kept.add_done_callback(acknowledge)

    async def _kept(self, person: str, fixes: list[Fix]) -> None:
        """Keep fixes, now or as soon as that can be: a broker sends again to new clients only."""
        while True:
            try:
                return await self._take(person, fixes)
            except Exception as error:
                _log.error("a fix over MQTT cannot be kept yet: %s", type(error).__name__)
                await asyncio.sleep(RETRY_SECONDS)

    async def send(self, receiver: Receiver, body: bytes) -> None:
        """Publish a letter, retained, and wait until the broker has it."""
        if not self._client.is_connected():
            raise SendError("there is no connection to the broker")
        info = self._client.publish(receiver.topic, body, qos=1, retain=True)
        try:
            await asyncio.to_thread(info.wait_for_publish, TIMEOUT)
        except (ValueError, RuntimeError):
            raise SendError("the broker does not take it") from None
        if not info.is_published():
            raise SendError("the broker does not answer")
