"""What is said about the package in several places is the same, and what it must bring is there."""

import logging
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import priste

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pins(file: str) -> dict[str, str]:
    """The versions that a constraints file gives, by the name of the package."""
    lines = (ROOT / file).read_text().lower().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def bounds() -> dict[str, str]:
    """The lower bounds of everything that any installation may ask for, tools aside."""
    extras = [extra for name, extra in PROJECT["optional-dependencies"].items() if name != "docs"]
    asked = PROJECT["dependencies"] + [one for extra in extras for one in extra]
    plain = [one.partition(";")[0] for one in asked]
    found = dict(one.split(">=") for one in plain if not one.startswith("priste["))
    bare = {name.partition("[")[0]: bound for name, bound in found.items()}
    return {name: bound for name, bound in bare.items() if name not in ("mypy", "ruff")}


def test_the_changelog_begins_with_this_version() -> None:
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == priste.__version__


def test_the_citation_is_of_this_version() -> None:
    (version,) = re.findall(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert version == priste.__version__


def test_the_version_is_said_in_one_place() -> None:
    assert "version" not in PROJECT
    assert PROJECT["dynamic"] == ["version"]


def test_the_command_tells_its_version() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "priste", "--version"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, f"priste {priste.__version__}\n"), ended.stderr


def test_the_shell_command_is_the_module() -> None:
    assert PROJECT["scripts"] == {"priste": "priste.__main__:main"}


def test_the_source_archive_has_every_folder_that_is_imported() -> None:
    grafted = re.findall(r"^graft (\S+)$", (ROOT / "MANIFEST.in").read_text(), re.MULTILINE)
    assert {folder.parent.name for folder in ROOT.glob("*/__init__.py")} <= set(grafted)


def test_requirements_have_lower_bounds_only() -> None:
    for version in bounds().values():
        assert re.fullmatch(r"[0-9.]+", version)


@pytest.mark.parametrize("name", bounds())
def test_the_lowest_version_that_is_tested_is_the_one_that_is_promised(name: str) -> None:
    promised, tested = bounds()[name], pins("constraints-lowest.txt")[name]
    assert f"{tested}.".startswith(f"{promised}.")
    assert name in pins("constraints.txt")


def test_the_library_logs_under_its_name_and_is_silent_unless_asked() -> None:
    handlers = logging.getLogger("priste").handlers
    assert any(isinstance(handler, logging.NullHandler) for handler in handlers)


def test_the_log_tells_how_large_an_event_is_and_not_where(
    caplog: pytest.LogCaptureFixture,
) -> None:
    mobility = priste.Mobility.gaussian(priste.Grid(rows=1, columns=97), sigma=1.0)
    with caplog.at_level(logging.DEBUG, logger="priste"):
        priste.prior_probability(priste.presence([53], [71, 72]), mobility)
    assert [record.getMessage() for record in caplog.records] == [
        "an event over 2 steps has 2 worlds"
    ]


def test_the_parts_of_pages_are_packed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    packed = {
        path
        for pattern in settings["package-data"]["priste"]
        for path in (ROOT / "src" / "priste").glob(pattern)
        if path.is_file()
    }
    parts = {path for path in (ROOT / "src" / "priste").rglob("web/**/*") if path.is_file()}
    assert parts
    assert parts <= packed
