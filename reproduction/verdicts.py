"""The verdict on a claim of the paper, and the results it is judged by."""

from collections.abc import Callable, KeysView
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from priste.checks import Array
from reproduction.experiments import Experiment
from reproduction.findings import Finding
from reproduction.results_store import Record, ResultsStore
from reproduction.settings import Setting

REPRODUCED, ONLY_IF, UNDECIDED, NOT, UNCHECKED = VERDICTS = (
    "reproduced",
    "reproduced only under a condition",
    "undecided",
    "not reproduced",
    "not checked",
)
"""A claim is undecided where chance could explain the results, and not reproduced where they
contradict it beyond chance."""


class Verdict(NamedTuple):
    """A verdict, the numbers behind it, and its condition or reason if it has one."""

    verdict: str
    numbers: str
    condition: str = ""


class Missing(Exception):
    """A claim is about something that was not measured; the message says why."""


class Claim(NamedTuple):
    """A claim of the paper in our words, where it stands, and its check."""

    where: str
    text: str
    check: Callable[["Results"], Verdict]

    @property
    def kind(self) -> str:
        """Where it comes from: the evaluation, another part of the paper, or our extension."""
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
    """What was measured, and why the rest was not."""

    store: ResultsStore
    experiments: tuple[Experiment, ...]
    why_missing: dict[str, str]

    @cached_property
    def settings(self) -> KeysView[Setting]:
        """Every setting of the experiments that has runs."""
        wanted = dict.fromkeys(s for e in self.experiments for s in e.settings())
        return {s: None for s in wanted if self.store.record(s).runs}.keys()

    def record(self, setting: Setting) -> Record:
        """Return the runs of a setting."""
        if setting not in self.settings:
            why = self.why_missing.get(setting.place) or self.why_missing.get(
                "geolife" if setting.is_geolife else ""
            )
            raise Missing(why or "these streams were not run in this mode")
        return self.store.record(setting)

    def measured(self, name: str) -> dict[str, Any]:
        """Return a measurement other than runs."""
        found = self.store.load(name)
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
        """Return the share of the budget that is left: a row per run, a column per step."""
        return self.record(setting).values("budgets") / setting.alpha

    def budgets(self, setting: Setting, steps: range | None = None) -> Array:
        """Return the mean share of the budget left in each run, over some steps or all."""
        shares = self.budgets_by_step(setting)
        if steps is not None:
            shares = shares[:, steps.start : steps.stop]
        return np.asarray(shares.mean(axis=1))

    def share(self, setting: Setting, steps: range | None = None) -> float:
        """Return the share of the budget left, the mean over runs."""
        return float(self.budgets(setting, steps).mean())

    def errors(self, setting: Setting) -> Array:
        """Return the mean distance of each run."""
        return np.asarray(self.record(setting).values("errors").mean(axis=1))


def verdict_on(
    finding: Finding, numbers: str, condition: str = "", *, always: bool = True
) -> Verdict:
    """Return the verdict on a claim; one that was not seen to hold `always` needs its condition."""
    if finding is Finding.HOLDS:
        return Verdict(REPRODUCED, numbers) if always else Verdict(ONLY_IF, numbers, condition)
    return Verdict(NOT if finding is Finding.FAILS else UNDECIDED, numbers)
