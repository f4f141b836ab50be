"""The studio's server: who gets in, what it answers, and that nothing of it leaves."""

import time
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Mount

from priste.demo import EVENTS
from priste.studio import web
from priste.studio.guard import HEADERS
from priste.studio.levels import in_words_of_each
from priste.studio.server import by_token
from priste.studio.web import Studio
from tests.studio.client import Client
from tests.studio.days import ZONE, document, gpx, question

HOST = "127.0.0.1:8000"
TOKEN = "a-token-that-only-the-owner-has"
OWNER = {"Authorization": f"Bearer {TOKEN}", "X-Time-Zone": ZONE}


@pytest.fixture
def client() -> Client:
    return Client(Studio(by_token(TOKEN), [HOST], account=False).app(), f"http://{HOST}")


def load(client: Client, path: Path) -> Any:
    name = {"X-File-Name": path.name}
    return client.post("/api/tracks", content=path.read_bytes(), headers=OWNER | name)


def ended(client: Client, run: str) -> Any:
    end = time.monotonic() + 60
    while True:
        status = client.get(f"/api/runs/{run}", headers=OWNER).json()
        if status["state"] != "running":
            return status
        assert time.monotonic() < end, status
        time.sleep(0.02)


API = [
    ("GET", "start"),
    ("GET", "desk"),
    ("POST", "tracks"),
    ("POST", "clear"),
    ("POST", "example"),
    ("POST", "model"),
    ("POST", "model/forget"),
    ("POST", "events/write"),
    ("POST", "events/read"),
    ("POST", "certificate"),
    ("POST", "begin/watch"),
    ("GET", "runs/1"),
    ("GET", "runs/1/result"),
    ("POST", "runs/1/stop"),
    ("GET", "runs/1/files/model.npz"),
]


@pytest.mark.parametrize(("method", "path"), API)
@pytest.mark.parametrize("shown", ["", "Bearer ", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN])
def test_nobody_gets_in_without_the_token(
    client: Client, method: str, path: str, shown: str
) -> None:
    answer = client.request(method, f"/api/{path}", headers={"Authorization": shown})
    assert answer.status_code == 401
    assert answer.json() == {"problem": "open the studio anew: this page has no token for it"}


def test_every_route_of_the_api_is_tried_above(client: Client) -> None:
    (api,) = [route for route in client.app.routes if isinstance(route, Mount)]
    assert len(api.routes) == len(API)


def test_a_host_with_another_name_is_refused(client: Client) -> None:
    for host in ("evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:80", ""):
        answer = client.get("/", headers={"Host": host})
        assert (answer.status_code, "its own address" in answer.text) == (403, True)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_site_is_refused_even_with_the_token(
    client: Client, headers: dict[str, str]
) -> None:
    answer = client.get("/api/desk", headers=OWNER | headers)
    assert (answer.status_code, "another site" in answer.text) == (403, True)


def test_the_page_itself_may_ask(client: Client) -> None:
    own = {"Origin": f"http://{HOST}", "Sec-Fetch-Site": "same-origin"}
    assert client.get("/api/desk", headers=OWNER | own).status_code == 200


@pytest.mark.parametrize("path", ["/", "/parts/views.js", "/api/desk", "/nothing", "/api/runs/9"])
def test_every_answer_says_what_the_page_may_do(client: Client, path: str) -> None:
    found = client.get(path, headers=OWNER).headers
    for name, value in HEADERS.items():
        assert found[name] == value
    policy = found["content-security-policy"]
    assert "'unsafe" not in policy
    assert "http" not in policy
    assert "set-cookie" not in found


def test_the_page_names_no_other_host() -> None:
    own = [path for path in web._parts() if path.parent.name != "vendor"]
    for path in (web.PAGE / "index.html", *own):
        text = path.read_text()
        assert "http://" not in text, path
        assert "https://" not in text, path


def test_no_file_but_the_parts_of_the_page_is_served(client: Client) -> None:
    for path in ("/parts/leaflet.LICENSE", "/parts/../web.py", "/parts/%2e%2e/web.py", "/web.py"):
        assert client.get(path).status_code == 404


def test_a_track_goes_in_and_a_day_comes_out(client: Client, tmp_path: Path) -> None:
    desk = load(client, gpx(tmp_path)).json()
    assert [source["name"] for source in desk["sources"]] == ["phone.gpx"]
    assert [day["day"] for day in desk["days"]][-1] == "2024-05-16"
    begun = client.post("/api/begin/watch", json=question(), headers=OWNER).json()
    assert ended(client, begun["run"])["state"] == "done"
    result = client.get(f"/api/runs/{begun['run']}/result", headers=OWNER).json()
    assert [way["key"] for way in result["picture"]["ways"]] == ["raw", "silent", "noise"]
    assert client.post("/api/clear", headers=OWNER).json()["sources"] == []


