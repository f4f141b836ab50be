"""Section V-C: averages over all times, against ε."""

from collections.abc import Callable
from functools import partial
from itertools import combinations, pairwise

import numpy as np

from priste.checks import Array
from reproduction.claims.registry import Claims, figures, percent, pooled
from reproduction.findings import (
    Finding,
    above,
    all_of,
    any_of,
    difference,
    interval,
    less,
    within,
)
from reproduction.settings import Setting
from reproduction.verdicts import Claim, Missing, Results, Verdict, verdict_on

CLAIMS = Claims()

_CLOSE = 0.1  # relative difference of distances that are "close"
_EQUAL = 0.05  # relative difference that does not count
_EXTREME = 0.1  # of the budget: what is left at a step with an extremely small one
_SOME = 0.5  # of the steps: fewer are some
_SPOILED = 1.5, 0.25  # the distance that falls on them: times their share, and of the whole

ExperimentCheck = Callable[[Results, str], Verdict]
"""A check of one experiment, by its name."""

_PLACES = {
    "geolife": "Geolife",
    "synthetic": "synthetic, σ = 10",
    "strong": "synthetic, σ = 3",
    "strongest": "synthetic, σ = 1",
}


def _everywhere(
    results: Results, name: str, check: ExperimentCheck, *, decides: str = "geolife"
) -> Verdict:
    """Return the verdict on the data that the claim is about, and the numbers of all data."""
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
        for place, verdict in sorted(found.items(), key=lambda item: item[0] != decides)
    )
    if decides not in found:
        raise Missing(f"{why}. {numbers}" if numbers else why)
    return found[decides]._replace(numbers=numbers)


def _pairs(results: Results, name: str) -> list[tuple[Setting, Setting]]:
    """Return all pairs of PLMs with one ε, the stricter first."""
    by_epsilon = zip(*results.curves(name).values(), strict=True)
    return [pair for settings in by_epsilon for pair in combinations(settings, 2)]


def _stricter_is_not_always_better(results: Results, name: str) -> Verdict:
    pairs = _pairs(results, name)
    findings = {
        (strict, loose): less(results.errors(loose), results.errors(strict), len(pairs))
        for strict, loose in pairs
    }
    farther = [pair for pair, finding in findings.items() if finding is Finding.HOLDS]
    nearer = sum(finding is Finding.FAILS for finding in findings.values())
    example = ""
    if farther:
        strict, loose = farther[-1]
        example = (
            f" (such as {strict.alpha:g} against {loose.alpha:g} at ε = {strict.epsilon:g}: "
            f"{results.errors(strict).mean():.2f} against {results.errors(loose).mean():.2f})"
        )
    numbers = (
        f"of {len(pairs)} pairs the stricter is farther off in {len(farther)}{example}, nearer in "
        f"{nearer}"
    )
    return verdict_on(any_of(findings.values()), numbers)


@CLAIMS.stated("V, second finding")
def stricter_is_not_always_better(results: Results) -> Verdict:
    """For a given ε a stricter PLM is not always better in utility."""
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
    ordered = all_of(
        less(results.budgets(strong), results.budgets(weak), len(pairs)) for strong, weak in pairs
    )
    numbers = "; ".join(
        f"{label}: {percent(*(results.share(s) for s in settings))}"
        for label, settings in curves.items()
    )
    return verdict_on(ordered, f"left of the 1-PLM's budget for rising ε: {numbers}")


