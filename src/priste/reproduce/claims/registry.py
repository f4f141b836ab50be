"""How claims are registered, and what their checks share."""

from collections.abc import Callable

from priste.reproduce.experiments import FAST, FULL, Effort, experiments
from priste.reproduce.settings import Setting
from priste.reproduce.verdicts import Claim, Missing, Results, Verdict

BASE = Setting()
"""The setting that figures start from: the 0.2-PLM at ε = 0.5, the event at times 4–8."""

Check = Callable[[Results], Verdict]


class Claims(list[Claim]):
    """The claims of one part of the paper, in its order."""

    def stated(self, where: str) -> Callable[[Check], Check]:
        """Register a check under the claim it is about, which is its docstring."""

        def register(check: Check) -> Check:
            self.append(Claim(where, " ".join((check.__doc__ or "").split()), check))
            return check

        return register


def effort_of(results: Results) -> Effort:
    """Return the mode the results were measured in."""
    return FAST if results.kept.steps == FAST.steps else FULL


def curves_of(results: Results, name: str) -> dict[str, tuple[Setting, ...]]:
    """Return the settings of an experiment over ε, by the label of their curve."""
    found = [e for e in experiments(effort_of(results)) if e.name == name]
    if not found:
        raise Missing("there is no such experiment in this mode")
    return {curve.label: curve.settings for curve in found[0].panels[0].curves}


def alphas_of(results: Results) -> list[float]:
    """Return the budgets of the figures over time."""
    return [0.1, 0.2, 1.0] if effort_of(results).is_fast else [0.1, 0.2, 0.5, 1.0]


def percent(*shares: float) -> str:
    """Return shares in words."""
    return ", ".join(f"{share:.0%}" for share in shares)


def figures(*values: float) -> str:
    """Return numbers in words."""
    return ", ".join(f"{value:.3g}" for value in values)
