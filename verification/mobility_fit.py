"""A mobility learned from moves is the one they were drawn from, and better the more there are.

Moves are independent of each other, so that the counts behind each row are exactly multinomial.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from priste import Mobility
from priste.checks import Array
from verification.report import Finding, times
from verification.statistics import ALARM, noticeable, nudged, shown, surprise

MISTAKE = "a probability of 0.001 moved from the likeliest move of each row to the least likely"
CELLS = 6
MOVES = (6_000, 60_000, 600_000)


def findings(effort: float, *, mistaken: bool) -> Iterator[Finding]:
    """Compare each probability of each fit; errors of that kind shrink like n^-1/2."""
    truth = chain()
    if mistaken:
        truth = np.array([nudged(row, noticeable(effort)) for row in truth])
    for size in (times(moves, effort) for moves in MOVES):
        left = np.bincount(drawn(size)[:, 0], minlength=CELLS)[:, None]
        counts = np.rint(learned(size) * left).astype(np.int64)
        p = min(1.0, CELLS * min(map(surprise, counts, truth)))
        error = float(np.sqrt(np.mean((learned(size) - truth) ** 2)))
        expected = float(np.sqrt(np.mean(truth * (1 - truth) / left)))
        numbers = f"{CELLS**2} probabilities, error {error:.2g} ({expected:.2g} expected)"
        yield Finding(f"the true chain, from {size:,} moves", f"{numbers}, {shown(p)}", p >= ALARM)


@cache
def chain() -> Array:
    """Return the matrix to be learned, with rare moves in it."""
    weights = np.random.default_rng(7).random((CELLS, CELLS)) ** 4
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@cache
def drawn(count: int) -> NDArray[np.intp]:
    """Return moves, each a row: where it begins, anywhere, and where it ends."""
    random = np.random.default_rng(8)
    starts = random.integers(CELLS, size=count)
    levels = np.cumsum(chain(), axis=1)[starts]
    ends = (levels[:, :-1] < random.random((count, 1))).sum(axis=1)
    return np.column_stack([starts, ends])


@cache
def learned(count: int) -> Array:
    """Return the matrix learned from so many moves, without smoothing."""
    found = Mobility.fit(list(drawn(count)), CELLS, smoothing=0.0).transition(0)
    return found if isinstance(found, np.ndarray) else np.asarray(found.toarray())
