"""Columns of times, in UTC to the microsecond."""

import re
from typing import Any

import pandas as pd

from priste.checks import shown
from priste.errors import TrackError
from priste.tracks.moments import unit_of

_ZONE = r"(?:Z|[+-]\d\d:?\d\d)\s*$"
_COUNT = r"\s*\d{9,19}(\.\d+)?\s*"
_CLOCK = r"^\s*\d{1,2}:\d\d"
_PARTS = re.compile(
    r"^\s*(\d{1,4})([./-])(\d{1,2})\2(\d{2,4})"
    r"(?:[ T,]+(\d{1,2}:\d\d(:\d\d(?:[.,]\d+)?)?)\s*([AP]M)?)?\s*$",
    re.IGNORECASE,
)


def utc(
    times: "pd.Series[Any]",
    time_zone: str | None,
    where: str,
    *,
    time_format: str | None = None,
    notes: list[str] | None = None,
) -> "pd.Series[Any]":
    """Return times in UTC to the microsecond; those without a zone need `time_zone`.

    Numbers count from 1970. Text is ISO 8601, or dates whose order can be told; else `time_format`
    says it, as in `datetime.strptime`. What was recognised is added to `notes`.
    """
    said = [] if notes is None else notes
    if isinstance(times.dtype, pd.DatetimeTZDtype):
        return times.dt.tz_convert("UTC").astype("datetime64[us, UTC]")
    if pd.api.types.is_datetime64_dtype(times):
        return _localised(times, time_zone, where)
    numbers = _numbers(times)
    if numbers is not None and time_format is None:
        return _since_1970(numbers, str(times.name), where, said)
    text = times.astype("string")
    if time_format is not None:
        with_zone = pd.Series("%z" in time_format, index=times.index) & text.notna()
    else:
        with_zone = text.str.contains(_ZONE, regex=True).fillna(value=False)
    parsed = pd.Series(pd.NaT, index=times.index, dtype="datetime64[us, UTC]")
    if with_zone.any():
        aware = _aware(text[with_zone], time_format)
        parsed[with_zone] = aware.astype("datetime64[us, UTC]")
    bare = ~with_zone & text.notna()
    if bare.any():
        naive = _naive(text[bare], time_format, where, said)
        if naive.notna().any():
            parsed[bare] = _localised(naive, time_zone, where)
    return parsed


def with_dates(
    times: "pd.Series[Any]", dates: "pd.Series[Any]", notes: list[str]
) -> "pd.Series[Any]":
    """Return dates and times of day as one text, where the times are times of day."""
    clock = times.astype("string")
    if not clock.str.contains(_CLOCK, regex=True).fillna(value=False).any():
        return times
    notes.append(f"read {dates.name!r} and {times.name!r} as a date and a time of day")
    return (dates.astype("string").str.strip() + " " + clock.str.strip()).rename(times.name)


def _numbers(times: "pd.Series[Any]") -> "pd.Series[Any] | None":
    """Return the times as numbers if that is what they are, as numbers or as text."""
    if pd.api.types.is_bool_dtype(times):
        return None
    if pd.api.types.is_numeric_dtype(times):
        return times
    known = times.dropna()
    for part in (known.head(1), known):  # most columns are told by their first time
        if part.empty or not part.astype(str).str.fullmatch(_COUNT).all():
            return None
    return pd.to_numeric(times, errors="coerce")


