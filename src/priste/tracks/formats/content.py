"""What a file is, by what it begins with: its name may say anything."""

import re
from pathlib import Path

from priste.errors import TrackError
from priste.storage.limits import size_of

BEGINNING = 65_536
"""The bytes of a file that are looked at."""

_MARKS = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),  # an empty one
    (b"PAR1", "parquet"),
    (b"Geolife trajectory", "plt"),
)
_ROOT = re.compile(rb"<\s*(?:[\w.-]+:)?(gpx|kml|TrainingCenterDatabase)\b", re.IGNORECASE)
_RECORDED = re.compile(rb"\S+\t[^\t\n]*\t\s*\{")
_GEOJSON = re.compile(rb'"type"\s*:\s*"(FeatureCollection|Feature|Point|LineString|MultiPoint)"')
_NAMES = {"gpx": "gpx", "kml": "kml", "trainingcenterdatabase": "tcx"}


def beginning_of(path: Path, most: int) -> bytes:
    """Return how a regular file of at most `most` bytes begins, as UTF-8 and without its mark."""
    size_of(path, most, TrackError)
    with path.open("rb") as file:
        head = file.read(BEGINNING)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head.decode("utf-16", errors="ignore").encode()
    return head.removeprefix(b"\xef\xbb\xbf")


def format_of(path: Path, head: bytes) -> str | None:
    """Return the format of a file that begins with `head`; None if it is nothing we know."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if head[8:12] == b".FIT":
        return "fit"
    if b"\0" in head:
        return None
    text = head.lstrip()
    if text.startswith(b"<"):
        root = _ROOT.search(text)
        return None if root is None else _NAMES[root[1].decode().lower()]
    if text.startswith((b"{", b"[")):
        return _kind_of_json(text)
    if _RECORDED.match(text):
        return "rec"
    return "plt" if path.suffix.lower() == ".plt" else _table(text)


def _kind_of_json(text: bytes) -> str:
    lines = text.split(b"\n", 2)
    if len(lines) > 1 and lines[0].rstrip().endswith(b"}") and lines[1].lstrip().startswith(b"{"):
        return "json lines"
    shape = _GEOJSON.search(text)
    before = text[: shape.start()] if shape else b""
    is_outermost = before.count(b"{") == 1 and b"[" not in before
    features = re.match(rb'\{\s*"features"', text)
    return "geojson" if (shape and is_outermost) or features else "json"


def _table(text: bytes) -> str | None:
    """Return "csv" for lines of values; a single word or a page of prose is none."""
    first = text.split(b"\n", 1)[0]
    return "csv" if any(mark in first for mark in (b",", b";", b"\t", b"|")) else None
