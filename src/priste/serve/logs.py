"""Logs without secrets: what happened, never what an exception says unless it is one of ours.

The text of a foreign exception may hold whatever was being worked on: a place, a token, an address.
Its kind and where it came from are enough.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Literal

from priste.errors import PristeError


class _Formatter(logging.Formatter):
    def formatException(self, ei: Any) -> str:
        """Return what kind of exception it was and where, innermost first."""
        kind, error, trace = ei
        frames = traceback.extract_tb(trace)
        where = " ← ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-4:]))
        told = f": {error}" if isinstance(error, PristeError) else ""
        return f"{kind.__name__}{told} in {where}"


class Text(_Formatter):
    """A line for people."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")


class Json(_Formatter):
    """A line for machines."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one object."""
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            told["problem"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False)


def set_up(kind: Literal["json", "text"], level: int = logging.INFO) -> None:
    """Log to standard error, and silence those who would log addresses."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Json() if kind == "json" else Text())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in ("httpx", "httpcore", "uvicorn.access", "asyncio", "numba"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # and those below it
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
