"""The probability of releases with and without an event is that of all paths, in fractions.

Random events, movements and releases; every path is enumerated, and probabilities are the floating
point numbers' exact values, added and multiplied as fractions.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from tests.oracles import joints_by_enumeration
from tests.strategies import random_event, random_stochastic

from priste import EventError, Mobility, joint_probability, prior_probability
from priste.checks import Array
from verification.report import Finding, times

MISTAKE = "one probability of one release is a billionth too large"
STEPS, ROUNDING = 5, 1e-13


def findings(effort: float, *, mistaken: bool) -> Iterator[Finding]:
    """Compare events on maps of two to four cells."""
    random = np.random.default_rng(1)
    prior, joint, cases = 0.0, 0.0, 0
    while cases < times(150, effort):
        cells = int(random.integers(2, 5))
        event = random_event(random, cells, STEPS, depth=int(random.integers(4)))
        moves = random_stochastic(random, (STEPS, cells, cells), zeros=0.2)
        initial = random_stochastic(random, (cells,))
        columns = random.random((STEPS, cells))
        mobility = Mobility(moves)
        try:
            found = prior_probability(event, mobility, initial)
        except EventError:  # it cannot happen, or cannot fail
            continue
        numbers = (fractions(values) for values in (moves, initial, columns))
        exact = joints_by_enumeration(event, *numbers)
        if mistaken:
            columns[0, np.argmax(initial)] *= 1 + 1e-9
        pair = joint_probability(event, mobility, initial, columns)
        prior = max(prior, difference((found,), exact[0][:1]))
        joint = max(joint, difference(pair, exact[-1]))
        cases += 1
    for what, worst in (("before any release", prior), (f"after {STEPS} releases", joint)):
        said = f"{cases} events, largest relative difference {worst:.1e}"
        yield Finding(what, said, worst <= ROUNDING)


def fractions(values: Array) -> Any:
    """Return the same numbers as fractions."""
    return np.vectorize(Fraction, otypes=[object])(values)


def difference(found: tuple[float, ...], exact: tuple[float, ...]) -> float:
    """Return the largest relative difference; zero must be found as zero."""
    pairs = zip(found, exact, strict=True)
    return max(abs(x - y) / y if y else float(x != 0) for x, y in pairs)
