"""Section V-B: budgets at each time."""

import math
from itertools import pairwise

import numpy as np

from priste.reproduce.claims.registry import BASE, Claims, alphas_of, figures, percent
from priste.reproduce.settings import EARLY, LATE
from priste.reproduce.verdicts import Results, Verdict, told

CLAIMS = Claims()

_SLIGHT, _FEW = 0.9, 0.6  # of the budget during the event: kept after slight, after few reductions
_STRONG = 3.0  # a σ for which moves have a pattern


@CLAIMS.stated("V, first finding; V-B, end of the first paragraph")
def strict_needs_little(results: Results) -> Verdict:
    """A strict PLM gives event privacy nearly without calibration, a loose one must give up much
    of its budget.
    """
    shares = [results.share(BASE.but(alpha=a), EARLY) for a in alphas_of(results)]
    strong = results.share(BASE.but(sigma=_STRONG), EARLY)
    numbers = (
        f"kept of the budget at times 4–8, ε = 0.5, for α = {figures(*alphas_of(results))}: "
        f"{percent(*shares)}; 0.2-PLM at σ = {_STRONG:g}: {percent(strong)}"
    )
    holds = shares[0] >= _SLIGHT and shares[-1] <= shares[0] - 0.3
    return told(holds, numbers, "moves without much pattern (σ = 10)", always=strong >= _SLIGHT)


def _levels(results: Results, event: str, steps: range) -> Verdict:
    shares = [results.share(BASE.but(event=event, epsilon=e), steps) for e in (1.0, 0.5, 0.1)]
    numbers = f"kept during the event for ε = 1, 0.5, 0.1: {percent(*shares)}"
    holds = shares[0] >= _SLIGHT and shares[1] >= _FEW and shares[2] < shares[1] <= shares[0]
    strong = results.share(BASE.but(sigma=_STRONG, epsilon=1.0), EARLY)
    numbers += f"; at σ = {_STRONG:g} and ε = 1: {percent(strong)} (times 4–8)"
    return told(holds, numbers, "moves without much pattern (σ = 10)", always=strong >= _SLIGHT)


@CLAIMS.stated("V-B, first paragraph, on times 4–8")
def three_levels(results: Results) -> Verdict:
    """The 0.2-PLM gives ε = 1 with slight reductions of its budget, 0.5 with few, 0.1 with more."""
    return _levels(results, "early", EARLY)


@CLAIMS.stated("V-B, first paragraph, on times 16–20")
def three_levels_later(results: Results) -> Verdict:
    """The same holds for the later event."""
    return _levels(results, "late", LATE)


@CLAIMS.stated("V-B, first paragraph")
def loose_varies(results: Results) -> Verdict:
    """Budgets of weaker (looser) PLMs vary more."""
    deviations = [
        float(results.record(BASE.but(alpha=a)).values("budgets").std(axis=0).mean())
        for a in alphas_of(results)
    ]
    relative = [d / a for d, a in zip(deviations, alphas_of(results), strict=True)]
    numbers = (
        f"mean deviation for α = {figures(*alphas_of(results))}: {figures(*deviations)} "
        f"(relative to α: {percent(*relative)})"
    )
    return told(all(a < b for a, b in pairwise(deviations)), numbers)


@CLAIMS.stated("V-B, comparison of the two events")
def reduced_during(results: Results) -> Verdict:
    """Budgets are reduced during the times of the event."""
    words, holds = [], True
    for event, steps in (("early", EARLY), ("late", LATE)):
        course = results.course(BASE.but(event=event))
        during = course[steps.start : steps.stop].mean()
        outside = np.delete(course, np.arange(steps.start, steps.stop)).mean()
        holds &= bool(during < outside)
        words.append(f"{event}: {percent(during)} during, {percent(outside)} otherwise")
    return told(holds, "0.2-PLM, ε = 0.5, kept of the budget: " + "; ".join(words))


@CLAIMS.stated("V-B, comparison of the two events")
def budgets_tell(results: Results) -> Verdict:
    """So the budgets give away when the event is, and must stay on the device."""
    words, found_all = [], True
    for event, steps in (("early", EARLY), ("late", LATE)):
        course = results.course(BASE.but(event=event))
        means = np.convolve(course, np.full(len(steps), 1 / len(steps)), mode="valid")
        found = int(np.argmin(means))
        found_all &= abs(found - steps.start) <= 1
        words.append(f"times {found + 1}–{found + len(steps)} for {event}")
    numbers = f"the five steps with the smallest mean budget: {'; '.join(words)}"
    return told(
        found_all, numbers + " (with EveryOutput budgets are public by design, and so is the event)"
    )


@CLAIMS.stated("V-B, multiple events")
def two_events(results: Results) -> Verdict:
    """Protecting two events at once costs much more than protecting either."""
    both, early, late = (results.share(BASE.but(event=e)) for e in ("both", "early", "late"))
    numbers = (
        f"0.2-PLM, ε = 0.5, kept over all steps: both {percent(both)}, early {percent(early)}, "
        f"late {percent(late)}"
    )
    lost, single = 1 - both, max(1 - early, 1 - late)
    return told(
        both < min(early, late),
        f"{numbers}: {lost / single if single else math.inf:.1f} times the loss of the dearer one",
        "worse, but by no more than the two losses together",
        always=lost > (1 - early) + (1 - late),
    )


@CLAIMS.stated("V-B, location sets")
def sets_cost(results: Results) -> Verdict:
    """Within a δ-location set the same PLM must be calibrated more."""
    words, costs = [], {}
    for sigma in (BASE.sigma, _STRONG):
        pairs = [
            (results.share(base.but(delta=0.1)), results.share(base))
            for base in (BASE.but(sigma=sigma, epsilon=e) for e in (0.1, 0.5, 1.0))
        ]
        costs[sigma] = all(within < without for within, without in pairs)
        numbers = ", ".join(f"{within:.1%} for {without:.1%}" for within, without in pairs)
        words.append(f"σ = {sigma:g}: {numbers}")
    return told(
        any(costs.values()),
        "0.2-PLM, kept with for without a set, at ε = 0.1, 0.5, 1; " + "; ".join(words),
        "on moves with " + " and ".join(f"σ = {s:g}" for s, cost in costs.items() if cost),
        always=all(costs.values()),
    )
