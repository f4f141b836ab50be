"""Section V-B: budgets at each time."""

import numpy as np

from priste.checks import Array
from reproduction.claims.registry import BASE, Claims, figures, percent, pooled
from reproduction.findings import (
    Finding,
    above,
    all_of,
    any_of,
    difference,
    interval,
    less,
    mostly,
)
from reproduction.settings import EARLY, LATE, Setting
from reproduction.verdicts import Results, Verdict, verdict_on

CLAIMS = Claims()

_SLIGHT, _FEW = 0.9, 0.6  # of the budget during the event: left after slight, after few reductions
_MUCH = 0.3  # of the budget: given up during the event where much is
_WORSE = 0.1  # of the budget: given up during the events where utility is much worse
_STRONG = 3.0  # a σ for which moves have a pattern
_STRICTER = 0.01  # a PLM that is strict even then
_WINDOWS = (("presence early", EARLY), ("presence late", LATE))


@CLAIMS.stated("V, first finding")
def strict_needs_nothing(results: Results) -> Verdict:
    """A strict PLM can satisfy some ε without any change of its budget."""
    strict = dict.fromkeys(
        setting
        for name in ("presence early", "presence late", "choices synthetic")
        for curve in results.experiment(name).curves
        for setting in curve.settings
        if setting.prior == "any" and setting.alpha < BASE.alpha
    )
    reduced = {s: np.any(results.budgets_by_step(s) < 1, axis=1).tolist() for s in strict}
    untouched = {s: len(runs) for s, runs in reduced.items() if not any(runs)}
    finding = any_of(
        mostly(len(runs), len(runs), len(reduced)) if s in untouched else Finding.FAILS
        for s, runs in reduced.items()
    )
    numbers = f"{len(untouched)} of {len(reduced)} strict settings are never calibrated"
    if untouched:
        most = max(untouched, key=lambda s: untouched[s])
        numbers += (
            f", such as the {most.alpha:g}-PLM for ε = {most.epsilon:g} and σ = {most.sigma:g} in "
            f"{untouched[most]} runs"
        )
    return verdict_on(finding, numbers)


def _strict_needs_little(strict: Array, loose: Array) -> Finding:
    """Return whether a strict PLM is left most of its budget, and a loose one much less."""
    return all_of([above(strict, _SLIGHT), less(loose, strict - _MUCH)])


def _during(results: Results, name: str, steps: range) -> tuple[Finding, str]:
    settings = results.panel(name, 1)
    shares = [results.budgets(s, steps) for s in settings]
    alphas = figures(*(s.alpha for s in settings))
    left = ", ".join(f"{interval(share):.0%}" for share in shares)
    numbers = f"left during the event at ε = 0.5, for α = {alphas}: {left}"
    return _strict_needs_little(shares[0], shares[-1]), numbers


@CLAIMS.stated("V, first finding; V-B, end of the first paragraph")
def strict_needs_little(results: Results) -> Verdict:
    """A strict PLM gives event privacy nearly without calibration, a loose one must give up much
    of its budget.
    """
    finding, numbers = _during(results, "presence early", EARLY)
    strong = BASE.but(sigma=_STRONG)
    strict, usual = (results.budgets(strong.but(alpha=a), EARLY) for a in (_STRICTER, BASE.alpha))
    numbers += (
        f"; with stronger moves (σ = {_STRONG:g}), for α = {_STRICTER:g}, {BASE.alpha:g}: "
        f"{interval(strict):.0%}, {interval(usual):.0%}"
    )
    also = _strict_needs_little(strict, usual) is Finding.HOLDS
    return verdict_on(finding, numbers, "moves without much pattern", always=also)


@CLAIMS.stated("V-B, first paragraph, on times 16–20")
def strict_needs_little_later(results: Results) -> Verdict:
    """The same holds for the later event."""
    return verdict_on(*_during(results, "presence late", LATE))


def _levels(results: Results, name: str, steps: range) -> Verdict:
    low, middle, high = (results.budgets(s, steps) for s in results.panel(name, 0))
    left = ", ".join(f"{interval(shares, 2):.0%}" for shares in (high, middle, low))
    finding = all_of(
        [
            above(high, _SLIGHT, 2),
            above(middle, _FEW, 2),
            less(low, middle, 2),
            less(middle, high, 2),
        ]
    )
    strong = results.budgets(BASE.but(sigma=_STRONG, epsilon=1.0), EARLY)
    numbers = (
        f"left during the event for ε = 1, 0.5, 0.1: {left}; with σ = {_STRONG:g} at ε = 1: "
        f"{interval(strong, 2):.0%} (times 4–8)"
    )
    always = above(strong, _SLIGHT, 2) is Finding.HOLDS
    return verdict_on(finding, numbers, "moves without much pattern (σ = 10)", always=always)


@CLAIMS.stated("V-B, first paragraph, on times 4–8")
def three_levels(results: Results) -> Verdict:
    """The 0.2-PLM gives ε = 1 with slight reductions of its budget, 0.5 with few, 0.1 with more."""
    return _levels(results, "presence early", EARLY)


@CLAIMS.stated("V-B, first paragraph, on times 16–20")
def three_levels_later(results: Results) -> Verdict:
    """The three levels are the same for the later event."""
    return _levels(results, "presence late", LATE)