def _since_1970(
    numbers: "pd.Series[Any]", name: str, where: str, notes: list[str]
) -> "pd.Series[Any]":
    known = numbers.dropna()
    unit = unit_of(float(known.median())) if len(known) else ("seconds", 1)
    if unit is None:
        raise TrackError(
            f"the times of {where} are numbers such as {known.iloc[0]:.15g}, and they do not count "
            f"seconds, milliseconds, microseconds or nanoseconds since 1970; write them as dates "
            f"such as 2024-05-06T08:00:00Z"
        )
    what, per_second = unit
    notes.append(f"read {name!r} as {what} since 1970")
    per_microsecond = max(per_second // 10**6, 1)
    if pd.api.types.is_integer_dtype(numbers):
        scaled = numbers * (10**6 // min(per_second, 10**6)) // per_microsecond
    else:
        exact = numbers.where(numbers.abs() < 2**62 / 10**6 * per_second)  # others are no moments
        scaled = (exact * (10**6 / per_second)).round().astype("Int64")
    return pd.to_datetime(scaled, unit="us", utc=True, errors="coerce").astype(
        "datetime64[us, UTC]"
    )


def _aware(text: "pd.Series[Any]", time_format: str | None) -> "pd.Series[Any]":
    written = "ISO8601" if time_format is None else time_format
    return pd.to_datetime(text, format=written, utc=True, errors="coerce")


def _naive(
    text: "pd.Series[Any]", time_format: str | None, where: str, notes: list[str]
) -> "pd.Series[Any]":
    if time_format is not None:
        found = pd.to_datetime(text, format=time_format, errors="coerce")
        if found.isna().all() and text.notna().any():
            first = shown(str(text.dropna().iloc[0]))
            problem = f"no time of {where} fits time_format={time_format!r}, such as {first}"
            raise TrackError(problem)
        return found
    naive = pd.to_datetime(text, format="ISO8601", errors="coerce")
    unread = naive.isna()
    if not unread.any():
        return naive
    written = _format_of(text[unread], where)
    if written is None:
        return naive
    notes.append(f"read times such as {str(text[unread].iloc[0])!r} as {_in_words(written)}")
    others = text[unread].str.strip().str.replace(r"[T,]+\s*|\s+", " ", regex=True)
    naive[unread] = pd.to_datetime(others, format=written, errors="coerce")
    return naive


def _format_of(text: "pd.Series[Any]", where: str) -> str | None:
    """Return the format of dates such as 6.5.2024 or 05/06/2024 08:00; None if they are none.

    With points the day comes first; with slashes a number above 12 tells, or it has to be said.
    """
    sample = [m for m in (_PARTS.match(str(each)) for each in text.head(10_000)) if m]
    if not sample:
        return None
    first = sample[0]
    sign, year_last = first[2], len(first[1]) < 4
    if not year_last:
        date = f"%Y{sign}%m{sign}%d"
    else:
        year = "%Y" if len(first[4]) == 4 else "%y"
        day_first = sign == "." or any(int(m[1]) > 12 for m in sample)
        if not day_first and not any(int(m[3]) > 12 for m in sample):
            raise TrackError(
                f"times of {where} such as {first[0].strip()!r} may begin with the day or with the "
                f"month; say which with time_format='%d{sign}%m{sign}{year}{_clock_of(first)}' or "
                f"time_format='%m{sign}%d{sign}{year}{_clock_of(first)}'"
            )
        date = f"%d{sign}%m{sign}{year}" if day_first else f"%m{sign}%d{sign}{year}"
    return date + _clock_of(first)


def _clock_of(parts: re.Match[str]) -> str:
    """Return the format of the time of day, after a space; nothing if there is none."""
    if parts[5] is None:
        return ""
    clock = "%I:%M" if parts[7] else "%H:%M"
    if parts[6]:
        clock += ":%S" + (".%f" if "." in parts[6] else "")
    return f" {clock}{' %p' if parts[7] else ''}"


def _in_words(written: str) -> str:
    words = {"%d": "day", "%m": "month", "%Y": "year", "%y": "year"}
    order = re.findall("%[dmYy]", written)
    return ", ".join(words[part] for part in order)


def _localised(times: "pd.Series[Any]", time_zone: str | None, where: str) -> "pd.Series[Any]":
    if time_zone is None:
        raise TrackError(
            f"{int(times.notna().sum())} times of {where} have no time zone; say which one they "
            f"are in, for example time_zone='UTC' or time_zone='Europe/Berlin'"
        )
    try:
        local = times.dt.tz_localize(time_zone, ambiguous=True, nonexistent="shift_forward")
    except Exception as error:
        raise TrackError(f"time_zone={time_zone!r} is not a known time zone") from error
    return local.dt.tz_convert("UTC").astype("datetime64[us, UTC]")
