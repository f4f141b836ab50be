"""The studio on one's own machine: a server that only this machine reaches, and a browser on it."""

import secrets
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from hmac import compare_digest
from pathlib import Path

import uvicorn
from starlette.requests import Request

from priste.studio.web import Authorise, Studio, Table

HOST = "127.0.0.1"
OWNER = "owner"
"""Who uses the studio of one's own machine."""


def by_token(token: str) -> Authorise:
    """Let in whoever shows the token."""

    async def authorise(request: Request) -> str | None:
        kind, _, shown = request.headers.get("authorization", "").partition(" ")
        good = compare_digest(shown.encode(), token.encode())
        return OWNER if good and kind.lower() == "bearer" else None

    return authorise


def serve(port: int, table: Table, *, browser: bool, say: Callable[[str], None]) -> None:
    """Serve the page, with what lies on a table, on this machine until a signal asks to end."""
    with socket.socket() as listening, tempfile.TemporaryDirectory(prefix="priste-") as folder:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen()  # from now on whoever opens the address is heard, if not yet answered
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(32)
        hosts = [f"{name}:{port}" for name in (HOST, "localhost")]
        settings = uvicorn.Config(
            Studio(by_token(token), hosts, account=False, tables={OWNER: table}).app(),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
            ws="none",
            lifespan="off",
        )
        address = f"http://{HOST}:{port}/#{token}"
        say(f"Open {address}")
        say("Whoever has this address can look at what you load. End with Ctrl-C.")
        if browser:
            leading_to(address, Path(folder) / "studio.html")
            webbrowser.open((Path(folder) / "studio.html").as_uri())
        uvicorn.Server(settings).run(sockets=[listening])


def leading_to(address: str, page: Path) -> None:
    """Write a page that leads to an address: others can see what a browser is asked to open."""
    page.touch(mode=0o600)
    page.write_text(
        f"<!doctype html><meta charset=utf-8><title>PriSTE</title><meta name=referrer "
        f'content=no-referrer><meta http-equiv=refresh content="0;url={address}">'
        f'<a href="{address}">Open the studio</a>',
        encoding="utf-8",
    )
