"""Where random draws come from: the operating system, unless a seed is asked for."""

import secrets

import numpy as np

from priste.checks import Array, whole
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
        return int(self._generator.integers(1 << 53))

    def draw(self, probabilities: Array) -> int:
        """Return an index drawn with the given probabilities; one of probability 0 never is."""
        cumulated = np.cumsum(probabilities)
        point = self.bits() * 2.0**-53 * cumulated[-1]
        return int(np.searchsorted(cumulated, point, side="right"))
