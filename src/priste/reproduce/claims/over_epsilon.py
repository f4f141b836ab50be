"""Section V-C: averages over all times, against ε."""

import math
from collections.abc import Callable
from functools import partial
from itertools import combinations, pairwise

import numpy as np

from priste.reproduce.claims.registry import Claims, curves_of, figures, percent
from priste.reproduce.settings import Setting
from priste.reproduce.verdicts import NOT, ONLY_IF, Claim, Missing, Results, Verdict, told

CLAIMS = Claims()

_CLOSE = 0.1  # relative difference of distances that are "close"


def _stricter_is_not_always_better(results: Results, name: str) -> Verdict:
    nearer, farther = 0, []
    for settings in zip(*curves_of(results, name).values(), strict=True):
        for strict, loose in combinations(settings, 2):
            (e1, h1), (e2, h2) = results.error(strict), results.error(loose)
            apart = math.hypot(h1, h2)
            nearer += e1 + apart < e2
            if e1 > e2 + apart:
                words = f"{strict.alpha:g} against {loose.alpha:g} at ε = {strict.epsilon:g}"
                farther.append(f"{words}: {e1:.1f} against {e2:.1f}")
    example = f" (such as {farther[-1]})" if farther else ""
    numbers = f"the stricter is farther off in {len(farther)} pairs{example}, nearer in {nearer}"
    return told(bool(farther), numbers)


@CLAIMS.stated("V, second finding")
def stricter_is_not_always_better(results: Results) -> Verdict:
    """For a given ε the stricter PLM is not always the more useful one."""
    return _on_all(results, "budgets", _stricter_is_not_always_better)


@CLAIMS.stated("V, third finding; V-C, transition matrices")
def pattern_costs(results: Results) -> Verdict:
    """The stronger the pattern of moves (the smaller σ), the smaller the budget an event allows."""
    curves = curves_of(results, "mobility")
    budgets = [[results.budget(s) for s in settings] for settings in curves.values()]
    ordered = all(
        a < b for one, other in pairwise(budgets) for a, b in zip(one, other, strict=True)
    )
    numbers = "; ".join(
        f"{label}: {figures(*values)}" for label, values in zip(curves, budgets, strict=True)
    )
    return told(ordered, f"mean budget of the 1-PLM for rising ε: {numbers}")


def _rises(results: Results, name: str) -> Verdict:
    words, holds = [], True
    for label, settings in curves_of(results, name).items():
        budgets = [results.budget(s) for s in settings]
        errors = [results.error(s) for s in settings]
        falling = (
            all(b[0] <= a[0] + math.hypot(a[1], b[1]) for a, b in pairwise(errors))
            and errors[-1][0] <= errors[0][0]
        )
        holds &= all(a <= b * 1.02 for a, b in pairwise(budgets)) and falling
        words.append(
            f"{label}: budget {figures(*budgets)}, distance {figures(*(e for e, _ in errors))}"
        )
    return told(holds, "for rising ε, " + "; ".join(words))


for _name, _where in (
    ("budgets geolife", "V-C, start, on Geolife"),
    ("deltas geolife", "V-C, start, on Geolife with location sets"),
    ("budgets synthetic", "V-C, start, on synthetic data"),
    ("deltas synthetic", "V-C, start, on synthetic data with location sets"),
    ("pattern synthetic", "V-C, for PATTERN (promised for the appendix), synthetic data"),
    ("pattern geolife", "V-C, for PATTERN (promised for the appendix), Geolife"),
):
    CLAIMS.append(
        Claim(_where, "The larger ε, the better the utility.", partial(_rises, name=_name))
    )


def _on_all(results: Results, name: str, check: Callable[[Results, str], Verdict]) -> Verdict:
    """Return the verdict on synthetic data, with stronger moves and on Geolife, as far as run."""
    found: dict[str, Verdict] = {}
    for place, words in (
        ("synthetic", "synthetic, σ = 10"),
        ("strong", "synthetic, σ = 3"),
        ("geolife", "Geolife"),
    ):
        try:
            found[words] = check(results, f"{name} {place}")
        except Missing:
            continue
    if not found:
        raise Missing("not among the settings of this mode")
    numbers = ". ".join(f"{where}: {verdict.numbers}" for where, verdict in found.items())
    kinds = {verdict.verdict for verdict in found.values()}
    if len(kinds) == 1:
        return next(iter(found.values()))._replace(numbers=numbers)
    held = [where for where, verdict in found.items() if verdict.verdict != NOT]
    conditions = dict.fromkeys(v.condition for v in found.values() if v.condition)
    return Verdict(ONLY_IF, numbers, "; ".join([*(f"on {where}" for where in held), *conditions]))


def _loose_is_steeper(results: Results, name: str) -> Verdict:
    strictest, *_, loosest = curves_of(results, name).values()
    shares = [results.share(strictest[0]), results.share(loosest[0])]
    numbers = (
        f"kept at ε = {strictest[0].epsilon:g}: {percent(shares[0])} of α = "
        f"{strictest[0].alpha:g}, {percent(shares[1])} of α = {loosest[0].alpha:g}"
    )
    return told(shares[1] < shares[0], numbers)


