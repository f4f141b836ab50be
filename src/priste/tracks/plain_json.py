"""JSON as the standard has it, from anywhere: shallow, finite, each key once."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from priste.errors import PristeError
from priste.tracks.limits import MAX_NESTING, at_most, content_of, refusing

_NO_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"|[^"\[\]{}]++', re.DOTALL)


def read(path: Path, most: int, error: type[PristeError], what: str = "JSON") -> Any:
    """Return what a file of at most `most` bytes holds; `what` is what it should have been."""
    content = content_of(path, most, error)
    with refusing(f"{path.name} is not {what}", error):
        return parsed(content, error)


def parsed(content: bytes, error: type[PristeError]) -> Any:
    """Return the value of a JSON text; it may raise ValueError too."""
    at_most(_depth(content), MAX_NESTING, "the nesting of its lists", "make it flat", error)
    return json.loads(
        content.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_no_number
    )


def _depth(content: bytes) -> int:
    """Return how deep brackets lie in each other, those in strings left out."""
    brackets = np.frombuffer(_NO_BRACKETS.sub(b"", content), dtype=np.uint8)
    turns = np.where(np.isin(brackets, list(b"[{")), 1, -1)
    return int(np.cumsum(turns, dtype=np.int32).max(initial=0))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return table


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
