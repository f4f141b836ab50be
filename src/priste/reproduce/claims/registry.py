"""How claims are registered, and what their checks share."""

from collections.abc import Callable, Iterable

import numpy as np

from priste.checks import Array
from priste.reproduce.settings import Setting
from priste.reproduce.verdicts import Claim, Results, Verdict

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


def pooled(measure: Callable[[Setting], Array], settings: Iterable[Setting]) -> Array:
    """Return a measure of each run, the mean over settings."""
    values = [measure(setting) for setting in settings]
    n = min(map(len, values))
    return np.asarray(np.mean([v[:n] for v in values], axis=0))


def percent(*shares: float) -> str:
    """Return shares in words."""
    return ", ".join(f"{share:.0%}" for share in shares)


def figures(*values: float) -> str:
    """Return numbers in words."""
    return ", ".join(f"{value:.3g}" for value in values)


def give_or_take(difference: tuple[float, float]) -> str:
    """Return a difference and its interval in words."""
    mean, half = difference
    return f"{mean:+.3f} ± {half:.3f}"
