"""Progress is for those who look: on a terminal, and only if it takes long."""

import io
import sys
import time

import pytest

from priste.progress import progress_line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still until the test moves it."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_terminal_shows_it_after_two_seconds(
    seconds: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    progress = progress_line("audit")
    progress(0.1)
    assert screen.getvalue() == ""
    seconds[0] = 2.5
    progress(0.5)
    progress(0.6)  # too soon after the last
    progress(1.0)
    assert screen.getvalue() == "\raudit:  50.0%\raudit: 100.0%\n"


@pytest.mark.parametrize("stderr", [io.StringIO(), None], ids=["a file", "no console"])
def test_where_nobody_looks_nothing_is_written(
    stderr: io.StringIO | None, seconds: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stderr)
    progress = progress_line("audit")
    seconds[0] = 10.0
    progress(1.0)
    assert stderr is None or stderr.getvalue() == ""
