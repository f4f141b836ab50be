"""Degrees as files write them: numbers, decimal commas, ten-millionths, N and S."""

import math
import re
from typing import Any

import numpy as np
import pandas as pd

from priste.errors import TrackError

_TEN_MILLIONTHS = 1e7
_LONGEST = 100  # a text of degrees is shorter
_MARKED = re.compile(
    r"""^\s*([NSEW])?\s*([+-]?\d+(?:\.\d+)?)\s*[°d]?\s*
        (?:(\d+(?:\.\d+)?)\s*['′m]\s*)?(?:(\d+(?:\.\d+)?)\s*(?:["″s]|'')\s*)?([NSEW])?\s*$""",
    re.IGNORECASE | re.VERBOSE,
)


def degrees(
    values: "pd.Series[Any]", what: str, where: str, most: float, notes: list[str]
) -> "pd.Series[Any]":
    """Return latitudes or longitudes as numbers; NaN where there is none."""
    found = pd.to_numeric(values, errors="coerce").astype("float64")
    unread = found.isna() & values.notna()
    if unread.any():
        text = values[unread].astype(str).str.replace(",", ".", regex=False)
        found[unread] = text.map(_marked).astype("float64")
        if np.isfinite(found[unread]).any():
            notes.append(f"read {what} from text such as {str(values[unread].iloc[0])[:40]!r}")
    finite = found[np.isfinite(found)]
    if values.notna().any() and finite.empty:
        raise TrackError(f"the {what} of {where} holds no numbers; degrees are expected")
    if len(finite) and (finite.abs() > 100 * most).mean() > 0.5:
        notes.append(f"read {what} as ten-millionths of a degree")
        found = found / _TEN_MILLIONTHS
    return found


def _marked(text: str) -> float:
    """Return the degrees of a text such as 48.1 N, S 33.5 or 48°08'12.3"N; else NaN."""
    parts = _MARKED.match(text) if len(text) <= _LONGEST else None
    if parts is None:
        return float("nan")
    before, whole, minutes, seconds, after = parts.groups()
    size = float(whole)
    size += math.copysign(float(minutes or 0) / 60 + float(seconds or 0) / 3600, size)
    return -size if (before or after or "N").upper() in "SW" else size
