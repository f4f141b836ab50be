"""A command that a signal ends leaves nothing half made."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from priste import cli, demo
from priste.cli import learn
from priste.cli.console import Interrupted, clear_errors
from priste.report import delivery
from priste.storage.atomic_files import SIGNALS
from priste.tracks import save_model, write
from tests.tracks import city


@pytest.fixture(autouse=True)
def signals_that_end() -> Iterator[None]:
    """Signals as a terminal sends them; under nohup, or in the background, some are ignored."""
    usual = {each: signal.signal(each, signal.SIG_DFL) for each in SIGNALS}
    yield
    for each, handler in usual.items():
        signal.signal(each, handler)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with a model, an events file and a day to protect."""
    save_model(city.model(), tmp_path / "model.npz")
    city.events_file(tmp_path)
    write(city.days(10, 11), tmp_path / "day.csv")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes | None]:
    paths = sorted(folder.rglob("*"))
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in paths}


def protect(desk: Path, *more: str) -> list[str]:
    files = ["-m", str(desk / "model.npz"), "-e", str(desk / "events.toml")]
    return ["protect", str(desk / "day.csv"), *files, "--seed", "1", *more]


def ended(monkeypatch: pytest.MonkeyPatch, *words: str) -> object:
    monkeypatch.setattr(sys, "argv", ["priste", *words])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return end.value.code


def half_written(number: int) -> Callable[..., None]:
    """A writer that a signal stops in the middle of a file."""

    def write_half(_: object, path: Path, *__: Any) -> None:
        path.write_text("half")
        os.kill(os.getpid(), number)

    return write_half


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("again", [False, True])
def test_protect_restores_what_was_there(
    desk: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: int,
    again: bool,
) -> None:
    if again:
        assert ended(monkeypatch, *protect(desk, "--public-report", "--no-report")) in (0, None)
    before = contents(desk)
    monkeypatch.setattr(delivery, "write_as", half_written(number))
    assert ended(monkeypatch, *protect(desk, "--force", "--no-report")) == 128 + number
    assert contents(desk) == before
    assert f"ended by {signal.Signals(number).name}" in capsys.readouterr().err


def test_fit_leaves_no_model(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(desk)
    monkeypatch.setattr(learn, "write_model", half_written(signal.SIGTERM))
    words = "fit", str(desk / "day.csv"), "--step", "1h", "-o"
    for target in ("new.npz", "model.npz"):
        code = ended(monkeypatch, *words, str(desk / target), "--force")
        assert code == 128 + signal.SIGTERM
        assert contents(desk) == before


def test_the_demo_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "write_model", half_written(signal.SIGTERM))
    code = ended(monkeypatch, "demo", "--out", str(tmp_path / "demo"))
    assert code == 128 + signal.SIGTERM
    assert contents(tmp_path) == {}


def test_a_signal_that_compiled_code_hands_on_is_still_a_signal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    handed_on = SystemError("returned a result with an exception set")
    handed_on.__cause__ = Interrupted(15)
    with pytest.raises(SystemExit) as end, clear_errors():
        raise SystemError("returned a result with an exception set") from handed_on
    assert end.value.code == 128 + signal.SIGTERM
    assert "ended by SIGTERM" in capsys.readouterr().err
    with pytest.raises(SystemError), clear_errors():
        raise SystemError("another")


@pytest.mark.parametrize("wait", [0.0, 0.4])
def test_a_process_that_is_terminated_while_it_writes_changes_nothing(
    desk: Path, wait: float
) -> None:
    before = contents(desk)
    command = [sys.executable, "-m", "priste", *protect(desk, "--public-report")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not list(desk.rglob("*.partial")):
            time.sleep(0.005)
        time.sleep(wait)
        process.terminate()
        _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, err
    assert contents(desk) == before
