"""The studio over HTTP: the page, and what it asks for."""

import asyncio
import json
import logging
import re
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from zoneinfo import available_timezones

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route

from priste import __version__
from priste.demo import EVENTS as EXAMPLE_EVENTS
from priste.demo import ZONE as EXAMPLE_ZONE
from priste.demo import city_days
from priste.errors import PristeError, StudioError
from priste.events import Withheld
from priste.protection import Protect
from priste.report.component import FOLDER as VIEWS
from priste.report.land import land_around
from priste.storage.limits import (
    MAX_EVENTS_BYTES,
    MAX_MARKUP_BYTES,
    at_most,
    content_of,
    refusing,
)
from priste.studio import document
from priste.studio.desk import Desk
from priste.studio.guard import Guard
from priste.studio.levels import EPSILONS, HABITS, NOISES, OBSERVERS, SIDES, Level, in_words_of_each
from priste.studio.runs import Run, Runs
from priste.studio.setting import CELLS, STEPS, Setting
from priste.studio.work import price, protect, watch
from priste.tracks import load_certificate
from priste.tracks.names import escaped
from priste.wording import as_odds

_log = logging.getLogger(__name__)

EXAMPLE_NAME, EXAMPLE_SEED = "a made-up person", 2019

MAX_UPLOAD = MAX_MARKUP_BYTES
"""The bytes of a file that the page sends."""

PAGE = Path(__file__).parent / "web"
IDLE_SECONDS = 3600.0
"""How long a gateway keeps what somebody has loaded and does not look at."""

KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}

Authorise = Callable[[Request], Awaitable[str | None]]
"""Returns who asks, or None if they may not."""

Answer = Callable[[Request, "Table"], Awaitable[Response]]


class Table:
    """A desk with its runs."""

    def __init__(self) -> None:
        self.desk, self.runs = Desk(), Runs()
        self.used = time.monotonic()
        self.document: dict[str, Any] | None = None
        """What is drawn to begin with."""

    def prepare(self, tracks: Sequence[Path], model: Path | None, events: Path | None) -> None:
        """Lay out files of the machine itself, before the page is opened."""
        if events is not None:
            self.document = page_of(content_of(events, MAX_EVENTS_BYTES, StudioError))
        zone = (self.document or {}).get("time_zone")
        for path in tracks:
            self.desk.add_file(path.name, path, zone)
        if model is not None:
            self.desk.open_model(model)

    def clear(self) -> None:
        """Take everything away."""
        self.runs.clear()
        self.desk.clear()


