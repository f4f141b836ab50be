"""TOML from untrusted files: small, shallow, with short keys."""

import re
import tomllib
from pathlib import Path
from typing import Any

from priste.errors import PristeError
from priste.storage.limits import MAX_EVENTS_BYTES, MAX_NESTING, at_most, content_of, refusing

_TOKEN = re.compile(
    r'(?P<key>[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|\'[^\'\n]*+\')'
    r"|(?P<dot>[ \t]*+\.[ \t]*+)|(?P<open>[\[{])|(?P<close>[\]}])|[\"'#][^\n]*+|."
)
_COMMA = re.compile(r"=[ \t]*+\d++,\d")


def read(path: Path, error: type[PristeError]) -> dict[str, Any]:
    """Return the tables of a file."""
    return parsed(content_of(path, MAX_EVENTS_BYTES, error), path.name, error)


def parsed(content: bytes, name: str, error: type[PristeError]) -> dict[str, Any]:
    """Return the tables of a file's content."""
    with refusing(f"{name} is not TOML", error):
        text = content.decode("utf-8-sig")
        _check(text, error)
        try:
            return tomllib.loads(text.replace("\r\n", "\n"))
        except tomllib.TOMLDecodeError as problem:
            if _COMMA.search(text) is None:
                raise
            raise error(f"{problem}; write decimals with a point, as in 52.5") from None


def _check(text: str, error: type[PristeError]) -> None:
    """Refuse what slows the parser down or breaks it: deep nesting, and keys of many parts."""
    depth = parts = 0
    for line in text.split("\n"):
        for token in _TOKEN.finditer(line):
            kind = token.lastgroup
            if kind != "key":
                parts = parts + 1 if kind == "dot" else 0
            depth += (kind == "open") - (kind == "close")
            if depth > MAX_NESTING or parts > MAX_NESTING:
                at_most(depth, MAX_NESTING, "the nesting of its lists", "make it flat", error)
                at_most(parts, MAX_NESTING, "the parts of a key", "use a shorter one", error)
        parts = 0
