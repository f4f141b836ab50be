"""`priste studio`: the page, on one's own machine."""

from pathlib import Path
from typing import Annotated

import typer

from priste.cli.console import Interrupted, note, say, working
from priste.extras import needs_extra


def studio(
    tracks: Annotated[
        list[Path] | None, typer.Argument(help="Tracks of one person: files, folders or ZIP files.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="A model, instead of one fitted there.")
    ] = None,
    events: Annotated[
        Path | None, typer.Option("--events", "-e", help="An events file to begin with.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on (default: any free one).")
    ] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Draw a secret on a map, see what your location gives away, and see it protected.

    Opens a page in the browser; tracks can also be dropped there. It is served by this machine to
    this machine alone, and forgets everything when it ends.
    """
    with needs_extra("the studio", "studio"):
        from priste.studio.server import serve
        from priste.studio.web import Table
    table = Table()
    with working("reading"):
        table.prepare(tracks or [], model, events)
    try:
        serve(port, table, browser=browser, say=say)
    except Interrupted:  # how a studio is meant to end
        note("the studio is closed; nothing was kept")
