"""Who may ask the studio, and what its page may do: nothing leaves, nobody else gets in.

The page has a token from the part of its address that no browser sends, and shows it with every
request for data. Another site that makes a browser ask here has no token; one that pretends to be
this machine (DNS rebinding) has another host name.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "geolocation=(), camera=(), microphone=()",
    "Cache-Control": "no-store",
}


class Guard:
    """Refuses requests of other sites and hosts, and says what the page may do."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] | None) -> None:
        self._app = app
        self._hosts = None if hosts is None else frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refusal = self._refusal(scope["path"], Headers(scope=scope))
        if refusal:
            await PlainTextResponse(refusal + "\n", 403)(scope, receive, guarded)
        else:
            await self._app(scope, receive, guarded)

    def _refusal(self, path: str, headers: Headers) -> str:
        host = headers.get("host", "").lower()
        if self._hosts is not None and host not in self._hosts:
            return "the studio answers to its own address alone"
        origin = headers.get("origin")
        foreign = origin is not None and urlsplit(origin).netloc.lower() != host
        if foreign and self._hosts is not None:  # behind a proxy, the host is another
            return "another site cannot ask the studio"
        followed = headers.get("sec-fetch-mode") == "navigate" and "/api/" not in path
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and not followed:
            return "another site cannot ask the studio"  # a link may lead to the page
        return ""
