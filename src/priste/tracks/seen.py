"""Which days, and whose, a model was learned from: it must not have seen what it protects."""

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Any

import pandas as pd

from priste.checks import listing, shown
from priste.errors import ModelFileError, TrackError
from priste.storage.limits import MAX_DAY_RANGES, MAX_NAMED, at_most
from priste.tracks.names import checked

DAYS, USERS = "days", "users"
"""What the provenance of a model calls them."""

SEEN_CAVEAT = (
    "the model was learned from days that are protected here; what it tells about them, and what "
    "follows from how it shaped the noise, is not part of any ε"
)


def seen_in(table: pd.DataFrame, time_zone: str) -> dict[str, Any]:
    """Return the days of a table as ranges such as "2024-05-06/2024-05-09", and those of each user.

    A table without users says nothing about whose it is, nor does one with very many.
    """
    local = table["time"].dt.tz_convert(time_zone).dt.tz_localize(None).dt.normalize()
    days = {day.date() for day in local.unique()}
    if "user" not in table:
        return _written(days, None)
    by_user = local.groupby(table["user"].map(str)).unique()
    return _written(days, {user: {day.date() for day in found} for user, found in by_user.items()})


def both_seen(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the days and users of two provenances together; users only if both name theirs."""
    days = _days(stretches_of(one)) | _days(stretches_of(other))
    mine, theirs = users_of(one), users_of(other)
    if mine is None or theirs is None:
        return _written(days, None)
    both = mine.keys() | theirs.keys()
    return _written(
        days, {user: _days(mine.get(user, [])) | _days(theirs.get(user, [])) for user in both}
    )


def _written(days: set[date], by_user: Mapping[str, set[date]] | None) -> dict[str, Any]:
    """Return days as a provenance names them; those of each user if these are not too many."""
    found: dict[str, Any] = {DAYS: _ranges(days, MAX_DAY_RANGES)}
    if by_user is not None and len(by_user) <= MAX_NAMED:
        most = MAX_DAY_RANGES // max(len(by_user), 1)
        found[USERS] = {user: _ranges(by_user[user], most) for user in sorted(by_user)}
    return found


def _days(stretches: Iterable[tuple[date, date]]) -> set[date]:
    """Return all days of some stretches."""
    return {
        first + timedelta(days=d)
        for first, last in stretches
        for d in range((last - first).days + 1)
    }


def _ranges(days: Iterable[date], most: int) -> list[str]:
    """Return days in a row as their first and last; many single days make coarser stretches."""
    ordered, apart = sorted(days), 1
    while True:
        found: list[tuple[date, date]] = []
        for day in ordered:
            if found and day - found[-1][1] <= timedelta(days=apart):
                found[-1] = found[-1][0], day
            else:
                found.append((day, day))
        if len(found) <= most:
            return ["/".join(map(str, each)) for each in found]
        apart *= 2


def stretches_of(provenance: Mapping[str, Any]) -> list[tuple[date, date]]:
    """Return the stretches of days of a provenance, checked; none if it names none."""
    return _checked_stretches(provenance.get(DAYS, []))


def _checked_stretches(ranges: object) -> list[tuple[date, date]]:
    if not isinstance(ranges, list):
        raise ModelFileError(f"the days of a model are a list, got {shown(ranges)}")
    at_most(len(ranges), MAX_DAY_RANGES, "the stretches of days", "use fewer", ModelFileError)
    return [_stretch(each) for each in ranges]


def _stretch(text: object) -> tuple[date, date]:
    try:
        first, last = (date.fromisoformat(part) for part in str(text).split("/"))
    except ValueError:
        first, last = date.max, date.min
    if first > last:
        raise ModelFileError(
            f"days are a range such as 2024-05-06/2024-05-09, the model has {shown(text)}"
        )
    return first, last


def users_of(provenance: Mapping[str, Any]) -> dict[str, list[tuple[date, date]]] | None:
    """Return the days of each user as stretches, checked; None if it does not say whose."""
    users = provenance.get(USERS)
    if users is None:
        return None
    if not isinstance(users, dict):
        raise ModelFileError(f"the users of a model have their days each, got {shown(users)}")
    at_most(len(users), MAX_NAMED, "the users of a model", "use fewer", ModelFileError)
    return {
        checked(user, "a user", ModelFileError): _checked_stretches(ranges)
        for user, ranges in users.items()
    }


def days_seen(
    provenance: Mapping[str, Any], first: date, last: date, user: str | None
) -> list[str]:
    """Return the protected days, from `first` to `last`, that a model was learned from.

    Those of other people do not count: days that a provenance has for somebody else alone.
    """

    def inside(stretches: Iterable[tuple[date, date]]) -> set[date]:
        return _days((max(begin, first), min(end, last)) for begin, end in stretches)

    users, seen = users_of(provenance) or {}, inside(stretches_of(provenance))
    if user is not None:
        mine = inside(users.get(user, []))
        seen -= set().union(*(inside(stretches) for stretches in users.values())) - mine
        seen |= mine
    return [str(day) for day in sorted(seen)]


def refuse_seen(
    provenance: Mapping[str, Any], first: date, last: date, user: str | None, remedy: str
) -> None:
    """Refuse to protect days that a model was learned from."""
    seen = days_seen(provenance, first, last, user)
    if seen:
        raise TrackError(
            f"the model was learned from days that are to be protected: {listing(seen, 3)}. What "
            f"it has learned shapes every release, so the model is itself a release of these days "
            f"that nobody accounts for; {remedy}"
        )