def _rises(results: Results, name: str) -> Verdict:
    curves = results.curves(name)
    by_epsilon = list(zip(*curves.values(), strict=True))
    budgets, errors = (
        [pooled(measure, settings) for settings in by_epsilon]
        for measure in (results.budgets, results.errors)
    )
    n = 2 * len(by_epsilon)
    finding = all_of([less(budgets[0], budgets[-1], n), less(errors[-1], errors[0], n)])
    backwards = (  # somewhere on the way
        finding
        for low, high in pairwise(range(len(by_epsilon)))
        for finding in (
            less(budgets[high], budgets[low], n),
            less(errors[low], errors[high], n),
        )
    )
    if any_of(backwards) is Finding.HOLDS:
        finding = Finding.FAILS
    words = [
        f"{label}: budget left {percent(*(results.share(s) for s in settings))}, distance "
        f"{figures(*(results.errors(s).mean() for s in settings))}"
        for label, settings in curves.items()
    ]
    gains = (
        f"from the smallest ε to the largest, the mean over the curves: budget "
        f"{difference(budgets[-1], budgets[0], n)}, distance {difference(errors[-1], errors[0], n)}"
    )
    return verdict_on(finding, f"{gains}. For rising ε, " + "; ".join(words))


for _name, _where in (
    ("budgets geolife", "V-C, start, on Geolife"),
    ("deltas geolife", "V-C, start, on Geolife with location sets"),
    ("budgets synthetic", "V-C, start; extended by us to synthetic data"),
    ("deltas synthetic", "V-C, start; extended by us to synthetic data with location sets"),
    ("pattern geolife", "V-C, start; extended by us to PATTERN"),
    ("pattern synthetic", "V-C, start; extended by us to PATTERN on synthetic data"),
):
    CLAIMS.append(
        Claim(_where, "The larger ε, the better the utility.", partial(_rises, name=_name))
    )


def _slope(results: Results, settings: tuple[Setting, ...]) -> Array:
    """Return how much of its mean budget each run loses from the largest ε to the smallest."""
    low, high = (results.budgets(s) for s in (settings[0], settings[-1]))
    return settings[0].alpha * np.asarray(high[: len(low)] - low[: len(high)])


def _loose_is_steeper(results: Results, name: str) -> Verdict:
    strictest, *_, loosest = results.curves(name).values()
    slopes = [_slope(results, settings) for settings in (strictest, loosest)]
    words = ", ".join(
        f"{slope.mean():.3g} with α = {s[0].alpha:g} ({percent(slope.mean() / s[0].alpha)})"
        for slope, s in zip(slopes, (strictest, loosest), strict=True)
    )
    numbers = (
        f"lost of the mean budget from ε = {strictest[-1].epsilon:g} to "
        f"{strictest[0].epsilon:g}, and as a share of α: {words}; difference "
        f"{difference(slopes[1], slopes[0])}"
    )
    return verdict_on(less(slopes[0], slopes[1]), numbers)


@CLAIMS.stated("V-C, α")
def loose_is_steeper(results: Results) -> Verdict:
    """A loose PLM must be calibrated heavily where ε is small: its line is steeper."""
    return _everywhere(results, "budgets", _loose_is_steeper)


def _extreme_steps(results: Results, setting: Setting) -> Array:
    """Return the share of each run's steps that have next to nothing left of their budget."""
    budgets = results.record(setting).values("budgets")
    return np.asarray((budgets < _EXTREME * setting.alpha).mean(axis=1))


def _steep_is_heavy(results: Results, name: str) -> Verdict:
    strictest, *_, loosest = results.curves(name).values()
    slopes = [_slope(results, settings) for settings in (strictest, loosest)]
    often = [pooled(partial(_extreme_steps, results), of) for of in (strictest, loosest)]
    numbers = (
        f"steps with less than {_EXTREME:.0%} of the budget, all ε: "
        f"{percent(*(shares.mean() for shares in often))} for α = {strictest[0].alpha:g}, "
        f"{loosest[0].alpha:g}, whose slopes are {figures(*(float(s.mean()) for s in slopes))}"
    )
    return verdict_on(all_of([less(slopes[0], slopes[1]), less(often[0], often[1])]), numbers)


@CLAIMS.stated("V-C, start, on steep lines")
def steep_is_heavy(results: Results) -> Verdict:
    """Steeper lines mean that budgets are reduced heavily at some times."""
    return _everywhere(results, "budgets", _steep_is_heavy)


