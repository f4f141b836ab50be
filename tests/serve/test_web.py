import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

from priste.serve import web
from priste.serve.payloads import MAX_BODY
from priste.serve.tokens import Role
from tests.serve.rig import BEGIN, HOUR, Rig, live, written
from tests.tracks import city

WHERE = city.PLACE.centres([12])
LATITUDE, LONGITUDE = (float(part[0]) for part in WHERE)


class Caller:
    """Somebody who speaks HTTP to a gateway."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        app = web.Web(rig.gateway).app()
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway")

    def token(self, person: str, role: Role) -> str:
        return self.rig.gateway.tokens.make(person, role)

    async def get(self, path: str, token: str = "") -> httpx.Response:
        return await self.http.get(path, headers={"Authorization": f"Bearer {token}"})

    async def post(self, path: str, body: Any, token: str = "") -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token}"}
        return await self.http.post(path, content=content, headers=headers)


def call(tmp_path: Path, story: Callable[[Caller], Awaitable[None]]) -> None:
    async def with_caller(rig: Rig) -> None:
        caller = Caller(rig)
        await story(caller)
        await caller.http.aclose()

    live(written(tmp_path), with_caller)


def owntracks(moment: pd.Timestamp) -> dict[str, Any]:
    seconds = int(moment.timestamp())
    return {"_type": "location", "lat": LATITUDE, "lon": LONGITUDE, "tst": seconds, "acc": 5}


def overland(moment: pd.Timestamp) -> dict[str, Any]:
    place = {"type": "Point", "coordinates": [LONGITUDE, LATITUDE]}
    feature = {"geometry": place, "properties": {"timestamp": moment.isoformat()}}
    return {"locations": [feature]}


def test_each_app_hears_what_it_must(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        token, now = caller.token("ada", "send"), BEGIN + HOUR
        seconds = int(now.timestamp())
        answers = [
            (await caller.post("/owntracks", owntracks(now), token), "[]"),
            (await caller.post("/owntracks", b"", token), "[]"),
            (await caller.post("/owntracks", {"_type": "lwt"}, token), "[]"),
            (await caller.post("/overland", overland(now), token), '{"result":"ok"}'),
            (
                await caller.http.get(
                    f"/traccar/{token}?id=1&lat={LATITUDE}&lon={LONGITUDE}&timestamp={seconds}"
                ),
                "",
            ),
            (await caller.http.post(f"/gpslogger/{token}?lat=1&lon=2&time={seconds}"), ""),
            (await caller.post("/fixes", {"fixes": []}, token), "{}"),
        ]
        for answer, body in answers:
            assert (answer.status_code, answer.text) == (200, body)
        again = await caller.post("/owntracks", owntracks(now) | {"batt": 3}, token)
        late = await caller.post("/owntracks", owntracks(BEGIN - 100 * HOUR), token)
        assert again.text == late.text == "[]"

    call(tmp_path, story)


def test_a_phone_with_a_name_and_a_password_may_send(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        token = caller.token("ada", "send")
        for auth in (("phone", token), (token, "")):
            answer = await caller.http.post("/owntracks", json=owntracks(BEGIN), auth=auth)
            assert answer.status_code == 200
        assert caller.rig.gateway.store.count_fixes("ada") == 1

    call(tmp_path, story)


def test_a_token_is_good_for_one_thing_of_one_person(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        roles: tuple[Role, ...] = ("send", "read", "admin")
        tokens = {role: caller.token("ada", role) for role in roles}
        revoked, stranger = caller.token("ada", "send"), caller.token("eve", "send")
        caller.rig.gateway.tokens.revoke(revoked.split("_")[1])
        paths: dict[str, Role] = {
            "/owntracks": "send",
            "/feed.geojson": "read",
            "/feed.gpx": "read",
            "/account": "admin",
            "/certificates": "admin",
            "/certificates/1/1": "admin",
            "/dead-letters": "admin",
        }
        wrong = ["", "x", tokens["send"][:-1], tokens["send"] + "x", "priste_" + "0" * 12 + "_x"]
        wrong += [revoked, stranger, "priste__", "a" * 10_000, "priste_é_é"]
        for path, role in paths.items():
            for good, token in tokens.items():
                status = (await caller.get(path, token)).status_code
                assert (status == 401) == (good != role), (path, good)
            for token in wrong:
                answer = await caller.http.get(
                    path, headers=[(b"authorization", b"Bearer " + token.encode())]
                )
                assert answer.status_code == 401
                assert answer.text == "this needs a token that is good for it\n"
        assert (await caller.http.get(f"/account/{tokens['admin']}")).status_code == 404

    call(tmp_path, story)


def test_a_revoked_token_is_refused_at_once(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        token = caller.token("ada", "read")
        assert (await caller.get("/feed.gpx", token)).status_code == 200
        caller.rig.gateway.tokens.revoke(token.split("_")[1])
        assert (await caller.get("/feed.gpx", token)).status_code == 401

    call(tmp_path, story)


def test_a_feed_is_what_was_released_and_no_more(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        rig, send, read = caller.rig, caller.token("ada", "send"), caller.token("ada", "read")
        for _ in range(3):
            now = rig.watch.moment.ceil("1h")
            await caller.post("/owntracks", owntracks(now), send)
            rig.watch.moment = now + HOUR
            await rig.end_steps()
        feed = (await caller.get("/feed.geojson", read)).json()
        sent = [json.loads(b) for b in rig.receivers.got["http://127.0.0.1:1/log"]]
        places = [f["geometry"]["coordinates"] for f in feed["features"]]
        assert [[m["longitude"], m["latitude"]] for m in sent] == [
            [round(part, 6) for part in place] for place in places
        ]
        gpx = (await caller.http.get(f"/feed.gpx/{read}")).text
        assert gpx.count("<trkpt") == 3
        others = await caller.get("/feed.geojson", caller.token("bob", "read"))
        assert others.json()["features"] == []

    call(tmp_path, story)


def test_the_owner_sees_the_account_and_what_was_given_up(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        token = caller.token("ada", "admin")
        account = (await caller.get("/account", token)).json()
        assert account["step"] == 0
        assert account["events"][0]["name"] == "treatment 2024-06-03"
        assert (await caller.get("/certificates", token)).json() == []
        assert (await caller.get("/certificates/1/1", token)).status_code == 404
        assert (await caller.get("/dead-letters", token)).json() == []
        assert (await caller.post("/dead-letters/revive", b"", token)).json() == {"revived": 0}

    call(tmp_path, story)


def test_what_cannot_be_read_is_refused_and_the_gateway_stays_well(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        token = caller.token("ada", "send")
        assert (await caller.post("/owntracks", b"{", token)).status_code == 400
        large = b"[" + b" " * MAX_BODY
        assert (await caller.post("/overland", large, token)).status_code == 413
        assert (await caller.get("/nowhere", token)).status_code == 404
        assert (await caller.get("/healthz")).json() == {"status": "ok"}
        metrics = (await caller.get("/metrics")).text
        assert 'priste_requests_total{for="owntracks",status="400"}' in metrics
        assert "ada" not in metrics

    call(tmp_path, story)


def test_a_slow_sender_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "BODY_SECONDS", 0.05)

    async def story(caller: Caller) -> None:
        headers = {"Authorization": f"Bearer {caller.token('ada', 'send')}"}
        async with asyncio.timeout(5):
            answer = await caller.http.post("/owntracks", content=_Once(), headers=headers)
        assert answer.status_code == 408

    class _Once(httpx.AsyncByteStream):
        async def __aiter__(self) -> Any:
            yield b"{"
            await asyncio.sleep(1)
            yield b"}"

    call(tmp_path, story)


def test_a_database_that_fails_is_told_to_the_sender_who_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(caller: Caller) -> None:
        token = caller.token("ada", "send")

        def fail(*_: object) -> None:
            raise OSError(f"no space left for {LATITUDE}")

        monkeypatch.setattr(caller.rig.gateway.store, "add_fixes", fail)
        answer = await caller.post("/owntracks", owntracks(BEGIN), token)
        assert (answer.status_code, answer.text) == (503, "the gateway cannot take this now\n")

    call(tmp_path, story)


def test_numbers_without_end_name_no_certificate(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        token = caller.token("ada", "admin")
        for number in ("9" * 17, "9" * 30, "9" * 5000, "-1", "x", "٣"):
            assert (await caller.get(f"/certificates/{number}/1", token)).status_code == 404
            assert (await caller.get(f"/certificates/{number}/1")).status_code == 401

    call(tmp_path, story)
