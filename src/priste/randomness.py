"""Where random draws come from: the operating system, unless a seed is asked for."""

import secrets

import numpy as np

from priste.checks import Array, whole
from priste.dyadic import TICKETS, winner
from priste.errors import ProtectionError


class Randomness:
    """A source of draws; secure without a seed, reproducible (and guessable) with one."""

    def __init__(self, seed: int | None = None) -> None:
        self.is_secure = seed is None
        self._generator = (
            None
            if seed is None
            else np.random.default_rng(whole(seed, "seed", ProtectionError, least=0))
        )

    def bits(self) -> int:
        """Return 53 random bits as a whole number."""
        if self._generator is None:
            return secrets.randbits(53)
        return int(self._generator.integers(TICKETS))

    def draw(self, row: Array) -> int:
        """Return an index with exactly the probabilities of `row`, which must be dyadic."""
        return int(winner(row, self.bits()))
