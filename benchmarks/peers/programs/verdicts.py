"""The worst-case check as a solver sees it: is a quadratic form nowhere below zero?

The form of one side is e^ε (x·p)(x·δ) − (x·β)(x·q) over the probability simplex. It is given
whole, as one symmetric matrix, or in factors, as the four sums. The solver may stop as soon as it
knows the sign: `TOLERANCE` stands for zero.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

TOLERANCE = 1e-6
SECONDS = 10.0

Verdict = bool | None
"""Whether the form is nowhere negative; None if the solver does not know."""


def verdicts(
    given: Any, whole: Callable[[Any], Verdict], factors: Callable[[Any, float], Verdict]
) -> dict[str, Callable[[int, int], Verdict]]:
    """Return the two ways to ask about an instance of `given["rows"]` on each `every`-th cell."""
    rows, bound = given["rows"], float(given["bound"])

    def sides(instance: int, every: int) -> Any:
        p, q, beta, delta = rows[instance][:, ::every]
        return (p, q, beta, delta), (q, p, delta, beta)

    def by_whole(instance: int, every: int) -> Verdict:
        return _both(whole(_form(side, bound)) for side in sides(instance, every))

    def by_factors(instance: int, every: int) -> Verdict:
        return _both(factors(side, bound) for side in sides(instance, every))

    return {"whole": by_whole, "factors": by_factors}


def _both(verdicts: Any) -> Verdict:
    """Tell whether both sides hold; the second is not asked where the first fails."""
    known = True
    for verdict in verdicts:
        if verdict is False:
            return False
        known = known and verdict is not None
    return True if known else None


def _form(side: Any, bound: float) -> Any:
    p, q, beta, delta = side
    form = bound * np.outer(p, delta) - np.outer(beta, q)
    # entries beyond what decides a sign would only cost the solver digits
    return np.clip((form + form.T) / 2, -1e6, 1e6)
