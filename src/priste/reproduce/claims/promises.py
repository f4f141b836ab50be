"""Whether ε holds."""

import math
from typing import NamedTuple

from priste.audit import TOLERANCE
from priste.reproduce.claims.registry import Claims, effort_of
from priste.reproduce.experiments import experiments
from priste.reproduce.kept import Record
from priste.reproduce.settings import Setting
from priste.reproduce.verdicts import Missing, Results, Verdict, told

CLAIMS = Claims()


class Audited(NamedTuple):
    """The audits of one method: how many settings, in how many ε broke, the largest loss over ε."""

    settings: int
    broken: int
    worst: float


def audited(results: Results, method: str) -> Audited:
    """Return what the audits of a method found."""
    ratios = [
        record.audit["realised"] / setting.epsilon
        for setting, record in _records(results, method).items()
        if record.audit is not None
    ]
    broken = sum(ratio > 1 + TOLERANCE for ratio in ratios)
    return Audited(len(ratios), broken, max(ratios, default=math.nan))


def _records(results: Results, method: str) -> dict[Setting, Record]:
    """Return the records of a method that have runs."""
    settings = (s for e in experiments(effort_of(results)) for s in e.settings())
    found = {s: results.kept.record(s) for s in settings if s.method == method}
    return {setting: record for setting, record in found.items() if record.runs}


@CLAIMS.stated("V, the sentence that opens it")
def promise(results: Results) -> Verdict:
    """The algorithms calibrate the budget at each step so that ε holds for the event."""
    found = audited(results, "retry")
    if not found.settings:
        raise Missing("no stream was audited")
    accounted = max(
        float(record.values("accounted").max()) / setting.epsilon
        for setting, record in _records(results, "retry").items()
    )
    numbers = (
        f"by the loop's own account at most {accounted:.3f} ε; audited: above ε in {found.broken} "
        f"of {found.settings} settings, at most {found.worst:.2f} ε, in a few drawn streams each"
    )
    condition = "only against somebody who does not know that earlier draws were thrown away"
    return told(accounted <= 1 + TOLERANCE, numbers, condition, always=found.broken == 0)


@CLAIMS.stated("IV-C and V-A, conservative release")
def conservative(results: Results) -> Verdict:
    """Since undecided checks are never released, ε always holds."""
    verdict = promise(results)
    return verdict._replace(
        numbers="an undecided check halves the budget like a failed one, and tells as much: see "
        "the first line of this table, and the exact audits of small maps"
    )
