"""Section V-C: averages over all times, against ε."""

from collections.abc import Callable
from functools import partial
from itertools import combinations, pairwise

import numpy as np

from priste.checks import Array
from priste.reproduce.claims.registry import Claims, figures, give_or_take, percent
from priste.reproduce.settings import Setting
from priste.reproduce.verdicts import (
    NOT,
    ONLY_IF,
    REPRODUCED,
    Claim,
    Missing,
    Results,
    Verdict,
    apart,
    less,
    told,
)

CLAIMS = Claims()

_CLOSE = 0.1  # relative difference of distances that are "close"
_EQUAL = 0.05  # relative difference that does not count
_STEEPER = 0.1  # of the budget: how much more is lost from the largest ε to the smallest
_EXTREME = 0.1  # of the budget: what is left at a step with an extremely small one

Where = Callable[[Results, str], Verdict]
"""A check of one experiment, by its name."""

_PLACES = {"synthetic": "synthetic, σ = 10", "strong": "synthetic, σ = 3", "geolife": "Geolife"}


def _everywhere(results: Results, name: str, check: Where, *, decides: str = "geolife") -> Verdict:
    """Return the verdict on the data that the claim is about, beside those on other data."""
    found: dict[str, Verdict] = {}
    for place in _PLACES:
        try:
            found[place] = check(results, f"{name} {place}")
        except Missing as missing:
            if place == decides:
                why = str(missing)
    numbers = ". ".join(
        f"{_PLACES[place]}: {verdict.numbers}"
        + (f" ({verdict.verdict})" if place != decides else "")
        for place, verdict in found.items()
    )
    if decides not in found:
        raise Missing(f"{why}. {numbers}" if numbers else why)
    decisive = found[decides]
    held = [_PLACES[place] for place, verdict in found.items() if verdict.verdict != NOT]
    if decisive.verdict == NOT and held:
        return Verdict(ONLY_IF, numbers, f"on {', '.join(held)}, but not on {_PLACES[decides]}")
    if decisive.verdict == REPRODUCED and len(held) < len(found):
        return Verdict(ONLY_IF, numbers, f"on {', '.join(held)}")
    return decisive._replace(numbers=numbers)


def _pairs(results: Results, name: str) -> list[tuple[Setting, Setting]]:
    """Return all pairs of PLMs with one ε, the stricter first."""
    by_epsilon = zip(*results.curves(name).values(), strict=True)
    return [pair for settings in by_epsilon for pair in combinations(settings, 2)]


def _pooled(measure: Callable[[Setting], Array], settings: tuple[Setting, ...]) -> Array:
    """Return a measure of each run, the mean over settings."""
    values = [measure(setting) for setting in settings]
    n = min(map(len, values))
    return np.asarray(np.mean([v[:n] for v in values], axis=0))


def _stricter_is_not_always_better(results: Results, name: str) -> Verdict:
    pairs = _pairs(results, name)
    nearer, farther = [], []
    for strict, loose in pairs:
        one, other = results.errors(strict), results.errors(loose)
        words = (
            f"{strict.alpha:g} against {loose.alpha:g} at ε = {strict.epsilon:g}: "
            f"{one.mean():.2f} against {other.mean():.2f}"
        )
        if less(other, one, len(pairs)):
            farther.append(words)
        elif less(one, other, len(pairs)):
            nearer.append(words)
    example = f" (such as {farther[-1]})" if farther else ""
    numbers = (
        f"of {len(pairs)} pairs the stricter is farther off in {len(farther)}{example}, nearer in "
        f"{len(nearer)}"
    )
    return told(bool(farther), numbers, "it is never better here", always=bool(nearer))


@CLAIMS.stated("V, second finding")
def stricter_is_not_always_better(results: Results) -> Verdict:
    """For a given ε the stricter PLM is not always the more useful one (but sometimes is)."""
    check = _stricter_is_not_always_better
    return _everywhere(results, "budgets", check, decides="synthetic")


@CLAIMS.stated("V, third finding; V-C, transition matrices")
def pattern_costs(results: Results) -> Verdict:
    """The stronger the pattern of moves (the smaller σ), the smaller the budget an event allows."""
    curves = results.curves("mobility")
    pairs = [
        (strong, weak)
        for one, other in pairwise(curves.values())
        for strong, weak in zip(one, other, strict=True)
    ]
    ordered = all(
        less(results.budgets(strong), results.budgets(weak), len(pairs)) for strong, weak in pairs
    )
    numbers = "; ".join(
        f"{label}: {percent(*(results.share(s) for s in settings))}"
        for label, settings in curves.items()
    )
    return told(ordered, f"kept of the 1-PLM's budget for rising ε: {numbers}")


