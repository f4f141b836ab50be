"""Real counterparts, started for a test where they are installed."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx
import pytest


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, seconds: float = 10) -> None:
    """Wait until somebody listens on a port."""
    end = time.monotonic() + seconds
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < end, "nobody listens"
        time.sleep(0.05)


def program(name: str, *folders: str) -> str:
    """The path of a program, or skip the test."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", *folders])
    found = shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@contextmanager
def mosquitto(folder: Path) -> Iterator[int]:
    """Run the broker mosquitto, and give its port."""
    port = free_port()
    settings = folder / "mosquitto.conf"
    settings.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\n")
    with subprocess.Popen(
        [program("mosquitto"), "-c", str(settings)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as broker:
        try:
            wait_for(port)
            yield port
        finally:
            broker.terminate()


@contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    """Run a database server, and give the address of an empty database."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    initdb = program("initdb", *map(str, versions))
    data, port = folder / "data", free_port()
    as_user: dict[str, object] = {}
    if os.getuid() == 0:  # the server does not run as root
        try:
            user = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        data.mkdir()
        os.chown(data, user.pw_uid, user.pw_gid)
        for parent in (data, *data.parents):
            if parent.stat().st_uid == 0 and parent != Path("/"):
                parent.chmod(parent.stat().st_mode | 0o055)
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "cwd": "/"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    made = subprocess.run(
        [initdb, "-D", str(data), "-U", "priste", "-A", "trust"],
        **quiet,  # type: ignore[call-overload]
        **as_user,
        check=False,
    )
    assert made.returncode == 0, "initdb fails"
    command = [str(Path(initdb).with_name("postgres")), "-D", str(data), "-p", str(port)]
    command += ["-h", "127.0.0.1", "-k", ""]
    with subprocess.Popen(command, **quiet, **as_user) as server:  # type: ignore[call-overload]
        try:
            wait_for(port)
            address = f"postgresql://priste@127.0.0.1:{port}/postgres"
            _wait_until_ready(address)
            yield address
        finally:
            server.terminate()


def _wait_until_ready(address: str) -> None:
    import psycopg

    for _ in range(100):
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the database does not answer")


HOME_ASSISTANT = """
homeassistant:
  name: Test
  internal_url: "http://127.0.0.1:{port}"
http:
  server_host: 127.0.0.1
  server_port: {port}
api:
config:
onboarding:
"""


class HomeAssistant:
    """A Home Assistant that somebody has just installed, and to which they add OwnTracks."""

    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}/"
        self._client = httpx.Client(base_url=self._address, trust_env=False, timeout=60)

    def __enter__(self) -> Self:
        self._sign_in()
        self._wait_until_it_runs()
        self.webhook = self._add_owntracks()
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def _ask(self, path: str, **content: Any) -> Any:
        answer = self._client.post(path, **content)
        assert answer.status_code < 300, f"{path}: {answer.status_code}"
        return answer.json()

    def _sign_in(self) -> None:
        person = {"name": "Ada", "username": "ada", "password": "ada", "language": "en"}
        client = {"client_id": self._address}
        code = self._ask("api/onboarding/users", json=person | client)["auth_code"]
        grant = {"grant_type": "authorization_code", "code": code}
        token = self._ask("auth/token", data=grant | client)["access_token"]
        self._client.headers["Authorization"] = f"Bearer {token}"

    def _wait_until_it_runs(self) -> None:
        for _ in range(600):
            answer = self._client.get("api/config")
            if answer.status_code == 200 and answer.json()["state"] == "RUNNING":
                return
            time.sleep(0.1)
        raise AssertionError("Home Assistant does not start")

    def _add_owntracks(self) -> str:
        flows = "api/config/config_entries/flow"
        flow = self._ask(flows, json={"handler": "owntracks"})["flow_id"]
        added = self._ask(f"{flows}/{flow}", json={})
        return str(added["description_placeholders"]["webhook_url"])

    def state_of(self, entity: str) -> dict[str, Any] | None:
        """What it knows of somebody; None if it has never heard of them."""
        answer = self._client.get(f"api/states/{entity}")
        return answer.json() if answer.status_code == 200 else None


@contextmanager
def home_assistant(folder: Path) -> Iterator[HomeAssistant]:
    """Run Home Assistant, which `make` installs beside the tests' own environment."""
    hass = Path(sys.prefix, "home-assistant", "bin", "hass")
    if not hass.exists():
        pytest.skip("Home Assistant is not installed in .venv/home-assistant")
    port = free_port()
    (folder / "configuration.yaml").write_text(HOME_ASSISTANT.format(port=port))
    command = [str(hass), "--config", str(folder), "--skip-pip", "--log-file", str(folder / "log")]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as server:  # type: ignore[call-overload]
        try:
            wait_for(port, seconds=120)
            with HomeAssistant(port) as home:
                yield home
        finally:
            server.terminate()
