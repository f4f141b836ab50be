"""Every claim of the paper's evaluation, each the docstring of the function that checks it.

The words are ours, with the place in the paper. A check turns "slight", "much" and the like into
a number.
"""

from reproduction.claims import over_epsilon, over_time, promises, runtime
from reproduction.claims.promises import audited

CLAIMS = [*promises.CLAIMS, *over_time.CLAIMS, *over_epsilon.CLAIMS, *runtime.CLAIMS]

__all__ = ["CLAIMS", "audited"]