def _rises(results: Results, name: str) -> Verdict:
    curves = results.curves(name)
    by_epsilon = list(zip(*curves.values(), strict=True))
    budgets, errors = (
        [_pooled(measure, settings) for settings in by_epsilon]
        for measure in (results.budgets, results.errors)
    )
    holds = less(budgets[0], budgets[-1]) and less(errors[-1], errors[0])
    for low, high in pairwise(range(len(by_epsilon))):  # and on the way nothing goes back
        holds &= not less(budgets[high], budgets[low], len(by_epsilon))
        holds &= not less(errors[low], errors[high], len(by_epsilon))
    words = [
        f"{label}: budget kept {percent(*(results.share(s) for s in settings))}, distance "
        f"{figures(*(results.errors(s).mean() for s in settings))}"
        for label, settings in curves.items()
    ]
    gains = (
        f"from the smallest ε to the largest, the mean over the curves: budget "
        f"{give_or_take(apart(budgets[-1], budgets[0]))}, distance "
        f"{give_or_take(apart(errors[-1], errors[0]))}"
    )
    return told(holds, f"{gains}. For rising ε, " + "; ".join(words))


for _name, _where in (
    ("budgets geolife", "V-C, start, on Geolife"),
    ("deltas geolife", "V-C, start, on Geolife with location sets"),
    ("budgets synthetic", "V-C, start; extended by us to synthetic data"),
    ("deltas synthetic", "V-C, start; extended by us to synthetic data with location sets"),
    ("pattern geolife", "V-C, start, PATTERN on Geolife (promised for the appendix)"),
    ("pattern synthetic", "V-C, start, PATTERN; extended by us to synthetic data"),
):
    CLAIMS.append(
        Claim(_where, "The larger ε, the better the utility.", partial(_rises, name=_name))
    )


def _loose_is_steeper(results: Results, name: str) -> Verdict:
    strictest, *_, loosest = results.curves(name).values()
    slopes = [
        results.budgets(s[-1])[:n] - results.budgets(s[0])[:n]
        for s in (strictest, loosest)
        for n in [min(len(results.budgets(s[0])), len(results.budgets(s[-1])))]
    ]
    epsilons = f"from ε = {strictest[-1].epsilon:g} to {strictest[0].epsilon:g}"
    numbers = (
        f"lost of the budget {epsilons}: {percent(slopes[0].mean())} with α = "
        f"{strictest[0].alpha:g}, {percent(slopes[1].mean())} with α = {loosest[0].alpha:g} "
        f"({give_or_take(apart(slopes[1], slopes[0]))})"
    )
    return told(less(slopes[0] + _STEEPER, slopes[1]), numbers)


@CLAIMS.stated("V-C, α; V-C, start, on steep lines")
def loose_is_steeper(results: Results) -> Verdict:
    """A loose PLM must be calibrated heavily where ε is small: its line is steeper."""
    return _everywhere(results, "budgets", _loose_is_steeper)


def _budget_is_not_distance(results: Results, name: str) -> Verdict:
    cases, pairs = [], _pairs(results, name)
    for strict, loose in pairs:
        one, other = results.errors(strict), results.errors(loose)
        budget_one, budget_other = (
            setting.alpha * results.budgets(setting) for setting in (strict, loose)
        )
        gain, half = apart(one, other, len(pairs))
        if less(budget_one, budget_other, len(pairs)) and gain + half <= _EQUAL * one.mean():
            cases.append(
                f"α = {loose.alpha:g} against {strict.alpha:g} at ε = {strict.epsilon:g} "
                f"({other.mean():.2f} against {one.mean():.2f})"
            )
    numbers = f"{len(cases)} of {len(pairs)} pairs with more budget and a distance as large"
    return told(bool(cases), numbers + (f", such as {cases[-1]}" if cases else ""))


@CLAIMS.stated("V-C, α (against V-A, where a larger budget stands for more utility)")
def budget_is_not_distance(results: Results) -> Verdict:
    """A larger mean budget does not always bring a smaller distance."""
    return _everywhere(results, "budgets", _budget_is_not_distance)


def _closeness(one: float, other: float, epsilons: tuple[float, ...]) -> Where:
    def check(results: Results, name: str) -> Verdict:
        settings = {(s.alpha, s.epsilon): s for of in results.curves(name).values() for s in of}
        words, holds = [], True
        for epsilon in epsilons:
            if not {(one, epsilon), (other, epsilon)} <= set(settings):
                raise Missing("not among the settings of the fast mode")
            first, second = (results.errors(settings[alpha, epsilon]) for alpha in (one, other))
            more, half = apart(first, second)
            holds &= abs(more) + half <= 2 * _CLOSE * max(first.mean(), second.mean())
            holds &= abs(more) <= _CLOSE * max(first.mean(), second.mean())
            words.append(
                f"ε = {epsilon:g}: {first.mean():.2f} and {second.mean():.2f} "
                f"({give_or_take((more, half))})"
            )
        return told(holds, "; ".join(words))

    return check


