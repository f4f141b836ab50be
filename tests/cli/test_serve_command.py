import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pandas as pd
import pytest
from typer.testing import CliRunner

from priste.cli import app
from priste.errors import PristeError
from priste.serve.config import read_config
from priste.tracks import read
from tests.serve.rig import CONFIG, HOUR, Rig, Watch, at, live, written
from tests.serve.servers import free_port, wait_for


def priste(folder: Path, *words: str, code: int = 0) -> str:
    """What a command says, beside the configuration of a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        ended = CliRunner().invoke(app, words)
    finally:
        os.chdir(before)
    if code == 0:
        assert ended.exception is None, ended.exception
        return ended.output
    assert isinstance(ended.exception, PristeError)
    return str(ended.exception)


def test_init_writes_a_configuration_that_is_read_back_and_shows_tokens_once(
    tmp_path: Path,
) -> None:
    said = priste(tmp_path, "serve", "--init", "--person", "ada")
    config = read_config(tmp_path / "gateway.toml")
    assert list(config.persons) == ["ada"]
    tokens = re.findall(r"priste_[0-9a-f]{12}_\S{43}", said)
    assert len(tokens) == len(set(tokens)) == 3
    assert (tmp_path / "gateway.toml").stat().st_mode & 0o077 == 0
    assert (tmp_path / "gateway.db").stat().st_mode & 0o077 == 0
    listed = priste(tmp_path, "token", "list")
    assert sorted(line.split()[2] for line in listed.splitlines()) == ["admin", "read", "send"]
    assert not any(token in listed for token in tokens)
    number = tokens[0].split("_")[1]
    assert "is revoked" in priste(tmp_path, "token", "revoke", number)
    assert f"{number}  ada  send   revoked" in priste(tmp_path, "token", "list")
    assert "already exists" in priste(tmp_path, "serve", "--init", code=3)
    assert "there is no file habits.npz; priste fit makes one" in priste(tmp_path, "serve", code=3)


def test_tokens_are_made_for_people_and_roles_that_there_are(tmp_path: Path) -> None:
    written(tmp_path)
    made = priste(tmp_path, "token", "add", "ada", "read", "--label", "tablet")
    assert made.startswith("priste_")
    assert "tablet" in priste(tmp_path, "token", "list")
    for words, message in (
        (("add", "eve", "read"), "has no person 'eve'"),
        (("add", "ada", "all"), "a token is one of send, read, admin"),
        (("revoke", "12"), "there is no token '12'"),
    ):
        assert message in priste(tmp_path, "token", *words, code=3)


def test_check_reads_what_the_configuration_names(tmp_path: Path) -> None:
    written(tmp_path)
    said = priste(tmp_path, "serve", "--check")
    assert "is fine. People: ada, bob" in said
    (price,) = re.findall(r"persons\.bob: a release lies (\S+) km from the truth at first", said)
    assert 0.5 < float(price) < 3
    assert "the same place wherever they are" not in said
    written(tmp_path, CONFIG.replace("[persons.ada]", "[persons.ada]\nbudget = 0.001"))
    said = priste(tmp_path, "serve", "--check")
    assert len(re.findall("It is the same place wherever they are", said)) == 1
    (tmp_path / "events.toml").write_text("[events")
    assert "persons.ada: events.toml is not TOML" in priste(tmp_path, "serve", "--check", code=3)


def test_kept_fixes_come_out_as_a_track_to_fit_a_model_to(tmp_path: Path) -> None:
    start = pd.Timestamp("2024-06-03 08:00", tz="Europe/Berlin")

    async def story(rig: Rig) -> None:
        for hour in range(2):
            await rig.gateway.take("bob", [at(start + hour * HOUR, 3)])
            rig.watch.moment = start + (hour + 1) * HOUR
            await rig.end_steps()

    live(written(tmp_path), story, watch=Watch())
    said = priste(tmp_path, "kept-fixes", "bob", "--out", "bob.csv")
    assert "Wrote 2 fixes to bob.csv. They are private." in said
    table = read(tmp_path / "bob.csv")
    assert table["time"].tolist() == [start, start + HOUR]
    assert (tmp_path / "bob.csv").stat().st_mode & 0o077 == 0
    assert "no fixes are kept for ada" in priste(
        tmp_path, "kept-fixes", "ada", "--out", "ada.csv", code=3
    )


@contextmanager
def served(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", str, str]]:
    """A gateway in a process of its own, its address, and a token to send with."""
    port = free_port()
    written(folder, CONFIG.replace("workers = 0", f"workers = 1\nport = {port}"))
    token = priste(folder, "token", "add", "ada", "send").split()[0]
    with subprocess.Popen(
        [sys.executable, "-m", "priste", "serve"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    ) as server:
        try:
            wait_for(port, 60)
            yield server, f"http://127.0.0.1:{port}", token
        finally:
            server.kill()


def test_the_gateway_serves_until_a_signal_and_ends_in_order(tmp_path: Path) -> None:
    with served(tmp_path) as (server, address, token):
        message = {"_type": "location", "lat": 52.52, "lon": 13.4, "tst": int(time.time())}
        answer = httpx.post(f"{address}/owntracks", json=message, auth=("x", token))
        assert (answer.status_code, answer.text) == (200, "[]")
        assert httpx.get(f"{address}/healthz").json() == {"status": "ok"}
        assert "server" not in answer.headers
        server.send_signal(signal.SIGTERM)
        said = server.communicate(timeout=30)[1]
    assert server.returncode == 0
    assert f"listening on {address} for 2 people" in said
    assert said.endswith("the gateway has ended; what was taken is kept\n")
    assert "Traceback" not in said
    assert token not in said
    assert "52.52" not in said


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="there is no /proc to see processes in")
def test_a_gateway_that_is_killed_takes_its_processes_along(tmp_path: Path) -> None:
    with served(tmp_path) as (server, _, _):
        tasks = Path(f"/proc/{server.pid}/task").iterdir()
        workers = [pid for task in tasks for pid in (task / "children").read_text().split()]
        assert workers
        server.kill()
        server.wait()
        for _ in range(100):
            alive = [pid for pid in workers if _is_alive(Path(f"/proc/{pid}"))]
            if not alive:
                return
            time.sleep(0.1)
    raise AssertionError("a worker lives on")


def _is_alive(process: Path) -> bool:
    try:
        return b"State:\tZ" not in (process / "status").read_bytes()
    except FileNotFoundError:
        return False
