"""Where random draws come from: the operating system, unless a seed is asked for."""

import secrets
from collections.abc import Sequence

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

    def bits(self) -> int:
        """Return 53 random bits as a whole number."""
        if self._generator is None:
            return secrets.randbits(53)
        return int(self._generator.integers(TICKETS))

    def draw(self, row: Array) -> int:
        """Return an index with exactly the probabilities of `row`, which must be dyadic."""
        return int(winner(row, self.bits()))


def generator(seed: Seed | None) -> np.random.Generator:
    """Return numpy's generator for a seed; for None, one that is seeded by the system."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise ProtectionError(
            f"seed must be what numpy.random.default_rng takes, such as 7; got {seed!r} ({error})"
        ) from None