class Studio:
    """Answers the page."""

    def __init__(
        self,
        authorise: Authorise,
        hosts: Iterable[str] | None,
        *,
        account: bool,
        tables: dict[str, Table] | None = None,
    ) -> None:
        self._authorise, self._hosts, self._account = authorise, hosts, account
        self._tables = {} if tables is None else tables

    def app(self) -> Starlette:
        """Return the application."""
        api = [
            self._route("/start", self._start),
            self._route("/desk", self._desk),
            self._route("/tracks", self._add_track, "POST"),
            self._route("/clear", self._clear, "POST"),
            self._route("/example", self._example, "POST"),
            self._route("/model", self._open_model, "POST"),
            self._route("/model/forget", self._forget_model, "POST"),
            self._route("/events/write", self._write_events, "POST"),
            self._route("/events/read", self._read_events, "POST"),
            self._route("/certificate", self._certificate, "POST"),
            self._route("/begin/{kind}", self._begin, "POST"),
            self._route("/runs/{run}", self._status),
            self._route("/runs/{run}/result", self._result),
            self._route("/runs/{run}/stop", self._stop, "POST"),
            self._route("/runs/{run}/files/{name}", self._download),
        ]
        routes = [
            Route("/", _file(PAGE / "index.html")),
            *(Route(f"/parts/{path.name}", _file(path)) for path in _parts()),
            Mount("/api", routes=api),
        ]
        return Starlette(routes=routes, middleware=[Middleware(Guard, hosts=self._hosts)])

    def _route(self, path: str, answer: Answer, method: str = "GET") -> Route:
        async def handle(request: Request) -> Response:
            who = await self._authorise(request)
            if who is None:
                return _refused("open the studio anew: this page has no token for it", 401)
            try:
                return await answer(request, self._table(who))
            except PristeError as problem:
                return _refused(in_words_of_the_page(str(problem)), 400)
            except ClientDisconnect:
                return Response(status_code=400)
            except Exception as problem:  # its text may hold what is private
                _log.error("a request failed: %s", type(problem).__name__)
                return _refused(f"something went wrong ({type(problem).__name__})", 500)

        return Route(path, handle, methods=[method])

    def _table(self, who: str) -> Table:
        """Return the table of somebody; those that nobody has used for long are cleared."""
        now = time.monotonic()
        for name, table in list(self._tables.items()):
            if self._account and now - table.used > IDLE_SECONDS:
                table.clear()
                del self._tables[name]
        table = self._tables.setdefault(who, Table())
        table.used = now
        return table

    # what lies on the table

    async def _start(self, request: Request, table: Table) -> Response:  # noqa: ARG002
        """Tell the page what there is to choose from, and what is drawn to begin with."""
        return JSONResponse(
            {
                "version": __version__,
                "account": self._account,
                "observers": _told(OBSERVERS),
                "noises": _told(NOISES),
                "habits": _told(HABITS),
                "sides": _told(SIDES),
                "epsilons": [{"epsilon": e, "words": in_words_of_each(e)} for e in EPSILONS],
                "steps": STEPS,
                "cells": CELLS,
                "zones": sorted(available_timezones()),
                "land": await asyncio.to_thread(land_around),
                "document": table.document,
            }
        )

    async def _desk(self, request: Request, table: Table) -> Response:
        return await self._summary(request, table)

    async def _summary(self, request: Request, table: Table) -> Response:
        zone = request.headers.get("x-time-zone", "UTC")
        return JSONResponse(await asyncio.to_thread(table.desk.summary, zone))

    async def _add_track(self, request: Request, table: Table) -> Response:
        name = escaped(unquote(request.headers.get("x-file-name", "track")))[:200]
        zone = request.headers.get("x-time-zone", "UTC")
        async with _received(request, MAX_UPLOAD, Path(name).suffix) as path:
            try:
                await asyncio.to_thread(table.desk.add_file, name, path, zone)
            except PristeError as problem:
                told = str(problem).replace(path.name, name)
                raise StudioError(told if name in told else f"{name}: {told}") from None
        return await self._summary(request, table)

    async def _clear(self, request: Request, table: Table) -> Response:
        await asyncio.to_thread(table.clear)
        return await self._summary(request, table)

    async def _example(self, request: Request, table: Table) -> Response:  # noqa: ARG002
        def load() -> None:
            table.clear()
            table.desk.add(EXAMPLE_NAME, city_days(EXAMPLE_SEED))

        await asyncio.to_thread(load)
        found = await asyncio.to_thread(table.desk.summary, EXAMPLE_ZONE)
        return JSONResponse(found | {"document": page_of(EXAMPLE_EVENTS.encode())})

    async def _open_model(self, request: Request, table: Table) -> Response:
        async with _received(request, MAX_UPLOAD, ".npz") as path:
            await asyncio.to_thread(table.desk.open_model, path)
        return await self._summary(request, table)

    async def _forget_model(self, request: Request, table: Table) -> Response:
        await asyncio.to_thread(table.desk.forget_model)
        return await self._summary(request, table)

    # files

    async def _write_events(self, request: Request, table: Table) -> Response:  # noqa: ARG002
        asked = await _json(request)
        return PlainTextResponse(document.to_text(asked), media_type="application/toml")

    async def _read_events(self, request: Request, table: Table) -> Response:  # noqa: ARG002
        content = await _bytes(request, MAX_EVENTS_BYTES)
        return JSONResponse(await asyncio.to_thread(page_of, content))

    async def _certificate(self, request: Request, table: Table) -> Response:
        """Read a certificate, and check it if the model it was made with is on the table."""
        async with _received(request, MAX_UPLOAD, ".json") as path:
            certificate = await asyncio.to_thread(load_certificate, path)
        told: dict[str, Any] = {
            "sentences": list(certificate.sentences()),
            "checkable": certificate.link is None and not certificate.withholds_events,
            "verdicts": None,
        }
        model = await asyncio.to_thread(table.desk.known, certificate.model)
        if model is not None and told["checkable"]:
            found = await asyncio.to_thread(certificate.check, model)
            told["verdicts"] = [
                {
                    "name": escaped(verdict.name),
                    "epsilon": verdict.protection.epsilon,
                    "largest": float(verdict.largest),
                    "before": as_odds(verdict.before),
                    "after": as_odds(float(verdict.after[-1])),
                }
                for verdict in found.verdicts
            ]
        return JSONResponse(told)

    # runs

    async def _begin(self, request: Request, table: Table) -> Response:
        kind, asked = request.path_params["kind"], await _json(request)
        setting = Setting.of(asked)
        if kind == "price":
            work = price(table.desk, setting, str(asked.get("secret", "")))
        elif kind in _WORKS:
            work = _WORKS[kind](table.desk, setting)
        else:
            raise StudioError(f"the studio can {', '.join(_WORKS)} or price")
        return JSONResponse(table.runs.start(kind, work).status())

    async def _status(self, request: Request, table: Table) -> Response:
        run = table.runs.get(request.path_params["run"])
        status = FORGOTTEN if run is None else run.status()
        return JSONResponse(status | {"problem": in_words_of_the_page(status["problem"])})

    async def _result(self, request: Request, table: Table) -> Response:
        run = table.runs.get(request.path_params["run"])
        return Response(b"null" if run is None else run.result, media_type="application/json")

    async def _stop(self, request: Request, table: Table) -> Response:
        run = table.runs.get(request.path_params["run"])
        if run is not None:
            run.stop()
        return JSONResponse(FORGOTTEN if run is None else run.status())

    async def _download(self, request: Request, table: Table) -> Response:
        run, name = _run(request, table), request.path_params["name"]
        if name not in run.files:
            raise StudioError("there is no such file")
        content = await asyncio.to_thread(run.files[name])
        return Response(content, media_type="application/octet-stream")


