"""Fixes that a person keeps to learn habits from: encrypted, with a key outside the database."""

import os
import struct
from pathlib import Path

from nacl.exceptions import CryptoError
from nacl.secret import SecretBox
from nacl.utils import random

from priste.errors import GatewayError
from priste.serve.payloads import Fix

_LAYOUT = struct.Struct("<qdd")


class Sealer:
    """Seals fixes with a key, and opens them again."""

    def __init__(self, key: bytes) -> None:
        self._box = SecretBox(key)

    @classmethod
    def of(cls, path: Path) -> "Sealer":
        """Return the sealer with the key of a file, which is made if it is not there."""
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            pass
        else:
            with os.fdopen(file, "wb") as new:
                new.write(random(SecretBox.KEY_SIZE).hex().encode())
        try:
            return cls(bytes.fromhex(path.read_text(encoding="ascii").strip()))
        except (ValueError, TypeError):
            raise GatewayError(
                f"{path.name} does not hold a key of {SecretBox.KEY_SIZE} bytes in hexadecimal"
            ) from None

    def seal(self, fix: Fix) -> bytes:
        """Return a fix that only the key opens."""
        return bytes(self._box.encrypt(_LAYOUT.pack(*fix)))

    def open(self, sealed: bytes) -> Fix:
        """Return a sealed fix."""
        try:
            return Fix(*_LAYOUT.unpack(self._box.decrypt(sealed)))
        except (CryptoError, struct.error):
            raise GatewayError("a kept fix was sealed with another key, or is damaged") from None
