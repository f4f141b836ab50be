"""An exponent from a few points, and how it compares with what was to be expected."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from priste.checks import Array

UPPER = 10.0  # the fit takes the points from the largest size down to this fraction of it
MARGIN = 0.15  # of an exponent: a difference that caches and allocators make


class Fit(NamedTuple):
    """An exponent, its range when any one point is left out, and the smallest size it took."""

    exponent: float
    low: float
    high: float
    start: int


def fitted(sizes: Sequence[float], values: Sequence[float], visible: float = 0.0) -> Fit | None:
    """Least squares of log value on log size over the upper decade of sizes.

    Values of at most `visible` are not used; with fewer than three points there is no fit.
    """
    used = [
        (size, value)
        for size, value in zip(sizes, values, strict=True)
        if size * UPPER >= max(sizes) and value > visible
    ]
    if len(used) < 3:
        return None
    logs = np.log(used)
    without = [_slope(np.delete(logs, k, axis=0)) for k in range(len(logs))]
    return Fit(_slope(logs), min(without), max(without), int(used[0][0]))


def _slope(logs: Array) -> float:
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def verdict(fit: Fit | None, model: float) -> str:
    """Say whether the exponent is that of the model; without a fit the values are too small."""
    if fit is None:
        return "too small to see"
    if fit.exponent > model + MARGIN:
        return "worse"
    return "better" if fit.exponent < model - MARGIN else "as the model"
