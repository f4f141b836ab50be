"""Ways to spoil a file, from blind to knowing."""

import json
import re
from random import Random
from typing import Any

_PLAIN = """
    0 -0 -1 1 2 7 00 0x10 1_000 1e5 1e-9 1e-320 1e308 1e309 -1e309 0.1 NaN nan inf -Infinity
    86400 99999 100001 21000 2000000000 2147483648 100000000000 9007199254740993
    9223372036854775807 -9223372036854775809 -90.0001 181 360
"""
NUMBERS = (*_PLAIN.split(), "1" + "0" * 400, "9" * 5_000, "0." + "3" * 5_000)
"""Numbers, as text, that something somewhere does not expect."""

TEXTS = (
    *("", " ", "\0", "\x1b[2J", "\n", "\r", "\t", "\u202e", "\ufeff", "\u2028", "é", "𝕏", "\u0300"),
    *("a" * 201, "a" * 100_000, "None", "nan", "true", "<script>", "]]>", "&amp;", "'", '"', "\\"),
    *("../../etc/passwd", "/dev/zero", "/dev/stdin", "x" * 300 + "/y", "a.a.a.a", "__class__"),
    *("2024-05-06T08:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59+14:00", "2024-02-30"),
    *("99999-01-01T00:00:00Z", "-0001-01-01", "2024-05-06T25:00:00Z", "24:00:00", "08:00:60"),
    *("Europe/Berlin", "Mars/Base", "UTC", "localtime", "posixrules", "any", "near", "known"),
    *("presence", "at_least", "not", "event", "both", "matrix 0", "meta", "1e400d", "-1h", "1ns"),
)
"""Texts that something somewhere does not expect."""

_NUMBER = re.compile(rb"-?\d[\d.eE+:T-]*")
_TEXT = re.compile(rb'"[^"\n]*"|>[^<\n]+<|(?<=,)[^,\n"]+(?=,)')


def blind(content: bytes, random: Random) -> bytes:
    """Spoil a few bytes anywhere, knowing nothing of what they mean."""
    for _ in range(random.choice((1, 1, 1, 2, 4, 16))):
        content = random.choice((_flip, _cut, _drop, _repeat, _insert, _overwrite))(content, random)
    return content


def tokens(content: bytes, random: Random) -> bytes:
    """Replace numbers and texts of a text file by hostile ones."""
    for _ in range(random.choice((1, 1, 2, 4))):
        pattern = random.choice((_NUMBER, _TEXT))
        places = [match.span() for match in pattern.finditer(content)]
        if places:
            start, end = random.choice(places)
            content = content[:start] + _token(random, content[start:end]) + content[end:]
    return content


def value(content: Any, random: Random) -> Any:
    """Return plain values with something in them replaced, removed, repeated or buried."""
    content = json.loads(json.dumps(content))
    for _ in range(random.choice((1, 1, 2, 3))):
        places = list(_places(content))
        if not places:
            return hostile(random)
        holder, key = random.choice(places)
        turn = random.random()
        if turn < 0.7:
            holder[key] = hostile(random)
            if len(json.dumps(holder[key])) > 2_000:
                return content  # a long one in a long one would be longer than any file
        elif turn < 0.8:
            del holder[key]
        elif turn < 0.9 and isinstance(holder, list):
            holder.extend([holder[key]] * random.choice((1, 2)))
        else:
            holder[key] = nested(holder[key], random.choice((1, 3, 60, 70, 300)), random)
    return content


def hostile(random: Random, depth: int = 0) -> Any:
    """Return a value that hardly anything expects."""
    kind = random.randrange(8 if depth < 4 else 5)
    if kind == 0:
        return random.choice((None, True, False, [], {}, 0, -1, "", float("nan"), float("inf")))
    if kind in (1, 2):
        number = random.choice(NUMBERS[:-2])  # the last have more digits than JSON writes here
        try:
            return int(number)
        except ValueError:
            return float(number) if not number.startswith("0x") else 16
    if kind in (3, 4):
        return random.choice(TEXTS)
    if kind == 5:
        return [hostile(random, depth + 1) for _ in range(random.randrange(5))]
    if kind == 6:
        return {random.choice(TEXTS)[:50]: hostile(random, depth + 1) for _ in range(3)}
    inner = hostile(random, depth + 1)
    few = depth > 0 or len(json.dumps(inner)) > 200
    return [inner] * (2 if few else random.choice((1, 25, 5_000)))


def nested(inner: Any, depth: int, random: Random) -> Any:
    """Return a value in that many lists or tables."""
    for _ in range(depth):
        both = {"any": [inner, inner]} if depth < 9 else [inner]
        inner = random.choice(([inner], {"not": inner}, both))
    return inner


def as_json(content: Any, random: Random) -> bytes:
    """Return values as JSON, now and then in another encoding or with a key that stands twice."""
    text = json.dumps(content, ensure_ascii=random.random() < 0.5)
    if random.random() < 0.05:
        text = text.replace('"', '"certificate": 1, "', 1) if random.random() < 0.5 else text * 2
    if random.random() < 0.03:
        text = text.replace("0", "9" * random.choice((20, 400, 5_000)), 1)
    if random.random() < 0.03:
        return text.encode(random.choice(("utf-16", "utf-32", "utf-8-sig")), "surrogatepass")
    return text.encode("utf-8", "surrogatepass")


def _token(random: Random, old: bytes) -> bytes:
    text = random.choice(random.choice((NUMBERS, TEXTS))).encode()
    if old[:1] in (b'"', b">") and random.random() < 0.8:
        return old[:1] + text + old[-1:]
    return text


def _places(content: Any) -> list[tuple[Any, Any]]:
    """Return every place in plain values: what holds it, and its key there."""
    found: list[tuple[Any, Any]] = []
    pending = [content]
    while pending:
        holder = pending.pop()
        keys = holder.keys() if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                pending.append(holder[key])
    return found


def _at(content: bytes, random: Random) -> int:
    return random.randrange(len(content) + 1)


def _flip(content: bytes, random: Random) -> bytes:
    k, bit = _at(content, random), 1 << random.randrange(8)
    return content[:k] + bytes(byte ^ bit for byte in content[k : k + 1]) + content[k + 1 :]


def _cut(content: bytes, random: Random) -> bytes:
    return content[: _at(content, random)]


def _drop(content: bytes, random: Random) -> bytes:
    k = _at(content, random)
    return content[:k] + content[k + random.choice((1, 2, 8, 100)) :]


def _repeat(content: bytes, random: Random) -> bytes:
    k = _at(content, random)
    part = content[k : k + random.choice((1, 8, 100, 1000))]
    return content[:k] + part * random.choice((2, 2, 100)) + content[k:]


def _insert(content: bytes, random: Random) -> bytes:
    k = _at(content, random)
    return content[:k] + _hostile_bytes(random) + content[k:]


def _overwrite(content: bytes, random: Random) -> bytes:
    k, part = _at(content, random), _hostile_bytes(random)
    return content[:k] + part + content[k + len(part) :]


def _hostile_bytes(random: Random) -> bytes:
    turn = random.random()
    if turn < 0.3:
        return random.randbytes(random.choice((1, 4, 16)))
    if turn < 0.5:
        opening = random.choice((b"[", b"{", b"<a>", b"a.", b"not ", b"(", b",", b'"', b"\n"))
        return opening * random.choice((1, 50, 5_000, 100_000))
    if turn < 0.6:
        return random.choice((b"\xff" * 4, b"\x7f", b"\x00" * 8, b"\xff\xfe", b"\xed\xa0\x80"))
    return random.choice(random.choice((NUMBERS, TEXTS))).encode()