def _budget_is_not_distance(results: Results, name: str) -> Verdict:
    pairs = _pairs(results, name)
    findings = {}
    for strict, loose in pairs:
        small, large = (setting.alpha * results.budgets(setting) for setting in (strict, loose))
        farther, nearer = results.errors(strict), results.errors(loose)
        as_large = less(farther - _EQUAL * farther.mean(), nearer, len(pairs))
        findings[strict, loose] = all_of([less(small, large, len(pairs)), as_large])
    cases = [pair for pair, finding in findings.items() if finding is Finding.HOLDS]
    numbers = f"{len(cases)} of {len(pairs)} pairs with more budget and a distance as large"
    if cases:
        strict, loose = cases[-1]
        numbers += (
            f", such as α = {loose.alpha:g} against {strict.alpha:g} at ε = {strict.epsilon:g} "
            f"({results.errors(loose).mean():.2f} against {results.errors(strict).mean():.2f})"
        )
    return verdict_on(any_of(findings.values()), numbers)


@CLAIMS.stated("V-C, α (against V-A, where a larger budget stands for more utility)")
def budget_is_not_distance(results: Results) -> Verdict:
    """A larger mean budget does not always bring a smaller distance."""
    return _everywhere(results, "budgets", _budget_is_not_distance)


def _close(results: Results, one: Setting, other: Setting) -> Finding:
    """Return whether two distances differ by no more than a little."""
    x, y = results.errors(one), results.errors(other)
    return within(difference(x, y), _CLOSE * max(float(x.mean()), float(y.mean())))


def _closeness(one: float, other: float, epsilons: tuple[float, ...]) -> ExperimentCheck:
    def check(results: Results, name: str) -> Verdict:
        settings = {(s.alpha, s.epsilon): s for of in results.curves(name).values() for s in of}
        if not {(a, e) for a in (one, other) for e in epsilons} <= set(settings):
            raise Missing("not among the settings of the fast mode")
        words, findings, others = [], [], []
        for epsilon in epsilons:
            first, second = settings[one, epsilon], settings[other, epsilon]
            findings.append(_close(results, first, second))
            alike = [s for s in settings.values() if s.epsilon == epsilon]
            others += [_close(results, x, y) for x, y in combinations(alike, 2)]
            x, y = results.errors(first), results.errors(second)
            words.append(f"ε = {epsilon:g}: {x.mean():.2f} and {y.mean():.2f} ({difference(x, y)})")
        condition = "but no two PLMs of the figure are seen to differ more"
        some_differ = all_of(others) is Finding.FAILS
        return verdict_on(all_of(findings), "; ".join(words), condition, always=some_differ)

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
    strictest, *_, loosest = results.curves(name).values()
    little = _EXTREME * strictest[0].alpha

    def extreme(setting: Setting) -> Array:
        return np.where(results.record(setting).values("budgets") < little, 1.0, 0.0)

    often = pooled(lambda s: extreme(s).mean(axis=1), loosest)
    on_them = pooled(
        lambda s: (results.record(s).values("errors") * extreme(s)).mean(axis=1), loosest
    )
    heavy = on_them / pooled(results.errors, loosest)
    more, whole = _SPOILED
    numbers = (
        f"α = {loosest[0].alpha:g}, all ε: a budget below {little:g} at "
        f"{interval(often, 3):.0%} of the steps, with {interval(heavy, 3):.0%} of the distance"
    )
    finding = all_of(
        [above(-often, -_SOME, 3), less(more * often, heavy, 3), above(heavy, whole, 3)]
    )
    return verdict_on(finding, numbers)


@CLAIMS.stated("V-C, α, the reason given")
def extremes(results: Results) -> Verdict:
    """Loose PLMs have extremely small budgets at some steps, which spoils their mean distance."""
    return _everywhere(results, "budgets", _extremes)


def _falls_with_delta(measure: Callable[[Results, Setting], Array], what: str) -> ExperimentCheck:
    def check(results: Results, name: str) -> Verdict:
        by_delta = {
            label: pooled(partial(measure, results), settings)
            for label, settings in results.curves(name).items()
            if settings[0].delta is not None
        }
        smallest, *_, largest = by_delta.values()
        words = ", ".join(f"{v.mean():.3g} for {label}" for label, v in by_delta.items())
        numbers = f"{what}, the mean over ε: {words} ({difference(largest, smallest)})"
        return verdict_on(less(largest, smallest), numbers)

    return check


