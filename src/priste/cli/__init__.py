"""The command `priste`."""

from pathlib import Path
from typing import Annotated

import typer

from priste import __version__
from priste import demo as story
from priste.cli.check import audit, explain
from priste.cli.console import clear_errors, say, working
from priste.cli.learn import fit, simulate
from priste.cli.release import protect, quantify

app = typer.Typer(
    name="priste",
    help="Keep events secret in location streams: learn a model, protect tracks, check promises.",
    epilog="Exit codes: 0 done, 1 our defect, 2 not understood (or packages are missing), "
    "3 bad input, 4 promise not kept, 5 not read or written.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # they would print local variables, and those are secrets
)


def show_version(asked: bool) -> None:
    """Say which version this is, and end."""
    if asked:
        say(f"priste {__version__}")
        raise typer.Exit


@app.callback()
def before_any_command(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Take the options of the command itself."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the files it makes.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Of the synthetic city and the draws.")] = 2019,
) -> None:
    """Do the whole job on a synthetic city: fit, protect, audit, report."""
    with working("demo"):
        for line in story.tell(out, seed):
            say(line)


for command in (fit, simulate, quantify, protect, audit, explain):
    app.command()(command)


def main() -> None:
    """Run the command."""
    with clear_errors():
        app()
