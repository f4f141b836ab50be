"""What it costs a remap, in its search, to move the odds: so that it tells what is worth telling.

A promise says how far odds may move, not that moving them is dear. A plan that only keeps promises
spends them on the smallest gain, and has nothing left when more could be gained. So outputs may be
charged for how far they are expected to leave the odds from where these began. That is a sum over
columns, of lines where these are positive, and fits into a linear program.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from priste.calibration.bounds import Bound
from priste.checks import Array


@dataclass(frozen=True, eq=False)
class Toll:
    """A `price` for what `lines` give above zero, for each column of a remap."""

    lines: Array
    price: float

    @classmethod
    def on(cls, bounds: Sequence[Bound], price: float) -> "Toll":
        """Return the toll on moving odds, the mean of that for each promise."""
        if not price:
            return FREE
        lines = [line for bound in bounds for line in bound.movements()]
        return cls(np.array(lines), price / len(bounds)) if lines else FREE

    def after(self, mechanism: Array) -> "Toll":
        """Return the toll on what comes after a mechanism, where this one is on the emission."""
        return replace(self, lines=self.lines @ mechanism) if self.price else self

    def of(self, remap: Array) -> float:
        """Return what a remap pays."""
        return self.price * float(np.maximum(self.lines @ remap, 0.0).sum()) if self.price else 0.0


FREE = Toll(np.empty(0), 0.0)
"""Nothing is charged."""
