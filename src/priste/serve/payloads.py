"""What tracker apps send: a request of one of them, and the fixes in it.

Whatever an app sends and can be parsed is understood, be there a fix in it or not: apps send many
other things, and most of them send a message that was refused again and again. Only what cannot be
parsed is refused; and, at our own address, what has no fix in it.
"""

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo

from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from priste.errors import PayloadError
from priste.storage import plain_json
from priste.storage.limits import MIB
from priste.tracks.formats.json_shapes import fixes_of
from priste.tracks.moments import microseconds

MAX_BODY = 4 * MIB
"""The largest request that is read."""

MAX_FIELDS = 100
"""How many fields a form or a query may have."""

EXAMPLE = '{"time": "2024-05-06T09:00:00Z", "latitude": 48.86, "longitude": 2.35}'

_UTC = ZoneInfo("UTC")
_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError)


class Fix(NamedTuple):
    """Where somebody was, and when: microseconds since 1970. It is private."""

    time: int
    latitude: float
    longitude: float

    def __repr__(self) -> str:
        return "Fix(private)"


class Message(NamedTuple):
    """A request: the part of its address after the question mark, its type and its body."""

    query: str
    content_type: str
    body: bytes

    def __repr__(self) -> str:
        return f"Message({len(self.body)} bytes)"


class Source(NamedTuple):
    """A kind of app: how to read what it sends, and what it must hear."""

    read: Callable[[Message, bytes | None], list[Fix]]
    answer: str
    media_type: str = "application/json"


def _owntracks(message: Message, key: bytes | None) -> list[Fix]:
    """Read a message of OwnTracks; an empty body is legal, and so is another type."""
    if not message.body.strip():
        return []
    thing = _json(message.body)
    if isinstance(thing, dict) and thing.get("_type") == "encrypted":
        thing = _json(_decrypted(thing.get("data"), key))
    return _fixes([thing])


def _decrypted(data: object, key: bytes | None) -> bytes:
    if key is None:
        raise PayloadError("the message is encrypted, and no key is set for this person")
    try:
        sealed = base64.b64decode(str(data), validate=True)
        return SecretBox(key[: SecretBox.KEY_SIZE].ljust(SecretBox.KEY_SIZE, b"\0")).decrypt(sealed)
    except (binascii.Error, CryptoError, ValueError, TypeError):
        raise PayloadError("the message is encrypted with another key, or damaged") from None


def _overland(message: Message, key: bytes | None) -> list[Fix]:  # noqa: ARG001
    """Read a batch of Overland; where it is now comes beside the batch."""
    thing = _json(message.body)
    if not isinstance(thing, dict):
        raise PayloadError("a batch of Overland is an object with locations")
    locations = thing.get("locations")
    batch = locations if isinstance(locations, list) else []
    return _fixes([*batch, thing.get("current")])


def _any(message: Message, key: bytes | None) -> list[Fix]:  # noqa: ARG001
    """Read the fields of an address or of a form, or JSON: an object, a list, or a list in one."""
    return _fixes(_things(message))


def _own(message: Message, key: bytes | None) -> list[Fix]:  # noqa: ARG001
    """Read the same for those who wrote the sender themselves: they hear what is wrong."""
    things = _things(message)
    for number, thing in enumerate(things):
        if not _fixes([thing]):
            raise PayloadError(
                f"fix {number} of {len(things)} (the first is 0) has no time and place on Earth "
                f"that are understood, and none was taken; one that is: {EXAMPLE}"
            )
    return _fixes(things)


def _things(message: Message) -> list[Any]:
    """Return what may be fixes: of JSON, or of the fields of an address and a form."""
    body = message.body.strip()
    if body[:1] in (b"{", b"["):
        thing = _json(body)
        inside = thing.get("fixes") if isinstance(thing, dict) else thing
        return inside if isinstance(inside, list) else [thing]
    form = body if "urlencoded" in message.content_type else b""
    return [_fields(message.query) | _fields(_text(form))]


SOURCES: dict[str, Source] = {
    "owntracks": Source(_owntracks, "[]"),
    "traccar": Source(_any, "", "text/plain"),
    "overland": Source(_overland, '{"result":"ok"}'),
    "gpslogger": Source(_any, "", "text/plain"),
    "fixes": Source(_own, "{}"),
}
"""The apps that are understood, by the first part of the address that they send to."""


def _json(body: bytes) -> Any:
    try:
        return plain_json.parsed(body, PayloadError)
    except (ValueError, RecursionError):
        raise PayloadError("the body is not JSON") from None


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise PayloadError("the form is not UTF-8") from None


def _fields(text: str) -> dict[str, Any]:
    """Return the fields of a query or a form; numbers as numbers."""
    try:
        fields = dict(parse_qsl(text, max_num_fields=MAX_FIELDS))
    except ValueError:
        raise PayloadError(f"a form has at most {MAX_FIELDS} fields") from None
    latitude, comma, longitude = fields.pop("location", "").partition(",")
    if comma:
        fields |= {"lat": latitude, "lon": longitude}
    return {name: _number(value) for name, value in fields.items()}


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _fixes(things: list[Any]) -> list[Fix]:
    return [fix for thing in things for fix in _valid(thing)]


def _valid(thing: object) -> Iterator[Fix]:
    """Yield the fixes of an object that have a time and lie on Earth."""
    try:
        found = list(fixes_of(thing)) if isinstance(thing, Mapping) else []
        for time, latitude, longitude in found:
            moment = microseconds(time, _UTC)
            if moment is not None and abs(latitude) <= 90 and abs(longitude) <= 180:
                yield Fix(moment, latitude, longitude)
    except _UNREADABLE:
        return
