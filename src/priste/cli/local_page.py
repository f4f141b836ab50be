"""`priste studio`: the page, on one's own machine."""

from typing import Annotated

import typer

from priste.cli.console import Interrupted, note, say
from priste.extras import needs_extra


def studio(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on (default: any free one).")
    ] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Draw a secret on a map, see what your location gives away, and see it protected.

    Opens a page in the browser. It is served by this machine to this machine alone, and forgets
    everything when it ends.
    """
    with needs_extra("the studio", "studio"):
        from priste.studio.server import serve
    try:
        serve(port, browser=browser, say=say)
    except Interrupted:  # how a studio is meant to end
        note("the studio is closed; nothing was kept")
