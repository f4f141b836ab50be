"""Every way into the gateway, with payloads that no app would send.

    python -m verification.intake 20000

Requests go through the whole of the web application, with a good token. None may fail inside (a
status of 500 or more), none may leave a word of itself in the log, and memory must not grow.
"""

import asyncio
import json
import logging
import resource
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from starlette.applications import Starlette
from tests.serve.rig import Watch, written
from tests.serve.test_payloads import FEATURE, FORWARDED, OWNTRACKS, QUERY, TRACCAR

from priste.serve.gateway import Gateway
from priste.serve.payloads import SOURCES
from priste.serve.web import Web
from verification.fuzz.mutations import as_json, blind, tokens, value

GOOD: dict[str, tuple[Any, ...]] = {
    "owntracks": (
        OWNTRACKS,
        {"_type": "encrypted", "data": "YWJj" * 20},
        {"_type": "transition", "event": "enter", "tst": 1700000000},
        {"_type": "waypoints", "waypoints": [OWNTRACKS]},
    ),
    "traccar": (TRACCAR, FORWARDED),
    "overland": ({"locations": [FEATURE] * 3, "current": FEATURE, "trip": {"mode": "car"}},),
    "gpslogger": ({"lat": 52.5, "lon": 13.4, "timestamp": 1700000000},),
    "fixes": ({"fixes": [{"time": "2023-11-14T22:13:20Z", "latitude": 52.5, "longitude": 13.4}]},),
}
"""What each app sends when it is well."""

KINDS = (b"application/json", b"application/x-www-form-urlencoded", b"", b"\xff\x01", b"a" * 999)


class Loud(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def spoilt(source: str, random: Random) -> tuple[bytes, bytes, bytes]:
    """Return the query, the content type and the body of a request that was tampered with."""
    good = random.choice(GOOD[source])
    body, query = json.dumps(good).encode(), b""
    if random.random() < 0.25:
        body = QUERY.encode()
        query = body if random.random() < 0.5 else b""
    fate = random.random()
    if fate < 0.5:
        body = as_json(value(good, random), random)
    elif fate < 0.7:
        body = blind(body, random)
    elif fate < 0.9:
        body = tokens(body, random)
    return tokens(query, random)[:5000], random.choice(KINDS), body[:200_000]


async def asked(
    app: Starlette, path: str, query: bytes, kind: bytes, body: bytes
) -> tuple[int, bytes]:
    """Return the status and the body of the answer to a request, whatever bytes it is made of."""
    got: list[Any] = []
    parts = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Any:
        return next(parts, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        got.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "headers": [(b"content-type", kind)],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("gateway", 80),
        "root_path": "",
    }
    await app(scope, receive, send)
    return got[0]["status"], b"".join(part.get("body", b"") for part in got[1:])


async def fuzzed(count: int) -> dict[str, Counter[int]]:
    """Send so many spoilt requests each way; return how often each status was answered."""
    found: dict[str, Counter[int]] = {}
    loud = Loud()
    logging.getLogger().addHandler(loud)
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(written(Path(folder)), _nobody, now=Watch())
        await gateway.start()
        token = gateway.tokens.make("ada", "send")
        app = Web(gateway).app()
        for source in SOURCES:
            statuses: Counter[int] = Counter()
            for number in range(count):
                if number == count // 5:
                    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                random = Random(f"{source} {number}")
                query, kind, body = spoilt(source, random)
                status, said = await asked(app, f"/{source}/{token}", query, kind, body)
                statuses[status] += 1
                assert status in (200, 400), (source, number, status)
                assert status == 400 or said == SOURCES[source].answer.encode()
                assert b"52.5" not in said
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            assert grown < 60, f"{source}: {grown:.0f} MB more"
            found[source] = statuses
            print(f"{source}: {dict(statuses)}, {grown:.0f} MB more", flush=True)
        await gateway.close()
    told = [line for line in loud.lines if "request" in line or "52.5" in line]
    assert not told, told[:3]
    return found


async def _nobody(*_: object) -> None:
    """Receive nothing."""


if __name__ == "__main__":
    asyncio.run(fuzzed(int(sys.argv[1])))
