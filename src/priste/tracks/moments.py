"""Moments as files write them: with a zone, without one, or as numbers since 1970."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

_UNITS = (("seconds", 1), ("milliseconds", 10**3), ("microseconds", 10**6), ("nanoseconds", 10**9))
_FIRST, _LAST = 946_684_800, 4_102_444_800  # the years 2000 to 2099, in seconds since 1970


def unit_of(number: float) -> tuple[str, int] | None:
    """Return in what a number counts from 1970, and how many make a second; None if in nothing.

    A moment of the years 2000 to 2099 is meant, so that no number can be two of them.
    """
    for name, per_second in _UNITS:
        if _FIRST * per_second <= number < _LAST * per_second:
            return name, per_second
    return None


class NoZoneError(ValueError):
    """A moment has no zone, and none was given."""


def microseconds(value: object, zone: ZoneInfo | None) -> int | None:
    """Return a moment in microseconds since 1970; None if it is not one.

    Text is ISO 8601 or a number; what has no zone is in `zone`.
    """
    if isinstance(value, str):
        text = value.strip()
        if not text.isdecimal():
            return _parsed(text, zone)
        value = int(text) if len(text) < 20 else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    unit = unit_of(value)
    return None if unit is None else round(value * 10**6 / unit[1])


def _parsed(text: str, zone: ZoneInfo | None) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        if zone is None:
            raise NoZoneError(text)
        moment = moment.replace(tzinfo=zone)
    since = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 10**6 + since.microseconds
