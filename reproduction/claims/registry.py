"""How claims are registered, and what their checks share."""

from collections.abc import Callable, Iterable

import numpy as np

from priste.checks import Array
from reproduction.settings import Setting
from reproduction.verdicts import Claim, Results, Verdict

BASE = Setting()
"""The setting that figures start from: the 0.2-PLM at ε = 0.5, the event at times 4–8."""

Check = Callable[[Results], Verdict]


class Claims(list[Claim]):
    """The claims of one part of the paper, in its order."""

    def stated(self, where: str) -> Callable[[Check], Check]:
        """Register a check; its docstring is the claim."""

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
    """Format shares."""
    return ", ".join(f"{share:.0%}" for share in shares)


def figures(*values: float) -> str:
    """Format numbers, to three digits."""
    return ", ".join(f"{value:.3g}" for value in values)
