"""Strict JSON from untrusted files: shallow, with finite numbers and unique keys."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from priste.errors import PristeError
from priste.storage.limits import MAX_NESTING, at_most, content_of, refusing

_NO_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"|[^"\[\]{}]++', re.DOTALL)


def read(path: Path, most: int, error: type[PristeError], what: str = "JSON") -> Any:
    """Return the content of a file of at most `most` bytes; errors say it is not `what`."""
    content = content_of(path, most, error)
    with refusing(f"{path.name} is not {what}", error):
        return parsed(content, error)


def parsed(content: bytes, error: type[PristeError]) -> Any:
    """Return the value of a JSON text; may also raise ValueError."""
    at_most(_depth(content), MAX_NESTING, "the nesting of its lists", "make it flat", error)
    value = json.loads(
        content.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_no_number
    )
    if b"\\u" in content:  # an escaped surrogate without its other half is no text
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _depth(content: bytes) -> int:
    """Return how deeply brackets are nested, not counting those in strings."""
    brackets = np.frombuffer(_NO_BRACKETS.sub(b"", content), dtype=np.uint8)
    turns = np.where(np.isin(brackets, list(b"[{")), 1, -1)
    return int(np.cumsum(turns, dtype=np.int32).max(initial=0))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return table


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")
