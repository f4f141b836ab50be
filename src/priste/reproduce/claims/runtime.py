"""Section V-D: how long it takes."""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from priste.reproduce.claims.registry import Claims, figures
from priste.reproduce.verdicts import Missing, Results, Verdict, less, told

CLAIMS = Claims()

_FITS_WELL = 0.9  # R² of a law that describes the times
_OVERHEAD = 5  # times the shortest time: from there on a call itself does not matter
_LINEAR = 1.2  # an exponent that is one but for what a measurement adds


def _fits(x: list[float], seconds: list[float]) -> dict[str, tuple[float, float]]:
    """Return slope and R² of three laws: exponential in x, a power of x, linear in x."""
    xs, ys = np.array(x), np.array(seconds)
    found = {}
    for name, u, v in (
        ("exponential", xs, np.log(ys)),
        ("power", np.log(xs), np.log(ys)),
        ("linear", xs, ys),
    ):
        slope, intercept = np.polyfit(u, v, 1)
        residual = v - slope * u - intercept
        total = float(((v - v.mean()) ** 2).sum())
        found[name] = (float(slope), 1 - float(residual @ residual) / total if total else 0.0)
    return found


def _runtime(
    results: Results, kind: str, who: str, *, beyond: float = 0.0
) -> tuple[dict[str, tuple[float, float]], int]:
    """Return the fits to times of at least `beyond` times the shortest, and how many these are."""
    points = [p for p in results.measured("runtime")["points"][kind] if p[who] is not None]
    shortest = min((p[who] for p in points), default=0.0)
    points = [p for p in points if p[who] >= beyond * shortest]
    if len(points) < 3:
        raise Missing("fewer than three points were measured")
    return _fits([p[kind] for p in points], [p[who] for p in points]), len(points)


@CLAIMS.stated("V-D, event length")
def naive_length(results: Results) -> Verdict:
    """Adding up trajectories takes time exponential in the event's length."""
    fits, n = _runtime(results, "length", "naive")
    slope, fit = fits["exponential"]
    numbers = f"× {math.exp(slope):.2f} per step (5 cells wide), R² {fit:.3f}, {n} lengths"
    return told(fit > max(_FITS_WELL, fits["power"][1]) and slope > 0.5, numbers)


@CLAIMS.stated("V-D, event length")
def ours_length(results: Results) -> Verdict:
    """Two worlds take time linear in the event's length."""
    fits, n = _runtime(results, "length", "ours")
    (slope, fit), power = fits["linear"], fits["power"][0]
    numbers = f"{1000 * slope:.2g} ms per step, R² {fit:.3f}, exponent {power:.2f}, {n} lengths"
    return told(slope > 0 and fit > _FITS_WELL and power <= 1.3, numbers)


@CLAIMS.stated("V-D, event width")
def naive_width(results: Results) -> Verdict:
    """Adding up trajectories takes time exponential in the event's width."""
    fits, n = _runtime(results, "width", "naive", beyond=_OVERHEAD)
    power, as_power = fits["power"]
    numbers = (
        f"a power of the width, {power:.2f} for events of 5 steps (R² {as_power:.3f}; as an "
        f"exponential {fits['exponential'][1]:.3f}; {n} widths). There are width to the power of "
        f"length trajectories: exponential in the length, not in the width"
    )
    return told(fits["exponential"][1] > max(_FITS_WELL, as_power), numbers)


@CLAIMS.stated("V-D, event width")
def ours_width(results: Results) -> Verdict:
    """Two worlds take time polynomial in the event's width."""
    fits, n = _runtime(results, "width", "ours")
    power = fits["power"][0]
    numbers = f"exponent {power:.2f} over {n} widths: the width hardly matters, the map does"
    return told(power <= 3, numbers)


@CLAIMS.stated("V-D, event width, the complexity")
def ours_cells(results: Results) -> Verdict:
    """And that is in line with O(m³) for a map of m cells."""
    fits, n = _runtime(results, "cells", "ours")
    power, fit = fits["power"]
    return told(power <= 3, f"exponent {power:.2f} over {n} maps, R² {fit:.3f}")


