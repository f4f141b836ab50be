"""The long checks run, in small, and each of them can fail."""

import json
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from verification import CHECKS
from verification.__main__ import main, summary
from verification.mutations import MODULES
from verification.mutations.__main__ import EQUIVALENT
from verification.mutations.__main__ import main as mutate
from verification.report import Finding, run

TINY = 0.02
ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", CHECKS)
def test_each_check_agrees_and_notices_its_mistake(name: str) -> None:
    report = run(name, TINY)
    assert report.statement.endswith(".")
    assert [f for f in report.findings if f.passed is False] == []
    assert report.findings[-1].what.startswith("planted mistake")
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


def test_mutants_are_tried_on_tests_that_there_are() -> None:
    for module, files in MODULES.items():
        assert (ROOT / "src/priste" / f"{module}.py").is_file()
        assert files
        assert all((ROOT / "tests" / file).exists() for file in files)


def test_what_is_said_to_be_equivalent_is_in_its_module_and_explained() -> None:
    entries = tomllib.loads(EQUIVALENT.read_text())["equivalent"]
    assert entries
    for entry in entries:
        source = (ROOT / "src/priste" / f"{entry['module']}.py").read_text()
        lines = {" ".join(two.split()) for two in _neighbours(source.splitlines())}
        assert " ".join(entry["line"].split()) in lines, entry
        assert entry["becomes"] != entry["line"]
        assert entry["why"]


def _neighbours(lines: list[str]) -> list[str]:
    return lines + [f"{one} {other}" for one, other in pairwise(lines)]


def test_without_the_program_that_makes_mutants_it_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verification.mutations.__main__.find_spec", lambda _: None)
    assert mutate([]) == 2
    assert "pip install cosmic-ray" in capsys.readouterr().out
    monkeypatch.setattr("verification.mutations.__main__.find_spec", lambda _: "there")
    assert mutate(["dyadics"]) == 2
    assert "there is no module 'dyadics'" in capsys.readouterr().out
