"""The paper's evaluation, from the command."""

from pathlib import Path
from typing import Annotated

import typer

from priste.cli.console import as_json, say, working
from priste.cli.options import Json


def reproduce(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder for the report; kept results are reused "
            "(default: reproduction, with --fast reproduction-fast).",
        ),
    ] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="Few runs and settings: minutes instead of hours.")
    ] = False,
    geolife: Annotated[
        list[Path] | None,
        typer.Option(
            help="A person's folder of Geolife, such as Geolife/Data/000; again for others, to "
            "see how much depends on who it is."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes at once (default: one per core).")
    ] = None,
    json: Json = False,
) -> None:
    """Regenerate the evaluation of the PriSTE paper, with a verdict on each of its claims.

    Interrupt it whenever you like: the next call into the same folder goes on from there.
    """
    from priste.reproduce import reproduce as regenerate  # it draws: not for other commands
    from priste.reproduce.tables import counted, verdicts

    folder = Path("reproduction-fast" if fast else "reproduction") if out is None else out
    files, results = regenerate(
        folder, geolife=geolife or (), fast=fast, workers=workers, working=working
    )
    table = verdicts(results)
    if json:
        rows = [dict(zip(table.head, row, strict=True)) for row in table.rows]
        missing = list(results.why_missing.values())
        as_json({"report": str(files[0]), "missing": missing, "claims": rows})
        return
    for where, text, _, verdict, numbers, condition in table.rows:
        why = f" ({condition})" if condition else ""
        say(f"{verdict}{why}: {text} [{where}]" + (f"\n    {numbers}" if numbers else ""))
    say("\n" + counted((row[2], row[3]) for row in table.rows))
    if fast:
        say("With so few runs little rises above chance: these verdicts are for trying.")
    for why in results.why_missing.values():
        say(f"Missing: {why}")
    say(f"Report:  {files[0]}")
