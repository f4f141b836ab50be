"""Tokens: who may send, who may read what was released, who may look after a person's stream.

A token is shown once, when it is made; the database has a slow hash of it. What a token is checked
against does not depend on how much of it is right.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Literal, NamedTuple, get_args

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from priste.checks import listing, shown
from priste.errors import GatewayError
from priste.serve.database import Database, connect
from priste.serve.schema import migrate

Role = Literal["send", "read", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)

LONGEST = 200
"""More characters than a token has."""

_PREFIX = "priste"
_hasher = PasswordHasher(time_cost=1, memory_cost=8 * 1024, parallelism=1)
_DUMMY = _hasher.hash(secrets.token_urlsafe(32))


@contextmanager
def open_tokens(address: str) -> Iterator["Tokens"]:
    """Give the tokens of a database, which may be in use by a gateway."""
    database = connect(address)
    try:
        migrate(database, secrets.token_hex(8))
        yield Tokens(database)
    finally:
        database.close()


class Bearer(NamedTuple):
    """Who a token stands for, and what it is good for."""

    person: str
    role: Role
    label: str


class TokenRow(NamedTuple):
    """A token as it is listed."""

    id: str
    person: str
    role: Role
    label: str
    created: str
    revoked: str | None


class Tokens:
    """The tokens of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._key = secrets.token_bytes(32)
        self._verified: dict[bytes, str] = {}  # of tokens seen before, the hash they fit

    def make(self, person: str, role: Role, label: str = "") -> str:
        """Return a new token; it is not kept and cannot be shown again."""
        if role not in ROLES:
            raise GatewayError(f"a token is one of {listing(ROLES)}, got {shown(role)}")
        number, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        token = f"{_PREFIX}_{number}_{secret}"
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._database.execute(
            "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, NULL)",
            (number, person, role, label, _hasher.hash(token), now),
        )
        return token

    def revoke(self, number: str) -> None:
        """Make a token good for nothing, from now on."""
        found = self._database.execute("SELECT id FROM tokens WHERE id = ?", (number,))
        if not found:
            raise GatewayError(f"there is no token {shown(number)}; priste token list shows them")
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._database.execute(
            "UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL", (now, number)
        )

    def rows(self, person: str | None = None) -> list[TokenRow]:
        """Return all tokens, or those of a person, without what they are."""
        rows = self._database.execute(
            "SELECT id, person, role, label, created, revoked FROM tokens ORDER BY created, id"
        )
        return [TokenRow(*row) for row in rows if person is None or row[1] == person]

    def bearer(self, token: str) -> Bearer | None:
        """Return whom a token stands for; None if it is wrong or revoked."""
        parts = token.split("_", 2) if len(token) <= LONGEST else []
        number = parts[1] if len(parts) == 3 and parts[0] == _PREFIX else ""
        rows = self._database.execute(
            "SELECT person, role, label, hash, revoked FROM tokens WHERE id = ?", (number,)
        )
        person, role, label, hashed, revoked = rows[0] if rows else ("", "send", "", _DUMMY, "")
        if not self._fits(token, hashed) or revoked is not None:
            return None
        return Bearer(person, role, label)

    def was_verified(self, token: str) -> bool:
        """Tell whether a token was found good before, so that it can be looked up quickly."""
        return len(token) <= LONGEST and self._mark(token) in self._verified

    def _mark(self, token: str) -> bytes:
        return hmac.digest(self._key, token.encode(errors="replace"), hashlib.sha256)

    def _fits(self, token: str, hashed: str) -> bool:
        """Tell whether a token is the one of a hash; slowly for the first time only."""
        mark = self._mark(token)
        if mark in self._verified:
            return hmac.compare_digest(self._verified[mark], hashed)
        try:
            _hasher.verify(hashed, token)
        except (Argon2Error, InvalidHashError):
            return False
        self._verified[mark] = hashed
        return True