@CLAIMS.stated("V-C, δ")
def delta_costs_budget(results: Results) -> Verdict:
    """A larger δ goes with a smaller mean budget."""
    check = _falls_with_delta(Results.budgets, "left of the budget")
    return _everywhere(results, "deltas", check)


@CLAIMS.stated("V-C, δ")
def delta_saves_distance(results: Results) -> Verdict:
    """And yet with a smaller distance, since fewer cells are left to release."""
    return _everywhere(results, "deltas", _falls_with_delta(Results.errors, "distance"))


def _better_with_sets(results: Results, name: str) -> Verdict:
    found = {label: pooled(results.errors, s) for label, s in results.curves(name).items()}
    without = found.pop("no set")
    finding = any_of(less(errors, without, len(found)) for errors in found.values())
    words = ", ".join(f"{errors.mean():.2f} with {label}" for label, errors in found.items())
    numbers = f"distance of the 0.5-PLM, the mean over ε: {without.mean():.2f} without, {words}"
    return verdict_on(finding, numbers)


@CLAIMS.stated("V-C, δ, last sentence")
def better_with_sets(results: Results) -> Verdict:
    """Location sets give a better trade-off: for the same ε and PLM a smaller distance."""
    return _everywhere(results, "deltas", _better_with_sets)


def _no_best(results: Results, name: str) -> Verdict:
    columns = list(zip(*results.curves(name).values(), strict=True))
    n = len(_pairs(results, name))
    beaten = {
        alpha: any_of(
            less(results.errors(other), results.errors(setting), n)
            for settings in columns
            for setting in settings
            for other in settings
            if setting.alpha == alpha != other.alpha
        )
        for alpha in (setting.alpha for setting in columns[0])
    }
    unbeaten = [alpha for alpha, finding in beaten.items() if finding is not Finding.HOLDS]
    nearest = [min(of, key=lambda s: float(results.errors(s).mean())) for of in columns]
    best = ", ".join(f"α = {s.alpha:g} at ε = {s.epsilon:g}" for s in nearest)
    never = f"; seen beaten at no ε: α = {figures(*unbeaten)}" if unbeaten else ""
    return verdict_on(all_of(beaten.values()), f"least distance: {best}{never}")


@CLAIMS.stated("V-C, transition matrices")
def no_best(results: Results) -> Verdict:
    """No PLM has the least distance for every ε."""
    return _everywhere(results, "budgets", _no_best, decides="synthetic")


def _attempts(results: Results, setting: Setting) -> Array:
    """Return how often each run draws at a step, the mean."""
    shares = results.budgets_by_step(setting)
    least = setting.decay ** (setting.weakenings + 1)  # stands for the uniform cell at last
    return np.asarray(1 + (np.log(np.maximum(shares, least)) / np.log(setting.decay)).mean(axis=1))


@CLAIMS.stated("IV-B, the decay of the budget (not part of the evaluation)")
def decay_trades(results: Results) -> Verdict:
    """Budgets that decay slower bring better utility, for more draws."""
    curves = results.curves("choices loop")
    fast, slow = curves["quarters for halves"], curves["four fifths for halves"]
    words, findings = [], []
    for measure, what, sign in (
        (partial(_attempts, results), "draws a step", 1),
        (results.budgets, "left of the budget", 1),
        (results.errors, "distance", -1),
    ):
        one, other = pooled(measure, fast), pooled(measure, slow)
        findings.append(less(sign * one, sign * other, 3))
        words.append(
            f"{what} {figures(float(one.mean()), float(other.mean()))} "
            f"({difference(other, one, 3)})"
        )
    numbers = "quartered against a fifth less each time: " + "; ".join(words)
    return verdict_on(all_of(findings), numbers)