_WORKS = {"watch": watch, "protect": protect}

FORGOTTEN: dict[str, Any] = {"state": "stopped", "revision": 0, "progress": 0, "problem": ""}
"""How a run stands that was cleared while the page was on its way to ask."""

_OPTION = re.compile(r" ?\((?:[^()]*, )?--[^()]*\)")


def in_words_of_the_page(message: str) -> str:
    """Return a message without the options of the command, which the page does not have."""
    return _OPTION.sub("", message)


def page_of(content: bytes) -> dict[str, Any]:
    """Return what the page shows of an events file, and what each ε means."""
    page = document.from_text(content)
    for secret in page["secrets"]:
        secret["words"] = in_words_of_each(Protect(Withheld(), secret["epsilon"]).epsilon)
    return page


def _run(request: Request, table: Table) -> Run:
    run = table.runs.get(request.path_params["run"])
    if run is None:
        raise StudioError("that computation is over and forgotten; begin it again")
    return run


def _told(levels: tuple[Level, ...]) -> list[dict[str, str]]:
    return [{"key": each.key, "name": each.name, "sentence": each.sentence} for each in levels]


def _parts() -> list[Path]:
    """Return the styles and scripts of the page, its own and those it shares with reports."""
    return [
        path
        for folder in (VIEWS, VIEWS / "vendor", PAGE, PAGE / "vendor")
        for path in sorted(folder.iterdir())
        if path.suffix in (".js", ".css")
    ]


def _file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:  # noqa: ARG001
        return FileResponse(path, media_type=KINDS[path.suffix])

    return serve


def _refused(words: str, status: int) -> Response:
    return JSONResponse({"problem": words}, status)


async def _bytes(request: Request, most: int) -> bytes:
    """Return the body of a request."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        at_most(size, most, "the bytes of the file", "take less of it", StudioError)
        parts.append(part)
    return b"".join(parts)


async def _json(request: Request) -> dict[str, Any]:
    """Return what the page asks with."""
    body = await _bytes(request, MAX_EVENTS_BYTES)
    with refusing("the page sent something that is not JSON", StudioError):
        asked = json.loads(body)
    if not isinstance(asked, dict):
        raise StudioError("the page asks with a table of settings")
    return asked


@asynccontextmanager
async def _received(request: Request, most: int, suffix: str) -> AsyncIterator[Path]:
    """Give a file with the body of a request, for as long as it is needed; only we can read it."""
    safe = suffix if suffix.isascii() and suffix[1:].isalnum() and len(suffix) < 12 else ""
    with tempfile.TemporaryDirectory(prefix="priste-") as folder:
        path, size = Path(folder) / f"upload-{secrets.token_hex(8)}{safe}", 0
        with path.open("wb") as file:
            async for part in request.stream():
                size += len(part)
                at_most(size, most, "the bytes of the file", "take less of it", StudioError)
                file.write(part)
        yield path
