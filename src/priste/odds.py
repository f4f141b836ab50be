"""Odds in words: an ε nobody can read becomes one everybody can."""

import math


def as_odds(odds: float) -> str:
    """Return odds as people say them: ``1:9``, ``1:5.5``, ``3:1``, ``even``."""
    if odds == 0 or math.isinf(odds):
        return "never" if odds == 0 else "always"
    larger = max(odds, 1 / odds)
    if larger < 1.005:
        return "even"
    number = f"{larger:.3g}" if larger < 1000 else f"{larger:,.0f}"
    if larger >= 1e9:
        number = f"{larger:.0e}"
    return f"1:{number}" if odds < 1 else f"{number}:1"


def promise(epsilon: float, odds: float = 1 / 9) -> str:
    """Return what an ε means for somebody who gave the event `odds` before."""
    low, high = odds * math.exp(-epsilon), odds * math.exp(epsilon)
    return (
        f"an observer who gave {as_odds(odds)} before gives "
        f"at least {as_odds(low)} and at most {as_odds(high)} now"
    )