@CLAIMS.stated("V-C, α")
def loose_is_steeper(results: Results) -> Verdict:
    """A loose PLM must be calibrated heavily where ε is small."""
    return _on_all(results, "budgets", _loose_is_steeper)


def _budget_is_not_distance(results: Results, name: str) -> Verdict:
    cases = []
    for settings in zip(*curves_of(results, name).values(), strict=True):
        for strict, loose in combinations(settings, 2):
            (e1, h1), (e2, h2) = results.error(strict), results.error(loose)
            if results.budget(loose) > results.budget(strict) and e2 >= e1 - math.hypot(h1, h2):
                cases.append(
                    f"α = {loose.alpha:g} against {strict.alpha:g} at ε = {strict.epsilon:g} "
                    f"({e2:.2f} against {e1:.2f})"
                )
    numbers = f"{len(cases)} pairs with more budget and no less distance"
    return told(bool(cases), numbers + (f", such as {cases[0]}" if cases else ""))


@CLAIMS.stated("V-C, α")
def budget_is_not_distance(results: Results) -> Verdict:
    """A larger mean budget does not always bring a smaller distance."""
    return _on_all(results, "budgets", _budget_is_not_distance)


def _closeness(
    one: float, other: float, epsilons: tuple[float, ...]
) -> Callable[[Results, str], Verdict]:
    def check(results: Results, name: str) -> Verdict:
        words, holds = [], True
        for e in epsilons:
            curves = curves_of(results, name)
            by_alpha = {
                s.alpha: s for settings in curves.values() for s in settings if s.epsilon == e
            }
            if one not in by_alpha or other not in by_alpha:
                raise Missing("not among the settings of the fast mode")
            (e1, _), (e2, _) = results.error(by_alpha[one]), results.error(by_alpha[other])
            holds &= abs(e1 - e2) <= _CLOSE * max(e1, e2)
            words.append(f"ε = {e:g}: {e1:.2f} and {e2:.2f}")
        return told(holds, "; ".join(words))

    return check


@CLAIMS.stated("V-C, α, first example")
def first_example(results: Results) -> Verdict:
    """At ε = 0.5 the 5-PLM and the 3-PLM have nearly one distance."""
    return _on_all(results, "budgets", _closeness(5.0, 3.0, (0.5,)))


@CLAIMS.stated("V-C, α, second example")
def second_example(results: Results) -> Verdict:
    """At ε = 1 and 2 the 0.5-PLM and the 1-PLM have nearly one distance."""
    return _on_all(results, "budgets", _closeness(0.5, 1.0, (1.0, 2.0)))


def _extremes(results: Results, name: str) -> Verdict:
    strictest, *_, loosest = curves_of(results, name).values()
    lows = [
        float(results.record(s).values("budgets").min(axis=1).mean())
        for s in (strictest[1], loosest[1])
    ]
    numbers = (
        f"smallest budget of a run at ε = {loosest[1].epsilon:g}: {lows[1]:.2g} for α = "
        f"{loosest[1].alpha:g}, {lows[0]:.2g} for α = {strictest[1].alpha:g}"
    )
    return told(lows[1] <= lows[0] / 2 or lows[1] < 0.05 * loosest[1].alpha, numbers)


@CLAIMS.stated("V-C, α, the reason given; V-C, start, on steep lines")
def extremes(results: Results) -> Verdict:
    """Loose PLMs have extremely small budgets at some steps, which spoils their mean distance."""
    return _on_all(results, "budgets", _extremes)


def _falls_with_delta(
    measure: Callable[[Results, Setting], float], what: str
) -> Callable[[Results, str], Verdict]:
    def check(results: Results, name: str) -> Verdict:
        curves = curves_of(results, name)
        lines = {label: [measure(results, s) for s in ss] for label, ss in curves.items()}
        smallest, *_, largest = lines.values()
        holds = float(np.mean(largest)) < float(np.mean(smallest))
        everywhere = all(b <= a for a, b in zip(smallest, largest, strict=True))
        words = "; ".join(f"{label}: {figures(*values)}" for label, values in lines.items())
        return told(holds, f"{what} for rising ε, {words}", "on the mean over ε", always=everywhere)

    return check


@CLAIMS.stated("V-C, δ")
def delta_costs_budget(results: Results) -> Verdict:
    """A larger δ goes with a smaller mean budget."""
    return _on_all(results, "deltas", _falls_with_delta(Results.budget, "mean budget"))


@CLAIMS.stated("V-C, δ")
def delta_saves_distance(results: Results) -> Verdict:
    """And yet with a smaller distance, since fewer cells are left to release."""
    measure = _falls_with_delta(lambda r, s: r.error(s)[0], "distance")
    return _on_all(results, "deltas", measure)


def _no_best(results: Results, name: str) -> Verdict:
    best = []
    for settings in zip(*curves_of(results, name).values(), strict=True):
        winner = min(settings, key=lambda s: results.error(s)[0])
        best.append((winner.epsilon, winner.alpha))
    numbers = ", ".join(f"α = {a:g} at ε = {e:g}" for e, a in best)
    return told(len({alpha for _, alpha in best}) > 1, f"least distance: {numbers}")


@CLAIMS.stated("V-C, transition matrices")
def no_best(results: Results) -> Verdict:
    """No PLM has the least distance for every ε."""
    return _on_all(results, "budgets", _no_best)