@CLAIMS.stated("V-B, first paragraph")
def loose_varies(results: Results) -> Verdict:
    """Budgets of weaker (looser) PLMs vary more, because they are calibrated more often."""
    words, findings = [], []
    for name, _ in _WINDOWS:
        settings = results.panel(name, 1)
        spread, often = [], []
        for setting in settings:
            shares = results.budgets_by_step(setting)
            spread.append(np.abs(shares - shares.mean(axis=0)).mean(axis=1))
            often.append((shares < 1).mean(axis=1))
        findings += [less(often[0], often[-1]), less(spread[0], spread[-1])]
        words.append(
            f"{name}: mean deviation relative to α {', '.join(f'{v.mean():.1%}' for v in spread)}, "
            f"steps reduced {', '.join(f'{v.mean():.1%}' for v in often)}"
        )
    alphas = figures(*(s.alpha for s in settings))
    return verdict_on(all_of(findings), f"for α = {alphas}; " + "; ".join(words))


@CLAIMS.stated("V-B, comparison of the two events")
def reduced_during(results: Results) -> Verdict:
    """Budgets are reduced during the times of the event."""
    words, findings = [], []
    for name, steps in _WINDOWS:
        shares = results.budgets_by_step(results.panel(name, 0)[1])
        during = shares[:, steps.start : steps.stop].mean(axis=1)
        outside = np.delete(shares, np.arange(steps.start, steps.stop), axis=1).mean(axis=1)
        findings.append(less(during, outside))
        words.append(f"{name}: {percent(during.mean(), outside.mean())}")
    numbers = "0.2-PLM, ε = 0.5, left during the event and otherwise: " + "; ".join(words)
    return verdict_on(all_of(findings), numbers)


@CLAIMS.stated("V-B, comparison of the two events")
def budgets_tell(results: Results) -> Verdict:
    """So the budgets give away when the event is, and must stay on the device."""
    words, findings = [], []
    for name, steps in _WINDOWS:
        budgets = results.record(results.panel(name, 0)[1]).values("budgets")
        starts = [_lowest(run, len(steps)) for run in budgets if run.min() < run.max()]
        found = sum(abs(start - steps.start) <= 1 for start in starts)
        findings.append(mostly(found, len(budgets)))
        start = _lowest(budgets.mean(axis=0), len(steps))
        words.append(
            f"{name}: times {start + 1}–{start + len(steps)} of the mean; within a step of the "
            f"event in {percent(found / len(budgets))} of {len(budgets)} single streams"
        )
    numbers = f"the five steps with the smallest budget: {'; '.join(words)}"
    numbers += ". (With EveryOutput budgets are public, and the event with them)"
    return verdict_on(all_of(findings), numbers)


def _lowest(budgets: Array, width: int) -> int:
    """Return where the window with the smallest sum begins."""
    return int(np.argmin(np.convolve(budgets, np.ones(width), mode="valid")))


def _lost(results: Results, settings: list[Setting], steps: list[int] | None = None) -> Array:
    """Return the share of the budget that each run loses at some or all steps, over settings."""
    at = slice(None) if steps is None else steps
    return 1 - pooled(lambda s: results.budgets_by_step(s)[:, at].mean(axis=1), settings)


def _all_of(results: Results, name: str) -> list[Setting]:
    return list(dict.fromkeys([*results.panel(name, 0), *results.panel(name, 1)]))


@CLAIMS.stated("V-B, multiple events")
def two_events(results: Results) -> Verdict:
    """With two events at once utility is much worse than with either of them."""
    names = ("two events", "presence early", "presence late")
    settings = [_all_of(results, name) for name in names]
    times = [*EARLY, *LATE]
    both, early, late = (_lost(results, of, times) for of in settings)
    always = percent(*(float(_lost(results, of).mean()) for of in settings))
    numbers = (
        f"lost of the budget during both events, all settings of the figure, for both, early, "
        f"late: {percent(both.mean(), early.mean(), late.mean())} (over all times {always}); both "
        f"less the sum of the two: {difference(both, early + late)}"
    )
    return verdict_on(all_of(less(one + _WORSE, both) for one in (early, late)), numbers)


@CLAIMS.stated("V-B, location sets")
def sets_cost(results: Results) -> Verdict:
    """Within a δ-location set the same PLM must be calibrated more."""
    strong = [BASE.but(sigma=_STRONG, epsilon=e) for e in (0.1, 0.5, 1.0)]
    cases = {
        "the figure (σ = 10)": (
            _all_of(results, "location set"),
            _all_of(results, "presence early"),
        ),
        f"0.2-PLM, σ = {_STRONG:g}": ([s.but(delta=0.1) for s in strong], strong),
    }
    words, findings = [], {}
    for where, (within, without) in cases.items():
        with_set, plain = _lost(results, within), _lost(results, without)
        findings[where] = less(plain, with_set, len(cases))
        words.append(
            f"{where}: {with_set.mean():.1%} with, {plain.mean():.1%} without "
            f"({difference(with_set, plain, len(cases))})"
        )
    numbers = "lost of the budget, the mean over ε and α; " + "; ".join(words)
    held = [where for where, finding in findings.items() if finding is Finding.HOLDS]
    return verdict_on(
        any_of(findings.values()),
        numbers,
        f"on {', '.join(held)}",
        always=len(held) == len(cases),
    )
