"""Section V-D: how long it takes."""

import math
from itertools import pairwise

import numpy as np

from priste.reproduce.claims.registry import Claims, figures
from priste.reproduce.verdicts import Missing, Results, Verdict, told

CLAIMS = Claims()

_FITS_WELL = 0.9  # R² of a law that describes the times


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


def _runtime(results: Results, kind: str, who: str) -> tuple[dict[str, tuple[float, float]], int]:
    points = [p for p in results.measured("runtime")["points"][kind] if p[who] is not None]
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
    fits, n = _runtime(results, "width", "naive")
    power, as_power = fits["power"]
    numbers = (
        f"a power of the width, {power:.2f} for events of 5 steps (R² {as_power:.3f}; as an "
        f"exponential {fits['exponential'][1]:.3f}; {n} widths). There are width to the power of "
        f"length trajectories: exponential in the length, not in the width"
    )
    return told(fits["exponential"][1] > max(_FITS_WELL, as_power), numbers)


@CLAIMS.stated("V-D, event width")
def ours_width(results: Results) -> Verdict:
    """Two worlds take time polynomial in the event's width, of degree at most three."""
    fits, n = _runtime(results, "width", "ours")
    power = fits["power"][0]
    numbers = f"exponent {power:.2f} over {n} widths: the width hardly matters, the map does"
    return told(power <= 3, numbers)


def _column(results: Results, name: str) -> list[float]:
    rows = results.measured("thresholds")["rows"]
    return [row[name] for row in rows if row["threshold"] is not None]


def _exact(results: Results, name: str) -> float:
    return float(results.measured("thresholds")["rows"][-1][name])


@CLAIMS.stated("V-D, table")
def fewer_undecided(results: Results) -> Verdict:
    """The longer the threshold, the fewer conservative releases."""
    counts = _column(results, "undecided")
    holds = all(b <= a for a, b in pairwise(counts)) and counts[-1] < counts[0]
    never = " (never 0: CPLEX also gives up)" if counts[-1] > 0 else ""
    return told(holds, f"steps of a run with an undecided check: {figures(*counts)}{never}")


@CLAIMS.stated("V-D, table")
def longer_runs(results: Results) -> Verdict:
    """The longer the threshold, the longer the run."""
    seconds = _column(results, "seconds")
    holds = all(a <= b * 1.1 for a, b in pairwise(seconds)) and seconds[-1] > seconds[0]
    exact = _exact(results, "seconds")
    return told(holds, f"seconds a run: {figures(*seconds)}; with the exact test {exact:.2g}")


@CLAIMS.stated("V-D, table")
def larger_budgets(results: Results) -> Verdict:
    """The longer the threshold, the better the utility: budgets rise and distances fall."""
    budgets, errors = _column(results, "budget"), _column(results, "error")
    rising = all(a <= b * 1.05 for a, b in pairwise(budgets)) and budgets[-1] > budgets[0]
    falling = all(b <= a * 1.05 for a, b in pairwise(errors)) and errors[-1] < errors[0]
    numbers = (
        f"mean budget: {figures(*budgets)}; with the exact test {_exact(results, 'budget'):.3g}. "
        f"Mean distance: {figures(*errors)}; with the exact test {_exact(results, 'error'):.3g}"
    )
    return told(rising, numbers, "for budgets; distances go up and down", always=falling)
