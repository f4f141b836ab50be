"""Two people, or one person on two days: where nobody can tell from the releases, nothing tells."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_client import generate_latest

from priste.calibration import CertifiedPlan
from priste.calibration.calibration import Draw
from priste.randomness import Randomness
from priste.serve.config import Receiver
from priste.serve.metrics import REGISTRY
from priste.serve.outbox import SendError
from tests.serve.rig import HOUR, Rig, live, written
from tests.serve.test_web import Caller
from tests.tracks import city

HOURS = 30


def the_likeliest(self: CertifiedPlan, true_cell: int, randomness: Randomness) -> Draw:  # noqa: ARG001
    """Draw what is likeliest, from wherever: it could have been drawn from anywhere."""
    output = int(np.argmax(self.emission.min(axis=0)))
    return Draw(output, self.emission[:, output], self.budget, self.tried)


def _is_dated(line: bytes) -> bool:
    """Whether a line of a certificate says when it was made, by the machine's own clock."""
    return b'"created"' in line or b"Made with" in line


def metrics() -> dict[str, float]:
    lines = generate_latest(REGISTRY).decode().splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
    return {name: float(value) for name, value in pairs if name != "priste_persons"}


def observed(folder: Path, path: Sequence[int], caplog: pytest.LogCaptureFixture) -> dict[str, Any]:
    """Everything that anybody but the phone sees of a day in which the phone goes along a path."""
    sends: list[tuple[float, str, bytes]] = []
    answers: list[object] = []
    before = metrics()

    async def story(rig: Rig) -> None:
        caplog.clear()  # streams wake side by side, in any order
        caller = Caller(rig)
        send, read, admin = (caller.token("ada", role) for role in ("send", "read", "admin"))

        def fail_sometimes(receiver: Receiver) -> SendError | None:
            sends.append((rig.watch(), receiver.url, b""))
            return SendError("it answered 500") if len(sends) % 7 == 0 else None

        rig.receivers.problem = fail_sometimes
        for cell in path:
            now = rig.watch.moment.ceil("1h")
            latitude, longitude = (float(part[0]) for part in city.PLACE.centres([cell]))
            if cell == city.AWAY:
                latitude, longitude = 48.1, 11.5
            where = {"lat": latitude, "lon": longitude}
            fix = {"_type": "location", "tst": int(now.timestamp()), **where}
            for body in (fix, fix, b"{", {"_type": "encrypted", "data": "AAAA"}):
                answer = await caller.post("/owntracks", body, send)
                answers.append((answer.status_code, answer.content, sorted(answer.headers.items())))
            rig.watch.moment = now + HOUR
            await rig.end_steps()
            answers.append((await caller.get("/healthz")).text)
        for page, token in (
            ("/feed.geojson", read),
            ("/feed.gpx", read),
            ("/account", admin),
            ("/certificates", admin),
            ("/dead-letters", admin),
        ):
            answers.append((await caller.get(page, token)).content)
        content = rig.gateway.store.certificate("ada", 1, 1)
        assert content is not None
        answers.append([line for line in content.splitlines() if not _is_dated(line)])
        await caller.http.aclose()

    with caplog.at_level(logging.DEBUG):
        received = live(written(folder), story)
    after = metrics()
    return {
        "letters": received.got,
        "sends": sends,
        "answers": answers,
        "logs": [
            (record.name, record.levelname, record.getMessage())
            for record in caplog.records
            if not record.name.startswith(("asyncio", "httpx", "httpcore"))
        ],
        "metrics": {name: after[name] - before.get(name, 0) for name in after},
        "files": sorted(file.name for file in folder.iterdir()),
    }


def test_two_paths_with_the_same_releases_look_the_same_in_every_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(CertifiedPlan, "draw", the_likeliest)
    paths = (
        [12] * HOURS,
        [(7 * hour) % 25 for hour in range(HOURS)],
        [12, city.AWAY, 0, 24] * (HOURS // 4) + [city.AWAY] * (HOURS % 4),
    )
    seen = []
    for number, path in enumerate(paths):
        folder = tmp_path / str(number)
        folder.mkdir()
        seen.append(observed(folder, path, caplog))
    for name, first in seen[0].items():
        for other in seen[1:]:
            assert other[name] == first, name
    assert len(seen[0]["letters"]) >= 2
    assert sum(map(len, seen[0]["letters"].values())) > HOURS
    assert seen[0]["logs"]
