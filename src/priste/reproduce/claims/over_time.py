"""Section V-B: budgets at each time."""

import numpy as np

from priste.checks import Array
from priste.reproduce.claims.registry import BASE, Claims, figures, give_or_take, percent, pooled
from priste.reproduce.settings import EARLY, LATE, Setting
from priste.reproduce.verdicts import Results, Verdict, apart, less, told

CLAIMS = Claims()

_SLIGHT, _FEW = 0.9, 0.6  # of the budget during the event: kept after slight, after few reductions
_MUCH = 0.3  # of the budget: given up during the event where much is
_WORSE = 0.1  # of the budget: given up during the events where utility is much worse
_STRONG = 3.0  # a σ for which moves have a pattern
_STRICTER = 0.01  # a PLM that is strict even then
_WINDOWS = (("presence early", EARLY), ("presence late", LATE))


def _strict_needs_little(results: Results, name: str, steps: range) -> tuple[bool, str]:
    settings = results.panel(name, 1)
    shares = [results.share(s, steps) for s in settings]
    strict, loose = (results.budgets(s, steps) for s in (settings[0], settings[-1]))
    holds = shares[0] >= _SLIGHT and less(loose, strict - _MUCH)
    alphas = figures(*(s.alpha for s in settings))
    return holds, f"kept during the event at ε = 0.5, for α = {alphas}: {percent(*shares)}"


@CLAIMS.stated("V, first finding")
def strict_needs_nothing(results: Results) -> Verdict:
    """A strict PLM can satisfy some ε without any change of its budget."""
    candidates = dict.fromkeys(
        setting
        for name in ("presence early", "presence late", "choices synthetic")
        for curve in results.experiment(name).curves
        for setting in curve.settings
        if setting.prior == "any"
    )
    reduced = {s: float((results.budgets_by_step(s) < 1).mean()) for s in candidates}
    untouched = [s for s, share in reduced.items() if share == 0]
    least = min(reduced, key=lambda s: (reduced[s], -len(results.record(s))))
    numbers = (
        f"{len(untouched)} of {len(reduced)} settings are never calibrated; least of all the "
        f"{least.alpha:g}-PLM for ε = {least.epsilon:g} and σ = {least.sigma:g}: "
        f"{reduced[least]:.2%} of the steps in {len(results.record(least))} runs"
    )
    return told(bool(untouched), numbers)


@CLAIMS.stated("V, first finding; V-B, end of the first paragraph")
def strict_needs_little(results: Results) -> Verdict:
    """A strict PLM gives event privacy nearly without calibration, a loose one must give up much
    of its budget.
    """
    holds, numbers = _strict_needs_little(results, "presence early", EARLY)
    strong = BASE.but(sigma=_STRONG)
    strict, usual = (results.budgets(strong.but(alpha=a), EARLY) for a in (_STRICTER, BASE.alpha))
    also = strict.mean() >= _SLIGHT and less(usual, strict - _MUCH)
    numbers += (
        f"; with stronger moves (σ = {_STRONG:g}), for α = {_STRICTER:g}, {BASE.alpha:g}: "
        f"{percent(strict.mean(), usual.mean())}"
    )
    return told(holds, numbers, "moves without much pattern", always=bool(also))


@CLAIMS.stated("V-B, first paragraph, on times 16–20")
def strict_needs_little_later(results: Results) -> Verdict:
    """The same holds for the later event."""
    return told(*_strict_needs_little(results, "presence late", LATE))


