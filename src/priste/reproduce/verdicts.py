"""What a claim of the paper is worth here: a verdict with the numbers behind it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from priste.checks import Array
from priste.reproduce.kept import Kept, Record
from priste.reproduce.settings import Setting

REPRODUCED, ONLY_IF, NOT, UNCHECKED = (
    "reproduced",
    "reproduced only under a condition",
    "not reproduced",
    "not checked",
)


class Verdict(NamedTuple):
    """A verdict, the numbers, and the condition or the reason if there is one."""

    verdict: str
    numbers: str
    condition: str = ""


class Missing(Exception):
    """What a claim is about has not been measured; the message says why."""


class Claim(NamedTuple):
    """A claim of the paper in our words, where it stands, and its check."""

    where: str
    text: str
    check: Callable[["Results"], Verdict]

    def judge(self, results: "Results") -> Verdict:
        """Return the verdict."""
        try:
            return self.check(results)
        except Missing as missing:
            return Verdict(UNCHECKED, "", str(missing))


class Results(NamedTuple):
    """All that was measured, and why some of it was not."""

    kept: Kept
    why_missing: dict[str, str]

    def record(self, setting: Setting) -> Record:
        """Return the runs of a setting."""
        record = self.kept.record(setting)
        if not record.runs:
            why = self.why_missing.get("geolife" if setting.is_geolife else "streams")
            raise Missing(why or "these streams were not run in this mode")
        return record

    def measured(self, name: str) -> dict[str, Any]:
        """Return another measurement."""
        found = self.kept.measured(name)
        if found is None:
            raise Missing(self.why_missing.get(name, "not measured"))
        return found

    def budget(self, setting: Setting) -> float:
        """Return the mean budget over steps and runs."""
        return self.record(setting).mean("budgets")[0]

    def error(self, setting: Setting) -> tuple[float, float]:
        """Return the mean distance over steps and runs, and half its 95 % interval."""
        return self.record(setting).mean("errors")

    def course(self, setting: Setting) -> Array:
        """Return the share of the budget that is kept at each step, the mean over runs."""
        return np.asarray(self.record(setting).values("budgets").mean(axis=0) / setting.alpha)

    def share(self, setting: Setting, steps: range | None = None) -> float:
        """Return the share of the budget that is kept, over some steps or all."""
        course = self.course(setting)
        return float((course if steps is None else course[steps.start : steps.stop]).mean())


def told(holds: bool, numbers: str, condition: str = "", *, always: bool = True) -> Verdict:
    """Return the verdict of a check; one that holds but not `always` needs its condition."""
    if not holds:
        return Verdict(NOT, numbers)
    return Verdict(REPRODUCED, numbers) if always else Verdict(ONLY_IF, numbers, condition)
