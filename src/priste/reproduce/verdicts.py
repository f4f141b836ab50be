"""What a claim of the paper is worth here: a verdict with the numbers behind it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from priste.checks import Array
from priste.reproduce.experiments import Experiment
from priste.reproduce.kept import Kept, Record, interval
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

    @property
    def kind(self) -> str:
        """Whose claim it is: of the evaluation, of another part of the paper, or extended by us."""
        if "extended by us" in self.where:
            return "extended by us"
        return "elsewhere" if "not part of the evaluation" in self.where else "evaluation"

    def judge(self, results: "Results") -> Verdict:
        """Return the verdict."""
        try:
            return self.check(results)
        except Missing as missing:
            return Verdict(UNCHECKED, "", str(missing))


@dataclass(frozen=True)
class Results:
    """All that was wanted and measured, and why some of it was not."""

    kept: Kept
    experiments: tuple[Experiment, ...]
    why_missing: dict[str, str]

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """Every setting that was wanted and has runs."""
        wanted = dict.fromkeys(s for e in self.experiments for s in e.settings())
        return tuple(setting for setting in wanted if self.kept.record(setting).runs)

    def record(self, setting: Setting) -> Record:
        """Return the runs of a setting."""
        if setting not in self.settings:
            why = self.why_missing.get(setting.place) or self.why_missing.get(
                "geolife" if setting.is_geolife else ""
            )
            raise Missing(why or "these streams were not run in this mode")
        return self.kept.record(setting)

    def measured(self, name: str) -> dict[str, Any]:
        """Return another measurement."""
        found = self.kept.measured(name)
        if found is None or name in self.why_missing:
            raise Missing(self.why_missing.get(name, "not measured"))
        return found

    def experiment(self, name: str) -> Experiment:
        """Return one of the experiments."""
        found = [e for e in self.experiments if e.name == name]
        if not found:
            place = name.rpartition(" ")[2]
            raise Missing(self.why_missing.get(place, "there is no such experiment in this mode"))
        return found[0]

    def panel(self, name: str, number: int) -> list[Setting]:
        """Return the settings of one panel of a figure over time."""
        return [curve.settings[0] for curve in self.experiment(name).panels[number].curves]

    def curves(self, name: str) -> dict[str, tuple[Setting, ...]]:
        """Return the settings of a figure over ε, by the label of their curve."""
        (panel,) = self.experiment(name).panels
        return {curve.label: curve.settings for curve in panel.curves}

    def budgets_by_step(self, setting: Setting) -> Array:
        """Return the share of the budget that is kept: a row per run, a column per step."""
        return self.record(setting).values("budgets") / setting.alpha

    def budgets(self, setting: Setting, steps: range | None = None) -> Array:
        """Return the share of the budget that each run keeps, over some steps or all."""
        shares = self.budgets_by_step(setting)
        if steps is not None:
            shares = shares[:, steps.start : steps.stop]
        return np.asarray(shares.mean(axis=1))

    def share(self, setting: Setting, steps: range | None = None) -> float:
        """Return the share of the budget that is kept, the mean over the runs."""
        return float(self.budgets(setting, steps).mean())

    def errors(self, setting: Setting) -> Array:
        """Return the mean distance of each run."""
        return np.asarray(self.record(setting).values("errors").mean(axis=1))


def apart(one: Array, other: Array, comparisons: int = 1) -> tuple[float, float]:
    """Return how much larger `one` is, run by run with the same seeds, and half its interval."""
    n = min(len(one), len(other))
    return interval(one[:n] - other[:n], comparisons)


def less(one: Array, other: Array, comparisons: int = 1) -> bool:
    """Tell whether `one` is smaller, beyond what chance would do."""
    more, half = apart(one, other, comparisons)
    return more + half < 0


def told(holds: bool, numbers: str, condition: str = "", *, always: bool = True) -> Verdict:
    """Return the verdict of a check; one that holds but not `always` needs its condition."""
    if not holds:
        return Verdict(NOT, numbers)
    return Verdict(REPRODUCED, numbers) if always else Verdict(ONLY_IF, numbers, condition)
