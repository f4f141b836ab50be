"""Tables as text: any separator, decimal commas, with a header or with numbered columns."""

import re
from pathlib import Path

import pandas as pd

from priste.errors import TrackError
from priste.storage.limits import MAX_COLUMNS, at_most, refusing
from priste.tracks.formats.content import beginning_of
from priste.tracks.table import NOTES, lines

_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}  # these may be decimal
_VALUE = re.compile(r'"?[+-]?\d[\d.,:/ T-]*[NSEWZ°]?"?', re.IGNORECASE)
_TEXT: dict[str, type[str]] = {"track": str, "track_id": str, "trip": str, "trip_id": str}


def read(path: Path, most: int, *, numbered: bool) -> pd.DataFrame:
    """Return the columns of a table; those without a header are numbered from 1.

    `numbered` says that the caller knows which number is which, so that a missing header is fine.
    """
    head = beginning_of(path, most)
    with refusing(f"{path.name} is not a CSV file that can be read", TrackError):
        encoding = _encoding(path, head)
        text = head.decode(encoding if encoding != "utf-16" else "utf-8", errors="replace")
        rows = [row for row in text.splitlines() if row.strip()][:2]
        separator = max(_SEPARATORS, key=lambda sign: min(row.count(sign) for row in rows))
        first = rows[0].split(separator)
        remedy = "keep time, latitude, longitude and what else is needed"
        widest = 1 + max(row.count(separator) for row in rows)
        at_most(widest, MAX_COLUMNS, "the number of columns", remedy, TrackError)
        bare = sum(_VALUE.fullmatch(cell.strip()) is not None for cell in first) >= 2
        if bare and not numbered:
            raise TrackError(
                f"its first line holds values, so it has no header; number its {len(first)} "
                f"columns, for example with columns={{'time': 1, 'latitude': 2, 'longitude': 3}}"
            )
        names = {"header": None, "names": [str(i + 1) for i in range(len(first))]} if bare else {}
        frame = lines(
            path,
            dtype=_TEXT,
            encoding=encoding,
            sep=separator,
            skipinitialspace=True,
            **names,
        )
        if separator != ",":
            frame.attrs[NOTES] = [f"read values between {_SEPARATORS[separator]}"]
        return frame


def _encoding(path: Path, head: bytes) -> str:
    """Return UTF-8, UTF-16 where a mark says so, or else what Windows used to write."""
    with path.open("rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
    try:
        head[: head.rfind(b"\n") + 1 or len(head)].decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"
