import asyncio
import json
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from priste.serve.config import Broker, Receiver
from priste.serve.mqtt import Mqtt
from priste.serve.outbox import SendError
from priste.serve.payloads import Fix
from tests.serve.servers import mosquitto, program

MOMENT = pd.Timestamp("2024-06-03 08:10", tz="UTC")
FIX = {"_type": "location", "lat": 52.5, "lon": 13.4, "tst": int(MOMENT.timestamp())}


def publish(port: int, topic: str, payload: object, *options: str) -> None:
    text = payload if isinstance(payload, str) else json.dumps(payload)
    command = [program("mosquitto_pub"), "-p", str(port), "-h", "127.0.0.1", "-t", topic]
    subprocess.run([*command, "-m", text, "-q", "1", *options], check=True, timeout=10)


async def eventually(done: list[object], count: int) -> None:
    for _ in range(200):
        if len(done) >= count:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{len(done)} of {count}")


def test_a_message_is_acknowledged_when_its_fix_is_durable_and_comes_again_until_then(
    tmp_path: Path,
) -> None:
    taken: list[tuple[str, list[Fix]]] = []

    async def fail(person: str, _: list[Fix]) -> None:
        failed.append(person)
        raise OSError("the disk is full")

    async def take(person: str, fixes: list[Fix]) -> None:
        if fixes:
            taken.append((person, fixes))

    failed: list[object] = []

    async def story(port: int) -> None:
        topics = {"owntracks/ada/phone": ("ada", None)}
        publish(port, "owntracks/ada/phone", FIX | {"tst": 1_600_000_000}, "-r")
        first = Mqtt(Broker("127.0.0.1", port), topics, fail)
        first.start()
        await asyncio.sleep(0.3)
        # as OwnTracks on Android speaks: MQTT 3.1, retained, at least once
        publish(port, "owntracks/ada/phone", FIX, "-V", "mqttv31", "-r")
        publish(port, "owntracks/ada/phone/event", {"_type": "transition"})
        publish(port, "owntracks/bob/phone", FIX)
        await eventually(failed, 1)
        await asyncio.to_thread(first.close)
        second = Mqtt(Broker("127.0.0.1", port), topics, take)
        second.start()
        await eventually(taken, 1)  # type: ignore[arg-type]
        publish(port, "owntracks/ada/phone", "not JSON")
        publish(port, "owntracks/ada/phone", FIX | {"lat": 50})
        await eventually(taken, 2)  # type: ignore[arg-type]
        await asyncio.sleep(0.2)
        await asyncio.to_thread(second.close)

    with mosquitto(tmp_path) as port:
        asyncio.run(story(port))
    moment = int(MOMENT.timestamp()) * 1_000_000
    assert taken == [("ada", [Fix(moment, 52.5, 13.4)]), ("ada", [Fix(moment, 50.0, 13.4)])]


def test_a_release_is_published_and_retained(tmp_path: Path) -> None:
    async def nothing(person: str, fixes: list[Fix]) -> None: ...

    async def story(port: int) -> None:
        client = Mqtt(Broker("127.0.0.1", port), {}, nothing)
        receiver = Receiver("x", "mqtt", topic="owntracks/ada/priste")
        with pytest.raises(SendError, match="no connection to the broker"):
            await client.send(receiver, b'{"lat":1}')
        client.start()
        while not client._client.is_connected():
            await asyncio.sleep(0.02)
        await client.send(receiver, b'{"lat":1}')
        await asyncio.to_thread(client.close)

    with mosquitto(tmp_path) as port:
        asyncio.run(story(port))
        command = [program("mosquitto_sub"), "-h", "127.0.0.1", "-p", str(port), "-C", "1"]
        heard = subprocess.run(
            [*command, "-t", "owntracks/ada/priste", "-W", "5"], capture_output=True, check=False
        )
    assert heard.stdout == b'{"lat":1}\n'