@CLAIMS.stated("V-C, α, first example")
def first_example(results: Results) -> Verdict:
    """At ε = 0.5 the 5-PLM and the 3-PLM have nearly one distance."""
    return _everywhere(results, "budgets", _closeness(5.0, 3.0, (0.5,)))


@CLAIMS.stated("V-C, α, second example")
def second_example(results: Results) -> Verdict:
    """At ε = 1 and 2 the 0.5-PLM and the 1-PLM have nearly one distance."""
    return _everywhere(results, "budgets", _closeness(0.5, 1.0, (1.0, 2.0)))


def _extremes(results: Results, name: str) -> Verdict:
    words, often, heavy = [], [], []
    strictest, *_, loosest = results.curves(name).values()
    for setting in (strictest[1], loosest[1]):
        record = results.record(setting)
        extreme = record.values("budgets") < _EXTREME * setting.alpha
        errors = record.values("errors")
        often.append(extreme.mean(axis=1))
        heavy.append(float(errors[extreme].sum() / errors.sum()) if extreme.any() else 0.0)
        words.append(
            f"α = {setting.alpha:g}: {percent(often[-1].mean())} of the steps, with "
            f"{percent(heavy[-1])} of the distance"
        )
    holds = less(often[0], often[1]) and heavy[1] > 1.5 * often[1].mean()
    numbers = f"steps with less than {_EXTREME:.0%} of the budget, at ε = {loosest[1].epsilon:g}: "
    return told(holds, numbers + "; ".join(words))


@CLAIMS.stated("V-C, α, the reason given")
def extremes(results: Results) -> Verdict:
    """Loose PLMs have extremely small budgets at some steps, which spoils their mean distance."""
    return _everywhere(results, "budgets", _extremes)


def _falls_with_delta(measure: Callable[[Results, Setting], Array], what: str) -> Where:
    def check(results: Results, name: str) -> Verdict:
        pooled = {
            label: _pooled(partial(measure, results), settings)
            for label, settings in results.curves(name).items()
            if settings[0].delta is not None
        }
        smallest, *_, largest = pooled.values()
        words = ", ".join(f"{v.mean():.3g} for {label}" for label, v in pooled.items())
        numbers = f"{what}, the mean over ε: {words} ({give_or_take(apart(largest, smallest))})"
        return told(less(largest, smallest), numbers)

    return check


@CLAIMS.stated("V-C, δ")
def delta_costs_budget(results: Results) -> Verdict:
    """A larger δ goes with a smaller mean budget."""
    check = _falls_with_delta(Results.budgets, "kept of the budget")
    return _everywhere(results, "deltas", check)


@CLAIMS.stated("V-C, δ")
def delta_saves_distance(results: Results) -> Verdict:
    """And yet with a smaller distance, since fewer cells are left to release."""
    return _everywhere(results, "deltas", _falls_with_delta(Results.errors, "distance"))


def _better_with_sets(results: Results, name: str) -> Verdict:
    found = {label: _pooled(results.errors, s) for label, s in results.curves(name).items()}
    without = found.pop("no set")
    better = [label for label, errors in found.items() if less(errors, without, len(found))]
    words = ", ".join(f"{errors.mean():.2f} with {label}" for label, errors in found.items())
    numbers = f"distance of the 0.5-PLM, the mean over ε: {without.mean():.2f} without, {words}"
    return told(bool(better), numbers)


@CLAIMS.stated("V-C, δ, last sentence")
def better_with_sets(results: Results) -> Verdict:
    """Location sets give a better trade-off: for the same ε and PLM a smaller distance."""
    return _everywhere(results, "deltas", _better_with_sets)


def _no_best(results: Results, name: str) -> Verdict:
    columns = list(zip(*results.curves(name).values(), strict=True))
    best = []
    for settings in columns:
        winner = min(settings, key=lambda s: float(results.errors(s).mean()))
        best.append(f"α = {winner.alpha:g} at ε = {winner.epsilon:g}")
    wins = {
        (a.alpha, b.alpha)
        for settings in columns
        for a in settings
        for b in settings
        if a != b and less(results.errors(a), results.errors(b), len(_pairs(results, name)))
    }
    changes = any((b, a) in wins for a, b in wins)
    return told(changes, f"least distance: {', '.join(best)}")


@CLAIMS.stated("V-C, transition matrices")
def no_best(results: Results) -> Verdict:
    """No PLM has the least distance for every ε."""
    return _everywhere(results, "budgets", _no_best, decides="synthetic")
