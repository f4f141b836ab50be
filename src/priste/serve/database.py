"""A connection to the gateway's database: SQLite by default, or PostgreSQL.

Statements are written once, with question marks, in what both understand. Where they differ, in the
names of some types, a statement says `{bytes}` or `{real}`.
"""

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, Self

from priste.errors import GatewayError
from priste.extras import needs_extra

Row = tuple[Any, ...]

BUSY_SECONDS = 10.0
"""How long a statement waits for another process that writes."""

_NOTICED = 3.0  # seconds that a server may take to notice that a connection has ended


class Database(Protocol):
    """A connection. All its statements are part of a transaction, or stand for themselves."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""

    def execute_many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each of several rows."""

    def transaction(self) -> Any:
        """Give a block that is committed when it ends well, and undone if it does not."""

    def hold(self) -> None:
        """Hold the database alone, as long as the process lives; refuse if another does."""

    def tidy(self) -> None:
        """Leave no copy of deleted rows behind, as far as this kind of database can."""

    def close(self) -> None:
        """End the connection."""


def connect(address: str) -> Database:
    """Connect to a database: the path of a file, or an address that begins with postgresql://."""
    if address.startswith(("postgresql://", "postgres://")):
        return PostgreSQL(address)
    return SQLite(Path(address))


class SQLite:
    """A database in one file."""

    def __init__(self, path: Path) -> None:
        self.path = path = path.resolve()  # one lock, by whatever way it is reached
        self._held: int | None = None
        if not path.exists():
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        try:
            self._connection = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            for setting in (
                "journal_mode = WAL",
                "synchronous = FULL",  # the last commit survives a loss of power
                "secure_delete = ON",  # what is deleted is overwritten
                "foreign_keys = ON",
            ):
                self._connection.execute(f"PRAGMA {setting}")
        except sqlite3.Error as error:
            raise GatewayError(
                f"{path.name} cannot be opened as a database: {error}; is it one, is there room on "
                f"the disk, and may its folder be written to?"
            ) from None

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        return self._connection.execute(_typed(statement, "BLOB", "REAL"), values).fetchall()

    def execute_many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each of several rows."""
        self._connection.executemany(statement, values)

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """Give a block that is committed when it ends well, and undone if it does not."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def hold(self) -> None:
        """Hold the database alone, as long as the process lives; refuse if another does."""
        import fcntl  # not on Windows

        lock = self.path.with_name(f"{self.path.name}.lock")
        self._held = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._held)
            self._held = None
            raise _held_by_another(self.path.name) from None

    def tidy(self) -> None:
        """Empty the log of writes, which still has what was deleted."""
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """End the connection."""
        self._connection.close()
        if self._held is not None:
            os.close(self._held)
            self._held = None


class PostgreSQL:
    """A database on a server."""

    def __init__(self, address: str) -> None:
        with needs_extra("a PostgreSQL database", "postgres"):
            import psycopg
        try:
            self._connection = psycopg.connect(address, autocommit=True)
        except psycopg.Error as error:
            raise GatewayError(f"the database does not answer: {error}") from None
        self._connection.execute("SET synchronous_commit = on")

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        cursor = self._connection.execute(_numbered(statement), values)
        return [] if cursor.description is None else cursor.fetchall()

    def execute_many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each of several rows."""
        with self._connection.cursor() as cursor:
            cursor.executemany(_numbered(statement), values)

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """Give a block that is committed when it ends well, and undone if it does not."""
        with self._connection.transaction():
            yield self

    def hold(self) -> None:
        """Hold the database alone, as long as the connection lives; refuse if another does.

        The server takes a moment to notice that the connection of a gateway has ended.
        """
        until = time.monotonic() + _NOTICED
        ask = "SELECT pg_try_advisory_lock(hashtext('priste gateway'))"
        while self.execute(ask) != [(True,)]:
            if time.monotonic() > until:
                raise _held_by_another("the database")
            time.sleep(0.05)

    def tidy(self) -> None:
        """Leave it to the server, which vacuums by itself."""

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def _numbered(statement: str) -> Any:
    """Return a statement with places for values as psycopg writes them."""
    return _typed(statement, "BYTEA", "DOUBLE PRECISION").replace("?", "%s")


def _typed(statement: str, binary: str, real: str) -> str:
    return statement.replace("{bytes}", binary).replace("{real}", real)


def _held_by_another(name: str) -> GatewayError:
    return GatewayError(
        f"another gateway holds {name}; two of them would draw steps twice, so this one ends"
    )