@CLAIMS.stated("I, contributions (not part of the evaluation)")
def ours_predicates(results: Results) -> Verdict:
    """Two worlds take time linear in the number of an event's predicates."""
    by_length, _ = _runtime(results, "length", "ours")
    by_width, _ = _runtime(results, "width", "ours")
    powers = by_length["power"][0], by_width["power"][0]
    return told(max(powers) <= _LINEAR, f"exponents {figures(*powers)} in length and width")


@CLAIMS.stated("IV-C, complexity (not part of the evaluation)")
def parameters(results: Results) -> Verdict:
    """The vectors a, b and c of T steps on a map of m cells take O(mT) time."""
    fits, n = _runtime(results, "cells", "ours")
    power, _ = fits["power"]
    numbers = f"exponent {power:.2f} in m over {n} maps: each step multiplies by a full matrix"
    return told(power <= _LINEAR, numbers)


class _Trend(NamedTuple):
    """How a measure goes with the threshold, from the shortest to the longest.

    It `holds` if it goes the claimed way from the first to the last and nowhere back, and `always`
    if it does so from each to the next. From `settled` on nothing changes, if that is before the
    longest.
    """

    holds: bool
    always: bool
    settled: float
    words: str


def _trend(results: Results, name: str, *, falls: bool = False, as_ratios: bool = False) -> _Trend:
    by_threshold = {row["threshold"]: row for row in results.measured("thresholds")["rows"]}
    if None not in by_threshold:
        raise Missing("the solver's table is not complete")
    exact = by_threshold.pop(None)
    rows = list(by_threshold.values())
    sign = -1 if falls else 1
    runs = [sign * np.array(row[name], dtype=float) for row in rows]
    if as_ratios:
        runs = [np.log(values) for values in runs]
    if min(map(len, runs)) < 2:
        raise Missing("there are too few runs to compare")
    pairs, n = list(pairwise(runs)), len(runs) - 1
    changing = [any(less(one, later, n) for later in runs[k:]) for k, one in enumerate(runs)]
    words = figures(*(float(np.mean(row[name])) for row in rows))
    return _Trend(
        less(runs[0], runs[-1]) and not any(less(later, one, n) for one, later in pairs),
        all(less(one, later, n) for one, later in pairs),
        math.inf if all(changing[:-1]) else rows[changing.index(False)]["threshold"],
        f"{words}; with the exact test {float(np.mean(exact[name])):.3g}",
    )


def _settled(trend: _Trend) -> str:
    if trend.settled == math.inf:
        return "but not from each to the next beyond chance"
    return f"up to {trend.settled:g} s; longer ones change nothing beyond chance"


@CLAIMS.stated("V-D, table")
def fewer_undecided(results: Results) -> Verdict:
    """The longer the threshold, the fewer conservative releases."""
    trend = _trend(results, "undecided", falls=True)
    numbers = f"steps of a run with an undecided check: {trend.words}"
    return told(trend.holds, numbers, _settled(trend), always=trend.always)


@CLAIMS.stated("V-D, table")
def longer_runs(results: Results) -> Verdict:
    """The longer the threshold, the longer the run."""
    trend = _trend(results, "seconds", as_ratios=True)
    return told(trend.holds, f"seconds a run: {trend.words}", _settled(trend), always=trend.always)


@CLAIMS.stated("V-D, table")
def larger_budgets(results: Results) -> Verdict:
    """The longer the threshold, the larger the budgets."""
    trend = _trend(results, "budget")
    return told(trend.holds, f"mean budget: {trend.words}", _settled(trend), always=trend.always)


@CLAIMS.stated("V-D, table, its last column and the last sentence")
def smaller_distances(results: Results) -> Verdict:
    """And the better the utility: distances fall."""
    trend = _trend(results, "error", falls=True)
    return told(trend.holds, f"mean distance: {trend.words}", _settled(trend), always=trend.always)
