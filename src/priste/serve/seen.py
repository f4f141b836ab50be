"""A note beside the database: how far it had come when something was last sent.

A copy that was restored from a backup has forgotten releases that others have seen. It would draw
their steps again, and that is a second release. So a database that is behind its note is refused.
"""

import json
import os
from pathlib import Path

from priste.errors import GatewayError
from priste.storage import plain_json
from priste.storage.limits import MIB, content_of

REMEDY = (
    "bring back the newest copy, or say --begin-anew: every stream ends, and new ones begin with "
    "the next step"
)


class Seen:
    """The note of a database with an identity, at a path."""

    def __init__(self, path: Path, identity: str, *, begin_anew: bool = False) -> None:
        self._path, self._identity, self._begin_anew = path, identity, begin_anew

    def refuse_older(self, ticks: int) -> None:
        """Refuse a database that has come less far than the note says, or another one."""
        if self._begin_anew:
            return
        if not self._path.exists():
            if ticks:
                raise GatewayError(
                    f"{self._path.name} is missing, which says how far the database had come when "
                    f"something was last sent; {REMEDY}"
                )
            return
        try:
            note = plain_json.parsed(content_of(self._path, MIB, GatewayError), GatewayError)
            identity, seen = note["database"], int(note["ticks"])
        except (ValueError, KeyError, TypeError):
            raise GatewayError(f"{self._path.name} cannot be read; {REMEDY}") from None
        if identity != self._identity:
            raise GatewayError(f"this is not the database that was used here last; {REMEDY}")
        if ticks < seen:
            raise GatewayError(
                f"the database is an old copy: steps have ended {seen} times, and it knows of "
                f"{ticks}; to go on would release steps again; {REMEDY}"
            )

    def write(self, ticks: int) -> None:
        """Note how far the database has come, durably."""
        partial = self._path.with_name(f".{self._path.name}.partial")
        content = json.dumps({"database": self._identity, "ticks": ticks}).encode()
        file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(file, content)
            os.fsync(file)
        finally:
            os.close(file)
        partial.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
