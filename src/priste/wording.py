"""Odds in words, so that everybody can read an ε."""

import math
from typing import Literal

from priste.worst_case import Sides

Rounding = Literal["nearest", "up", "down"]


def as_odds(odds: float, rounding: Rounding = "nearest") -> str:
    """Return odds as people say them: ``1:9``, ``1:5.5``, ``3:1``, ``even``.

    "At most" is true of odds rounded up, "at least" of odds rounded down.
    """
    if odds == 0 or math.isinf(odds):
        return "never" if odds == 0 else "always"
    larger = max(odds, 1 / odds)
    if larger < 1.005:
        return "even"
    if odds < 1:  # the larger the second number, the smaller the odds
        rounding = {"up": "down", "down": "up", "nearest": "nearest"}[rounding]  # type: ignore[assignment]
    return f"1:{_digits(larger, rounding)}" if odds < 1 else f"{_digits(larger, rounding)}:1"


def as_factor(epsilon: float) -> str:
    """Return e^ε, rounded up."""
    return _digits(math.exp(epsilon), "up")


def promise(epsilon: float, odds: float = 1 / 9, sides: Sides = "both") -> str:
    """Return what an ε means for an observer who gave the event `odds` before."""
    low = as_odds(odds * math.exp(-epsilon), "down")
    high = as_odds(odds * math.exp(epsilon), "up")
    least = f"at least {low} and " if sides == "both" else ""
    return f"an observer who gave {as_odds(odds)} before gives {least}at most {high} now"


def _digits(number: float, rounding: Rounding) -> str:
    """Return a number of at least 1 with three digits, or all of them up to a billion."""
    scale = 10.0 ** max(2 - math.floor(math.log10(number)), 0) if number < 1e9 else 1.0
    scaled = number * scale
    if abs(scaled - round(scaled)) < 1e-9 * scaled or rounding == "nearest":
        whole = round(scaled)
    else:
        whole = math.ceil(scaled) if rounding == "up" else math.floor(scaled)
    if number >= 1e9:
        return f"{number:.0e}"
    return f"{whole / scale:,.0f}" if number >= 1000 else f"{whole / scale:.3g}"
