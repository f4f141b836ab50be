"""What a bare installation says when it is asked for what its extras bring."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from priste import MissingExtraError
from priste.extras import needs_extra

SOURCES = Path(__file__).parent.parent / "src"
TRACKS = ("geopandas", "gpxpy", "pandas", "pyarrow")
CLI = (*TRACKS, "matplotlib", "rich", "typer")


def python(program: str, *words: str, without: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run a program in a Python that does not have some packages."""
    absent = f"import sys; sys.modules.update(dict.fromkeys({without!r})); sys.argv[1:] = {words!r}"
    path = os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", f"{absent}\n{program}"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


COMMAND = "import runpy; runpy.run_module('priste', run_name='__main__', alter_sys=True)"


def test_the_library_needs_no_extra() -> None:
    ended = python("import priste; print(priste.at([0], 1))", without=CLI)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("absent", ["typer", "pandas", "matplotlib"])
def test_the_command_names_what_to_install_in_one_line(absent: str) -> None:
    ended = python(COMMAND, "--help", without=(absent,))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        f"priste: the command needs {absent}, which is not installed: pip install 'priste[cli]'\n"
    )


@pytest.mark.parametrize(
    ("package", "extra", "absent"),
    [("priste.tracks", "tracks", TRACKS), ("priste.report", "cli", ("matplotlib",))]
    + [("priste.report", "cli", ("pandas",))],
)
def test_a_package_without_its_extra_says_what_to_install(
    package: str, extra: str, absent: tuple[str, ...]
) -> None:
    program = f"""
from priste import PristeError
try:
    import {package}
except ImportError as error:
    assert isinstance(error, PristeError)
    print(error.name, error, sep=": ")
"""
    ended = python(program, without=absent)
    assert ended.returncode == 0, ended.stderr
    name, said = ended.stdout.strip().split(": ", 1)
    assert name in absent
    assert said == f"{package} needs {name}, which is not installed: pip install 'priste[{extra}]'"


def test_a_module_of_ours_that_is_missing_is_not_blamed_on_the_installation() -> None:
    with (
        pytest.raises(ModuleNotFoundError, match="priste.nothing") as raised,
        needs_extra("priste.tracks", "tracks"),
    ):
        import priste.nothing  # type: ignore[import-not-found]  # noqa: F401
    assert not isinstance(raised.value, MissingExtraError)
