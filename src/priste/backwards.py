"""Tables that a recursion computes backwards, in little memory.

A day of minutes has 1440 of them. Of many tables only some are kept, about the square root of their
number; those between are computed again when the first of them is asked for, in the same way and so
to the last bit.
"""

from collections.abc import Callable, Mapping
from math import isqrt

from priste.checks import Array

FEW = 64
"""So many tables are all kept."""


class Backwards:
    """Tables 0 to `last`: the last is given, and ``back(i, table)`` makes i of the one after it."""

    def __init__(self, last: int, table: Array, back: Callable[[int, Array], Array]) -> None:
        self._last, self._back = last, back
        self._stride = 1 if last < FEW else isqrt(last)
        self._kept = {last: table}
        for i in range(last - 1, -1, -1):
            table = back(i, table)
            if i % self._stride == 0:
                self._kept[i] = table
        self._between: Mapping[int, Array] = {}

    def __getitem__(self, i: int) -> Array:
        if i in self._kept:
            return self._kept[i]
        if not 0 <= i <= self._last:
            raise IndexError(f"there are tables 0 to {self._last}, and no {i}")
        between = self._between
        if i not in between:
            between = self._between = self._recomputed(i - i % self._stride)
        return between[i]

    def _recomputed(self, kept: int) -> dict[int, Array]:
        """Return the tables between a kept one and the next."""
        following = min(kept + self._stride, self._last)
        tables = {following: self._kept[following]}
        for i in range(following - 1, kept, -1):
            tables[i] = self._back(i, tables[i + 1])
        return tables
