"""The gateway over HTTP: fixes in, the released stream out, and what its owner may look at.

Whoever sends hears a constant answer, which says nothing of anybody. Who may do what follows from
the token alone: nobody can name another person.
"""

import asyncio
import base64
import binascii
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from prometheus_client import generate_latest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from priste.errors import PayloadError
from priste.report.picture import released_views
from priste.serve.feed import geojson_feed, gpx_feed
from priste.serve.gateway import Gateway
from priste.serve.metrics import REGISTRY, REQUESTS
from priste.serve.payloads import MAX_BODY, SOURCES, Message
from priste.serve.store import Store
from priste.serve.ticker import Course
from priste.serve.tokens import Bearer, Role
from priste.studio.web import Studio

_log = logging.getLogger(__name__)

BODY_SECONDS = 20.0
"""How long a sender may take over a body."""

LONGEST_NUMBER = 18
"""More digits than the number of a stream or a certificate has."""

FEED_STEPS = 2000
"""How many steps a feed goes back."""

Found = TypeVar("Found")
Handler = Callable[[Request], Awaitable[Response]]


class Refusal(Exception):
    """A request that is answered with a status and a few constant words."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


class Web:
    """Answers requests to a gateway."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._reader = ThreadPoolExecutor(1, "reader")
        self._doorkeeper = ThreadPoolExecutor(1, "doorkeeper")  # for tokens not seen before: slow

    def app(self) -> Starlette:
        """Return the application."""
        routes: list[BaseRoute] = [
            Route("/healthz", self._counted("health", self._health)),
            Route("/metrics", self._counted("metrics", self._metrics)),
            *self._for("account", "admin", self._account),
            *self._for("certificates", "admin", self._certificates),
            *self._for("certificates/{stream}/{number}", "admin", self._certificate),
            *self._for("released", "admin", self._released),
            *self._for("receivers", "admin", self._receivers),
            *self._for("tokens", "admin", self._tokens),
            *self._for("dead-letters", "admin", self._dead_letters),
            *self._for("dead-letters/revive", "admin", self._revive, "POST"),
            *self._for("feed.geojson", "read", self._geojson),
            *self._for("feed.gpx", "read", self._gpx),
        ]
        studio = Studio(self._looks_after, None, account=True)
        routes += [Mount("/studio", studio.app())]
        for name in SOURCES:
            routes += self._for(name, "send", self._intake(name), "GET", "POST", "PUT")
        return Starlette(routes=routes)

    def _for(
        self,
        path: str,
        role: Role,
        answer: Callable[[Request, Bearer], Awaitable[Response]],
        *methods: str,
    ) -> list[Route]:
        """Return the routes to what bearers of a role may do, the token in a header or the path."""

        async def handle(request: Request) -> Response:
            found = await answer(request, await self._bearer(request, role))
            found.headers["cache-control"] = "no-store"
            return found

        counted = self._counted(path.partition("/")[0], handle)
        allowed = list(methods) or ["GET"]
        routes = [Route(f"/{path}", counted, methods=allowed)]
        if role != "admin":  # apps that know no headers; addresses end up in too many places
            routes.append(Route(f"/{path}/{{token}}", counted, methods=allowed))
        return routes

    def _counted(self, what: str, handle: Handler) -> Handler:
        async def counted(request: Request) -> Response:
            try:
                answer = await handle(request)
            except Refusal as refusal:
                answer = PlainTextResponse(refusal.words + "\n", refusal.status)
            except ClientDisconnect:
                answer = Response(status_code=400)
            except Exception as error:
                # its text may hold what was sent
                _log.error("a request for %s failed: %s", what, type(error).__name__)
                answer = PlainTextResponse("the gateway cannot take this now\n", 503)
            REQUESTS.labels(what, answer.status_code).inc()
            return answer

        return counted

    async def _read(self, look: Callable[[], Found]) -> Found:
        return await asyncio.get_running_loop().run_in_executor(self._reader, look)

    async def _look(self, look: Callable[[Store], Found]) -> Found:
        return await self._read(lambda: look(self._gateway.reading))

    async def _bearer(self, request: Request, role: Role) -> Bearer:
        token = _token(request)
        tokens = self._gateway.tokens
        thread = self._reader if tokens.was_verified(token) else self._doorkeeper
        loop = asyncio.get_running_loop()
        bearer = await loop.run_in_executor(thread, tokens.bearer, token)
        if bearer is None or bearer.role != role or bearer.person not in self._persons:
            raise Refusal(401, "this needs a token that is good for it")
        return bearer

    async def _looks_after(self, request: Request) -> str | None:
        """Return whose studio it is: that of the person whom the token looks after."""
        try:
            return (await self._bearer(request, "admin")).person
        except Refusal:
            return None

    @property
    def _persons(self) -> frozenset[str]:
        return frozenset(self._gateway.config.persons)

    # in

    def _intake(self, name: str) -> Callable[[Request, Bearer], Awaitable[Response]]:
        source = SOURCES[name]

        async def take(request: Request, bearer: Bearer) -> Response:
            body = await _body(request)
            kind = request.headers.get("content-type", "")
            key = self._gateway.config.persons[bearer.person].owntracks_key
            message = Message(request.url.query, kind, body)
            try:
                fixes = await asyncio.to_thread(source.read, message, key)
            except PayloadError as error:
                raise Refusal(400, str(error)) from None
            await self._gateway.take(bearer.person, fixes)
            return Response(source.answer, media_type=source.media_type)

        return take

    # out

    async def _health(self, request: Request) -> Response:  # noqa: ARG002
        ticker = self._gateway.ticker
        problem = "the gateway is starting" if ticker is None else ticker.problem
        told = {"status": "ok"} if not problem else {"status": "not well", "problem": problem}
        return JSONResponse(told, 503 if problem else 200)

    async def _metrics(self, request: Request) -> Response:  # noqa: ARG002
        return Response(generate_latest(REGISTRY), media_type="text/plain; version=0.0.4")

    async def _geojson(self, request: Request, bearer: Bearer) -> Response:  # noqa: ARG002
        content = await self._feed(bearer, geojson_feed)
        return Response(content, media_type="application/geo+json")

    async def _gpx(self, request: Request, bearer: Bearer) -> Response:  # noqa: ARG002
        return Response(await self._feed(bearer, gpx_feed), media_type="application/gpx+xml")

    async def _feed(self, bearer: Bearer, write: Callable[..., bytes]) -> bytes:
        course = self._course(bearer)
        sent = await self._sent(course)
        return await asyncio.to_thread(write, sent, course.place, course.clock)

    def _course(self, bearer: Bearer) -> Course:
        assert self._gateway.ticker is not None
        return self._gateway.ticker.courses[bearer.person]

    async def _sent(self, course: Course) -> dict[int, int]:
        """Return the last released cells by step, as far as they may be sent.

        The note beside the database comes before anybody hears of a step.
        """
        first = max(0, course.step - FEED_STEPS)
        cells = await self._look(lambda store: store.cells(course.stream, first))
        return {step: cell for step, cell in cells.items() if step < course.seen}

    async def _account(self, request: Request, bearer: Bearer) -> Response:  # noqa: ARG002
        account = self._course(bearer).account
        entries = [
            {
                "name": entry.name,
                "state": entry.state,
                "epsilon": entry.epsilon,
                "charged": entry.activation + entry.merging,
                "left": entry.left,
                "moved": entry.moved,
            }
            for entry in account or ()
        ]
        return JSONResponse({"step": account.step if account else 0, "events": entries})

    async def _certificates(self, request: Request, bearer: Bearer) -> Response:  # noqa: ARG002
        rows = await self._look(lambda store: store.certificates(bearer.person))
        names = ("stream", "number", "first_step", "stop_step")
        return JSONResponse([dict(zip(names, row, strict=True)) for row in rows])

    async def _certificate(self, request: Request, bearer: Bearer) -> Response:
        told = [request.path_params[name] for name in ("stream", "number")]
        if not all(text.isdecimal() and len(text) < LONGEST_NUMBER for text in told):
            raise Refusal(404, "there is no such certificate")
        stream, number = map(int, told)
        content = await self._look(lambda store: store.certificate(bearer.person, stream, number))
        if content is None:
            raise Refusal(404, "there is no such certificate")
        return Response(content, media_type="application/json")

    async def _released(self, request: Request, bearer: Bearer) -> Response:  # noqa: ARG002
        course = self._course(bearer)
        cells = [*(await self._sent(course)).values()]
        return JSONResponse(await asyncio.to_thread(released_views, course.place, cells, ()))

    async def _receivers(self, request: Request, bearer: Bearer) -> Response:  # noqa: ARG002
        waiting = await self._look(lambda store: store.waiting(bearer.person))
        receivers = self._gateway.config.persons[bearer.person].receivers
        names = ("waiting", "given up", "attempts", "problem")
        told = [
            {"name": each.name, "kind": each.kind}
            | dict(zip(names, waiting.get(each.name, (0, 0, 0, "")), strict=True))
            for each in receivers
        ]
        return JSONResponse(told)

    async def _tokens(self, request: Request, bearer: Bearer) -> Response:  # noqa: ARG002
        rows = await self._read(lambda: self._gateway.tokens.rows(bearer.person))
        return JSONResponse([row._asdict() for row in rows])

    async def _dead_letters(self, request: Request, bearer: Bearer) -> Response:  # noqa: ARG002
        rows = await self._look(lambda store: store.dead_letters(bearer.person))
        names = ("stream", "step", "receiver", "attempts", "problem")
        return JSONResponse([dict(zip(names, row, strict=True)) for row in rows])

    async def _revive(self, request: Request, bearer: Bearer) -> Response:  # noqa: ARG002
        count = await self._gateway.revive(bearer.person)
        return JSONResponse({"revived": count})


def _token(request: Request) -> str:
    """Return the token of a request: in its path, as a bearer's, or as a password."""
    if "token" in request.path_params:
        return str(request.path_params["token"])
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    if kind.lower() == "basic":
        try:
            name, _, password = base64.b64decode(value, validate=True).decode().partition(":")
        except (binascii.Error, ValueError):
            return ""
        return password or name
    return ""


async def _body(request: Request) -> bytes:
    """Return the body of a request; refuse one that is too large or too slow."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > MAX_BODY:
                    raise Refusal(413, f"a request has at most {MAX_BODY:,} bytes")
                parts.append(part)
    except TimeoutError:
        raise Refusal(408, f"a request is sent within {BODY_SECONDS:g} seconds") from None
    return b"".join(parts)
