"""Whether ε holds."""

import math
from typing import NamedTuple

from priste.auditing import TOLERANCE
from priste.reproduce.claims.registry import Claims
from priste.reproduce.verdicts import Missing, Results, Verdict, told

CLAIMS = Claims()

_KNOWING = "only against somebody who does not know that earlier draws were thrown away"


class Audited(NamedTuple):
    """The audits of one method, by settings.

    In those that are `broken` a loss above ε is exact, or is `estimated` and its whole interval
    lies above; where ε is `kept` it is exactly so to the end of the event. `worst` is the largest
    exact loss in units of ε, or the lower end of the largest estimate.
    """

    broken: int
    estimated: int
    kept: int
    undecided: int
    worst: float


def audited(results: Results, method: str) -> Audited:
    """Return what the audits of a method found."""
    broken = estimated = kept = undecided = 0
    worst = math.nan
    for setting in results.settings:
        audit = results.kept.record(setting).audit
        if setting.method != method or audit is None:
            continue
        exact = audit["realised"] / setting.epsilon
        mean, half = audit.get("estimate") or (-math.inf, 0.0)
        at_least = max(exact, (mean - half) / setting.epsilon)
        worst = at_least if math.isnan(worst) else max(worst, at_least)
        if at_least > 1 + TOLERANCE:
            broken += 1
            estimated += exact <= 1 + TOLERANCE
        elif audit["to the end"]:
            kept += 1
        else:
            undecided += 1
    return Audited(broken, estimated, kept, undecided, worst)


@CLAIMS.stated("V, the sentence that opens it")
def promise(results: Results) -> Verdict:
    """The algorithms calibrate the budget at each step so that ε holds for the event."""
    found = audited(results, "retry")
    if math.isnan(found.worst):
        raise Missing("no stream was audited")
    accounted = max(
        float(results.kept.record(s).values("accounted").max()) / s.epsilon
        for s in results.settings
        if s.method == "retry"
    )
    numbers = (
        f"by the loop's own account at most {accounted:.3f} ε; a few drawn streams audited: above "
        f"ε in {found.broken} settings (in {found.estimated} by estimate; up to {found.worst:.2f} "
        f"ε), within ε to the end of the event in {found.kept}, not decided in {found.undecided}"
    )
    return told(accounted <= 1 + TOLERANCE, numbers, _KNOWING, always=found.broken == 0)


@CLAIMS.stated("IV-C and V-A, conservative release")
def conservative(results: Results) -> Verdict:
    """Since undecided checks are never released, ε always holds."""
    measured = results.measured("thresholds")
    rows = [row for row in measured["rows"] if row["threshold"] is not None]
    worst = max(row["accounted"] for row in rows) / measured["epsilon"]
    numbers = (
        f"largest accounted loss of what the solver let through: {worst:.4f} ε. An undecided check "
        f"halves the budget like a failed one, so the loop leaks as the one with an exact test does"
    )
    leaks = audited(results, "retry").broken > 0
    return told(worst <= 1 + 1e-4, numbers, _KNOWING, always=not leaks)
