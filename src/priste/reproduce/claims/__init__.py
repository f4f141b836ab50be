"""Every claim of the paper's evaluation, each with a check: a function whose docstring it is.

The words are ours; where a claim stands in the paper is said with it. "Slight", "much" and the
like are given a number in the check, and the verdict shows the numbers.
"""

from priste.reproduce.claims import over_epsilon, over_time, promises, runtime
from priste.reproduce.claims.promises import audited

CLAIMS = [*promises.CLAIMS, *over_time.CLAIMS, *over_epsilon.CLAIMS, *runtime.CLAIMS]

__all__ = ["CLAIMS", "audited"]
