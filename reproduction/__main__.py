"""Regenerate the paper's evaluation: `python -m reproduction --fast`."""

from pathlib import Path
from typing import Annotated

import typer

from priste.cli.console import as_json, clear_errors, say, working
from priste.cli.options import Json
from reproduction.run import reproduce
from reproduction.tables import counts, verdicts

RESULTS = Path("results")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder for the report; raw results already there are used again "
            "(default: results/reproduction, with --fast results/reproduction-fast).",
        ),
    ] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="Few runs and settings: minutes instead of hours.")
    ] = False,
    geolife: Annotated[
        list[Path] | None,
        typer.Option(
            help="A person's folder of Geolife, such as Geolife/Data/000. Repeat it to compare "
            "people."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes at once (default: one per core).")
    ] = None,
    json: Json = False,
) -> None:
    """Regenerate the evaluation of the PriSTE paper, with a verdict on each of its claims.

    You can interrupt it: the next call with the same folder continues where it stopped.
    """
    folder = out or RESULTS / ("reproduction-fast" if fast else "reproduction")
    files, results = reproduce(
        folder, geolife=geolife or (), fast=fast, workers=workers, working=working
    )
    table = verdicts(results)
    if json:
        claims = [dict(zip(table.head, row, strict=True)) for row in table.rows]
        missing = list(results.why_missing.values())
        as_json({"report": str(files[0]), "missing": missing, "claims": claims})
        return
    for where, text, _, verdict, numbers, condition in table.rows:
        why = f" ({condition})" if condition else ""
        say(f"{verdict}{why}: {text} [{where}]" + (f"\n    {numbers}" if numbers else ""))
    say()
    counted = counts(table)
    for kind, *numbers_of in counted.rows:
        listed = zip(numbers_of, counted.head[1:], strict=True)
        say(f"Claims {kind}: " + ", ".join(f"{n} {verdict}" for n, verdict in listed if n) + ".")
    for why in results.why_missing.values():
        say(f"Missing: {why}")
    say(f"Report:  {files[0]}")


if __name__ == "__main__":
    with clear_errors():
        app()
