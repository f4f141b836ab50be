"""Whether ε holds."""

import math
from typing import NamedTuple

from priste.auditing import TOLERANCE
from reproduction.claims.registry import Claims
from reproduction.findings import Finding, all_of
from reproduction.verdicts import Missing, Results, Verdict, verdict_on

CLAIMS = Claims()

_UNAWARE = "only against an adversary who does not know that earlier draws were rejected"


class Audited(NamedTuple):
    """The audits of one method: in how many settings the loss is above or within ε.

    It is `above` if an exact loss is, or the whole interval of an estimated one (`estimated` counts
    these). It is `within` if exact losses are, to the end of the event. `worst` is the largest
    exact loss in units of ε, or the lower end of the largest estimate.
    """

    above: int
    estimated: int
    within: int
    undecided: int
    worst: float

    @property
    def finding(self) -> Finding:
        """Whether the losses of all settings are within ε."""
        if self.above:
            return Finding.FAILS
        return Finding.HOLDS if self.within and not self.undecided else Finding.UNDECIDED


def audited(results: Results, method: str) -> Audited:
    """Return what the audits of a method found."""
    above = estimated = within = undecided = 0
    worst = math.nan
    for setting in results.settings:
        audit = results.store.record(setting).audit
        if setting.method != method or audit is None:
            continue
        exact = audit["realised"] / setting.epsilon
        mean, half = audit.get("estimate") or (-math.inf, 0.0)
        at_least = max(exact, (mean - half) / setting.epsilon)
        worst = at_least if math.isnan(worst) else max(worst, at_least)
        if at_least > 1 + TOLERANCE:
            above += 1
            estimated += exact <= 1 + TOLERANCE
        elif audit["to the end"]:
            within += 1
        else:
            undecided += 1
    return Audited(above, estimated, within, undecided, worst)


def _verdict(by_its_own_account: bool, audits: Audited, numbers: str) -> Verdict:
    """Return the verdict on an account of the loop, which no chance blurs, and its audits."""
    account = Finding.HOLDS if by_its_own_account else Finding.FAILS
    if audits.above:
        return verdict_on(account, numbers, _UNAWARE, always=False)
    return verdict_on(all_of([account, audits.finding]), numbers)


@CLAIMS.stated("V, the sentence that opens it")
def promise(results: Results) -> Verdict:
    """The algorithms calibrate the budget at each step so that ε holds for the event."""
    audits = audited(results, "retry")
    if math.isnan(audits.worst):
        raise Missing("no stream was audited")
    accounted = max(
        float(results.store.record(s).values("accounted").max()) / s.epsilon
        for s in results.settings
        if s.method == "retry"
    )
    numbers = (
        f"by the loop's own account at most {accounted:.3f} ε; by audits of a few drawn streams "
        f"above ε in {audits.above} settings (in {audits.estimated} by estimate; up to "
        f"{audits.worst:.2f} ε), within ε to the end of the event in {audits.within}, undecided in "
        f"{audits.undecided}"
    )
    return _verdict(accounted <= 1 + TOLERANCE, audits, numbers)


@CLAIMS.stated("IV-C and V-A, conservative release")
def conservative(results: Results) -> Verdict:
    """Since undecided checks are never released, ε always holds."""
    measured = results.measured("thresholds")
    rows = [row for row in measured["rows"] if row["threshold"] is not None]
    worst = max(row["accounted"] for row in rows) / measured["epsilon"]
    numbers = (
        f"largest accounted loss of what the solver passed: {worst:.4f} ε. An undecided check "
        f"halves the budget like a failed one, so the loop leaks as it does with an exact test"
    )
    return _verdict(worst <= 1 + 1e-4, audited(results, "retry"), numbers)
