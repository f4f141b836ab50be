"""Where random draws come from: the operating system, unless a seed or a secret key is given."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from priste.checks import Array
from priste.dyadic import TICKETS, winner
from priste.errors import ProtectionError

Seed = int | Sequence[int] | np.random.SeedSequence | np.random.BitGenerator | np.random.Generator
"""Whatever `numpy.random.default_rng` takes, except nothing."""


class Randomness:
    """A source of draws; secure without a seed, reproducible (and guessable) with one."""

    def __init__(self, seed: Seed | None = None) -> None:
        self.is_secure = seed is None
        self._generator = None if seed is None else generator(seed)

    @property
    def position(self) -> dict[str, Any] | None:
        """Where the draws of a seed have come to, in plain values; None if they are secure."""
        return None if self._generator is None else _plain(self._generator.bit_generator.state)

    @classmethod
    def at(cls, position: Mapping[str, Any] | None) -> "Randomness":
        """Return a source whose draws go on from a position."""
        if position is None:
            return cls()
        kind = _BIT_GENERATORS[position["bit_generator"]]()
        kind.state = _like(position, kind.state)
        return cls(kind)

    def bits(self) -> int:
        """Return 53 random bits as a whole number."""
        if self._generator is None:
            return secrets.randbits(53)
        return int(self._generator.integers(TICKETS))

    def draw(self, row: Array) -> int:
        """Return an index with exactly the probabilities of `row`, which must be dyadic."""
        return int(winner(row, self.bits()))


class KeyedRandomness(Randomness):
    """Draws that follow from a secret key and a label: secure for whoever does not have the key.

    The same key and label give the same draws, so work that is done again draws nothing new. Each
    label must be used for one stretch of a stream only. Nothing of the key is in the `position`: a
    stream that is continued without it goes on with draws of the operating system.
    """

    def __init__(self, key: bytes, label: str) -> None:
        super().__init__()
        self._key, self._count = derived(key, label), 0

    def bits(self) -> int:
        """Return 53 random bits as a whole number."""
        drawn = derived(self._key, str(self._count))
        self._count += 1
        return int.from_bytes(drawn[:8]) >> 11


def derived(key: bytes, label: str) -> bytes:
    """Return 32 bytes that nobody can tell from random ones without the key."""
    return hmac.digest(key, label.encode(), hashlib.sha256)


_BIT_GENERATORS: dict[str, type[np.random.BitGenerator]] = {
    kind.__name__: kind
    for kind in (
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.MT19937,
        np.random.Philox,
        np.random.SFC64,
    )
}


def _plain(value: Any) -> Any:
    """Return the state of a generator with its arrays as lists."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def _like(value: Any, example: Any) -> Any:
    """Return a plain state with its lists as the arrays that the example has."""
    if isinstance(example, Mapping):
        return {name: _like(value[name], part) for name, part in example.items()}
    return np.array(value, example.dtype) if isinstance(example, np.ndarray) else value


def generator(seed: Seed | None) -> np.random.Generator:
    """Return numpy's generator for a seed; for None, one that is seeded by the system."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise ProtectionError(
            f"seed must be what numpy.random.default_rng takes, such as 7; got {seed!r} ({error})"
        ) from None
