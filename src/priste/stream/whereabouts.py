"""Where the user is, as far as everybody can tell: what calibrations and location sets go by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from priste.checks import Array
from priste.mobility import Mobility

_CHANGE = 0.02  # how fast trust evens out, per step: days do not go on alike


@dataclass(frozen=True, eq=False)
class Whereabouts:
    """A distribution over the states of each model, given all that was released.

    `trust` is how far each model is believed: all alike at first, then by Bayes' rule, so that one
    that foretold the releases better counts more. It decides which releases are useful, and no
    promise depends on it.
    """

    by_model: tuple[Array, ...]
    trust: Array

    @classmethod
    def start(cls, mobilities: Sequence[Mobility], initial: Array | None) -> "Whereabouts":
        """Return what is known before the first release: `initial`, or what each model says."""
        beliefs = tuple(m.states(m.initial if initial is None else initial) for m in mobilities)
        return cls(beliefs, np.full(len(beliefs), 1 / len(beliefs)))

    def arrive(self, mobilities: Sequence[Mobility], step: int) -> "Whereabouts":
        """Return what is known at the step after `step`, before its release."""
        moved = []
        for belief, mobility in zip(self.by_model, mobilities, strict=True):
            there = np.asarray(belief @ mobility.transition(step))
            moved.append(there / there.sum())  # rounding must not add up
        return Whereabouts(tuple(moved), (1 - _CHANGE) * self.trust + _CHANGE / len(moved))

    def observe(self, mobilities: Sequence[Mobility], column: Array) -> "Whereabouts":
        """Return what is known after a release whose probability from each cell is `column`.

        A model under which it is impossible learns nothing from it.
        """
        seen, trust = [], np.empty(len(self.trust))
        for m, (belief, mobility) in enumerate(zip(self.by_model, mobilities, strict=True)):
            joint = belief * column[mobility.cell_of_state]
            likelihood = float(joint.sum())
            seen.append(joint / likelihood if likelihood > 0 else belief)
            trust[m] = self.trust[m] * likelihood
        total = float(trust.sum())
        return Whereabouts(tuple(seen), trust / total if total > 0 else self.trust)

    def cells(self, mobilities: Sequence[Mobility]) -> Array:
        """Return where the user is, over the cells, models counting as far as they are believed."""
        rows = [m.cells(belief) for m, belief in zip(mobilities, self.by_model, strict=True)]
        return rows[0] if len(rows) == 1 else np.asarray(self.trust @ rows)

    def deem_possible(self, mobilities: Sequence[Mobility], column: Array) -> bool:
        """Tell whether some model deems a release with this column possible."""
        return any(
            bool((belief * column[m.cell_of_state]).any())
            for m, belief in zip(mobilities, self.by_model, strict=True)
        )