def test_a_certificate_and_a_model_can_be_opened_again(client: Client, tmp_path: Path) -> None:
    load(client, gpx(tmp_path))
    run = client.post("/api/begin/protect", json=question(), headers=OWNER).json()["run"]
    assert ended(client, run)["state"] == "done"
    files = {
        name: client.get(f"/api/runs/{run}/files/{name}", headers=OWNER).content
        for name in ("certificate.json", "hidden.certificate.json", "model.npz")
    }
    hidden = files["hidden.certificate.json"]
    told = client.post("/api/certificate", content=hidden, headers=OWNER).json()
    assert (told["checkable"], told["verdicts"]) == (False, None)
    client.post("/api/clear", headers=OWNER)
    told = client.post("/api/certificate", content=files["certificate.json"], headers=OWNER).json()
    assert told["verdicts"] is None
    assert "No odds change" in " ".join(told["sentences"])
    desk = client.post("/api/model", content=files["model.npz"], headers=OWNER).json()
    assert "steps of 1 hour" in desk["model"]["words"]
    assert desk["model"]["zone"] == ZONE
    told = client.post("/api/certificate", content=files["certificate.json"], headers=OWNER).json()
    (verdict,) = told["verdicts"]
    assert verdict["largest"] <= verdict["epsilon"] == 0.8
    assert "model" not in client.post("/api/model/forget", headers=OWNER).json()


def test_a_run_that_was_cleared_is_one_that_was_stopped(client: Client) -> None:
    assert client.get("/api/runs/9", headers=OWNER).json()["state"] == "stopped"
    assert client.post("/api/runs/9/stop", headers=OWNER).json()["state"] == "stopped"
    assert client.get("/api/runs/9/result", headers=OWNER).json() is None
    assert client.get("/api/runs/9/files/model.npz", headers=OWNER).status_code == 400


def test_events_are_written_and_read(client: Client) -> None:
    text = client.post("/api/events/write", json=document(), headers=OWNER).text
    page = client.post("/api/events/read", content=text, headers=OWNER).json()
    (words,) = [secret.pop("words") for secret in page["secrets"]]
    assert words == in_words_of_each(0.8)
    assert page == document()


def test_the_example_can_be_tried(client: Client) -> None:
    desk = client.post("/api/example", headers=OWNER).json()
    assert len(desk["days"]) == 60
    assert desk["document"]["secrets"][0]["name"] == "treatment"
    assert EVENTS.count("treatment") == 1


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("tracks", b"", "my phone.gpx is empty"),
        ("tracks", b"<gpx><trk></trk></gpx>", "my phone.gpx holds no fixes"),
        ("tracks", b"\x00\x01\x02", "my phone.gpx is no track"),
        ("model", b"PK\x03\x04", "model"),
        ("certificate", b"{}", "certificate"),
        ("events/read", b"x = ", "the events file is not TOML"),
        ("events/write", b"[1]", "a table of settings"),
        ("begin/watch", b"{", "not JSON"),
        ("begin/nothing", b'{"document": {}}', "not as the page writes them"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(
    client: Client, path: str, body: bytes, words: str
) -> None:
    name = {"X-File-Name": "my%20phone.gpx"}
    answer = client.post(f"/api/{path}", content=body, headers=OWNER | name)
    assert answer.status_code == 400
    assert words in answer.json()["problem"]
    assert "/tmp" not in answer.text


def test_too_large_a_file_is_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MAX_UPLOAD", 1000)
    answer = client.post("/api/tracks", content=b"x" * 2000, headers=OWNER)
    assert (answer.status_code, "the limit is 1,000" in answer.text) == (400, True)


def test_what_goes_wrong_does_not_show_what_was_sent(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("52.5200, 13.4060")

    monkeypatch.setattr("priste.studio.desk.Desk.add_file", broken)
    answer = client.post("/api/tracks", content=b"x", headers=OWNER)
    assert answer.status_code == 500
    assert answer.json() == {"problem": "something went wrong (RuntimeError)"}
    assert "52.52" not in caplog.text


def test_each_bearer_has_a_table_of_their_own(tmp_path: Path) -> None:
    async def by_name(request: Any) -> str | None:
        return request.headers.get("x-name")  # type: ignore[no-any-return]

    client = Client(Studio(by_name, None, account=True).app(), f"http://{HOST}")
    client.post("/api/tracks", content=gpx(tmp_path).read_bytes(), headers={"X-Name": "ada"})
    days = {
        name: len(client.get("/api/desk", headers={"X-Name": name}).json()["days"])
        for name in ("ada", "ben")
    }
    assert days["ada"] > 10
    assert days["ben"] == 0
