"""Which days, and whose, a model was learned from: it must not have seen what it protects."""

from collections.abc import Mapping, Sequence
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


def seen_in(table: pd.DataFrame, time_zone: str) -> dict[str, list[str]]:
    """Return the days of a table as ranges such as "2024-05-06/2024-05-09", and its users.

    A table without users says nothing about whose it is, nor does one with very many.
    """
    local = table["time"].dt.tz_convert(time_zone).dt.tz_localize(None).dt.normalize()
    days = sorted(day.date() for day in local.unique())
    found = {DAYS: ["/".join(map(str, each)) for each in _stretches(days)]}
    if "user" in table and table["user"].nunique() <= MAX_NAMED:
        found[USERS] = sorted(map(str, table["user"].unique()))
    return found


def both_seen(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the days and users of two provenances together; users only if both name theirs."""
    days = {
        first + timedelta(days=d)
        for provenance in (one, other)
        for first, last in stretches_of(provenance)
        for d in range((last - first).days + 1)
    }
    found = {DAYS: ["/".join(map(str, each)) for each in _stretches(sorted(days))]}
    users = [users_of(provenance) for provenance in (one, other)]
    named = None if None in users else sorted({user for each in users for user in each or ()})
    return found if named is None or len(named) > MAX_NAMED else found | {USERS: named}


def _stretches(days: Sequence[date]) -> list[tuple[date, date]]:
    """Return days in a row as their first and last; many single days make coarser stretches."""
    apart = 1
    while True:
        found: list[tuple[date, date]] = []
        for day in days:
            if found and day - found[-1][1] <= timedelta(days=apart):
                found[-1] = found[-1][0], day
            else:
                found.append((day, day))
        if len(found) <= MAX_DAY_RANGES:
            return found
        apart *= 2


def stretches_of(provenance: Mapping[str, Any]) -> list[tuple[date, date]]:
    """Return the stretches of days of a provenance, checked; none if it names none."""
    ranges = provenance.get(DAYS, [])
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


def users_of(provenance: Mapping[str, Any]) -> list[str] | None:
    """Return the users of a provenance, checked; None if it does not say whose data it was."""
    users = provenance.get(USERS)
    if users is None:
        return None
    if not isinstance(users, list):
        raise ModelFileError(f"the users of a model are a list, got {shown(users)}")
    at_most(len(users), MAX_NAMED, "the users of a model", "use fewer", ModelFileError)
    return [checked(user, "a user", ModelFileError) for user in users]


def days_seen(
    provenance: Mapping[str, Any], first: date, last: date, user: str | None
) -> list[str]:
    """Return the protected days, from `first` to `last`, that a model was learned from.

    None, if it is known that they are those of other people.
    """
    users = users_of(provenance)
    if user is not None and users is not None and user not in users:
        return []
    found: set[date] = set()
    for begin, end in stretches_of(provenance):
        begin, end = max(begin, first), min(end, last)
        found |= {begin + timedelta(days=d) for d in range((end - begin).days + 1)}
    return [str(day) for day in sorted(found)]


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
