import pytest

from priste.calibration import search
from reproduction import run
from tests.reproduction.test_run import TINY, one_figure


@pytest.fixture
def one_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "FAST", TINY)
    monkeypatch.setattr(run, "experiments", one_figure)
    monkeypatch.setattr(run, "_measure_alone", lambda *_: None)
    monkeypatch.setattr(search, "_MANY", 400)  # a quick search will do