def _levels(results: Results, name: str, steps: range) -> Verdict:
    low, middle, high = (results.budgets(s, steps) for s in results.panel(name, 0))
    shares = [float(b.mean()) for b in (high, middle, low)]
    numbers = f"kept during the event for ε = 1, 0.5, 0.1: {percent(*shares)}"
    holds = (
        shares[0] >= _SLIGHT
        and shares[1] >= _FEW
        and less(low, middle, 2)
        and less(middle, high, 2)
    )
    strong = results.share(BASE.but(sigma=_STRONG, epsilon=1.0), EARLY)
    numbers += f"; with σ = {_STRONG:g} at ε = 1: {percent(strong)} (times 4–8)"
    return told(holds, numbers, "moves without much pattern (σ = 10)", always=strong >= _SLIGHT)


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
    words, holds = [], True
    for name, _ in _WINDOWS:
        settings = results.panel(name, 1)
        spread, often = [], []
        for setting in settings:
            shares = results.budgets_by_step(setting)
            spread.append(np.abs(shares - shares.mean(axis=0)).mean(axis=1))
            often.append((shares < 1).mean(axis=1))
        holds &= less(often[0], often[-1]) and less(spread[0], spread[-1])
        words.append(
            f"{name}: mean deviation relative to α {', '.join(f'{v.mean():.1%}' for v in spread)}, "
            f"steps reduced {', '.join(f'{v.mean():.1%}' for v in often)}"
        )
    alphas = figures(*(s.alpha for s in settings))
    return told(holds, f"for α = {alphas}; " + "; ".join(words))


@CLAIMS.stated("V-B, comparison of the two events")
def reduced_during(results: Results) -> Verdict:
    """Budgets are reduced during the times of the event."""
    words, holds = [], True
    for name, steps in _WINDOWS:
        shares = results.budgets_by_step(results.panel(name, 0)[1])
        during = shares[:, steps.start : steps.stop].mean(axis=1)
        outside = np.delete(shares, np.arange(steps.start, steps.stop), axis=1).mean(axis=1)
        holds &= less(during, outside)
        words.append(f"{name}: {percent(during.mean(), outside.mean())}")
    return told(holds, "0.2-PLM, ε = 0.5, kept during the event and otherwise: " + "; ".join(words))


@CLAIMS.stated("V-B, comparison of the two events")
def budgets_tell(results: Results) -> Verdict:
    """So the budgets give away when the event is, and must stay on the device."""
    words, holds = [], True
    for name, steps in _WINDOWS:
        shares = results.record(results.panel(name, 0)[1]).values("budgets")
        single = [_lowest(run, len(steps)) for run in shares if run.min() < run.max()]
        found = sum(abs(start - steps.start) <= 1 for start in single) / len(shares)
        start = _lowest(shares.mean(axis=0), len(steps))
        holds &= abs(start - steps.start) <= 1 and found > 0.5
        words.append(
            f"{name}: times {start + 1}–{start + len(steps)} of the mean; within a step of the "
            f"event in {percent(found)} of single streams"
        )
    numbers = f"the five steps with the smallest budget: {'; '.join(words)}"
    return told(holds, f"{numbers}. (Of EveryOutput budgets are public, and the event with them)")


def _lowest(course: Array, width: int) -> int:
    """Return where the stretch with the smallest sum begins."""
    return int(np.argmin(np.convolve(course, np.ones(width), mode="valid")))


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
    dearer = early if early.mean() > late.mean() else late
    numbers = (
        f"lost of the budget during both events, all settings of the figure, for both, early, "
        f"late: {percent(both.mean(), early.mean(), late.mean())} (over all times {always}); both "
        f"less the sum of the two: {give_or_take(apart(both, early + late))}"
    )
    return told(less(dearer + _WORSE, both), numbers)


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
    words, held = [], []
    for where, (within, without) in cases.items():
        with_set, plain = _lost(results, within), _lost(results, without)
        if less(plain, with_set):
            held.append(where)
        words.append(
            f"{where}: {with_set.mean():.1%} with, {plain.mean():.1%} without "
            f"({give_or_take(apart(with_set, plain))})"
        )
    numbers = "lost of the budget, the mean over ε and α; " + "; ".join(words)
    return told(bool(held), numbers, f"on {', '.join(held)}", always=len(held) == len(cases))
