"""The long checks run, in small, and each of them can fail."""

import json

import pytest
from verification import CHECKS
from verification.__main__ import main, summary
from verification.report import Finding, run

TINY = 0.02


@pytest.mark.parametrize("name", CHECKS)
def test_each_check_agrees_and_notices_its_mistake(name: str) -> None:
    report = run(name, TINY)
    assert report.statement.endswith(".")
    assert [f for f in report.findings if f.passed is False] == []
    assert report.findings[-1].what.startswith("put in on purpose")
    assert len(report.findings) > 1
    assert json.loads(json.dumps(report))  # it can be kept


def test_a_finding_that_fails_is_an_error_and_one_that_is_missing_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = [Finding("a", "1 of 1", True), Finding("b", "no CPLEX", None)]
    assert not summary(found)
    assert summary([*found, Finding("c", "0 of 1", False)])
    assert "1 agree, 1 failed, 1 could not be checked here" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["worst_belief", "remap"])
def test_a_program_that_is_not_installed_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"verification.{name}.find_spec", lambda _: None)
    (missing,) = [f for f in run(name, TINY).findings if f.passed is None]
    assert missing.numbers == "CPLEX is not installed"


def test_an_unknown_check_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sampling"]) == 2
    assert "there is no check 'sampling'" in capsys.readouterr().out
