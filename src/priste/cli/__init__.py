"""The command `priste`."""

from pathlib import Path
from typing import Annotated

import typer

from priste import __version__
from priste import demo as story
from priste.cli.check import audit, explain
from priste.cli.console import clear_errors, say, working
from priste.cli.gateway import kept_fixes, serve, token
from priste.cli.learn import fit, simulate
from priste.cli.local_page import studio
from priste.cli.many import certificates, protect_many
from priste.cli.release import protect, quantify

app = typer.Typer(
    name="priste",
    help="Keep events secret in location streams: fit a model, protect tracks, audit certificates.",
    epilog="Exit codes: 0 success, 1 internal error, 2 usage error or missing packages, 3 bad "
    "input, 4 a promise is not kept, 5 a file cannot be read or written, 128 + n ended by signal "
    "n. Output is atomic: all files or none.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # they would print local variables, and those are secrets
)


def show_version(asked: bool) -> None:
    """Print the version and exit."""
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
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of the synthetic city and of the draws.")] = 2019,
) -> None:
    """Fit, protect, audit and report on a synthetic city."""
    with working("demo"):
        for line in story.tell(out, seed):
            say(line)


for command in (
    *(fit, simulate, quantify, protect, protect_many, certificates, audit, explain),
    *(studio, serve, kept_fixes),
):
    app.command()(command)
app.add_typer(token, name="token")


def main() -> None:
    """Run the command."""
    with clear_errors():
        app()
