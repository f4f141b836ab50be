"""Exact tests of counts, so that a false alarm is as rare as is said.

Counts are held against probabilities one by one, by the exact tails of the binomial distribution,
and the smallest tail is multiplied by the number of tails looked at. That is a bound whatever the
counts have to do with each other, and no approximation is made in the far tails, where the verdict
falls. Every statistical finding allows a false alarm with probability `ALARM`; there are fewer than
a hundred of them, so a whole run raises one with probability below 1e-6.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from priste.checks import Array
from verification.report import Finding

ALARM = 1e-8


def surprise(
    counts: NDArray[np.int64], probabilities: Array, trials: NDArray[np.int64] | int | None = None
) -> float:
    """Return a bound on the probability that correct probabilities give counts so far off.

    Each count is out of `trials`, if not given out of their total.
    """
    total = int(counts.sum()) if trials is None else trials
    below = binom.cdf(counts, total, probabilities)
    above = binom.sf(counts - 1, total, probabilities)
    return min(1.0, 2 * counts.size * float(min(below.min(), above.min())))


def agree(what: str, counts: NDArray[np.int64], probabilities: Array) -> Finding:
    """Return whether counts are such as the probabilities give."""
    p = surprise(counts, probabilities)
    numbers = f"{int(counts.sum()):,} draws, {counts.size} outcomes, {shown(p)}"
    return Finding(what, numbers, p >= ALARM)


def shown(p: float) -> str:
    """Return a tail probability for reading."""
    return f"p = {p:.2g}" if p >= 1e-300 else "p < 1e-300"


def nudged(probabilities: Array, by: float) -> Array:
    """Return the probabilities with a little moved from the largest to the smallest."""
    moved = probabilities.copy()
    flat = moved.reshape(-1)
    flat[flat.argmax()] -= by
    flat[flat.argmin()] += by
    return moved


def noticeable(effort: float) -> float:
    """Return how much probability is moved on purpose: less effort notices only larger mistakes."""
    return float(min(1e-3 / effort**0.75, 0.05))
