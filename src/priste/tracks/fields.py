"""Fields of an events file, each checked with the place it has in the file."""

import datetime
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from priste.checks import listing, shown
from priste.errors import EventsFileError, PristeError
from priste.storage.limits import MAX_NAMED, at_most, reason
from priste.tracks.names import checked

Built = TypeVar("Built")


def tables(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the tables that stand under a name, such as those of [regions.NAME]."""
    found = content.get(name, {})
    if not isinstance(found, dict) or not all(isinstance(t, dict) for t in found.values()):
        raise EventsFileError(f"{name} must be tables, each like [{name}.NAME]")
    at_most(len(found), MAX_NAMED, f"the number of {name}", "use fewer", EventsFileError)
    for each in found:
        checked(each, f"one of the {name}", EventsFileError)
    return found


def field(table: object, where: str, name: str, kind: type, default: Any = None) -> Any:
    """Return a field of a table, or refuse what is missing or of another kind."""
    if not isinstance(table, Mapping):
        raise EventsFileError(f"{where} must be a table with {name} in it, got {shown(table)}")
    if name not in table and default is not None:
        return default
    if name not in table:
        raise EventsFileError(f"{where} needs {name}")
    value = table[name]
    good = isinstance(value, (int, float) if kind is float else kind)
    if not good or (kind in (int, float) and isinstance(value, bool)):
        words = {
            bool: "true or false",
            str: "text",
            int: "a whole number",
            float: "a number",
            list: "a list",
        }
        raise EventsFileError(f"{where}.{name} must be {words[kind]}, got {shown(value)}")
    return value


def only(table: object, where: str, known: tuple[str, ...]) -> None:
    """Refuse a table with fields that are not known."""
    if not isinstance(table, Mapping):
        raise EventsFileError(f"{where} must be a table, got {shown(table)}")
    unknown = [name for name in table if name not in known]
    if unknown:
        raise EventsFileError(
            f"{where} does not know {shown(listing(unknown))[1:-1]}; it knows {listing(known, 12)}"
        )


def hour(value: object, where: str) -> datetime.time:
    """Return an hour of the day."""
    try:
        if value == "24:00" and where.endswith(".to"):
            return datetime.time(0)
        found = value if isinstance(value, datetime.time) else _parsed_hour(value)
        if found.tzinfo is not None:
            raise ValueError("hours are those of the window's zone")
        return found
    except (TypeError, ValueError):
        raise EventsFileError(
            f'{where} must be an hour such as "09:00", got {shown(value)}'
        ) from None


def _parsed_hour(value: object) -> datetime.time:
    return datetime.time.fromisoformat(cast(str, value))


def in_field(where: str, build: Callable[..., Built], *arguments: object) -> Built:
    """Build something; if it is refused, name the field of the file."""
    try:
        return build(*arguments)
    except PristeError as error:
        raise EventsFileError(f"{where}: {error}") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise EventsFileError(f"{where} cannot be understood: {reason(error)}") from error
