"""Where the user is, as far as everybody can tell: what calibrations and location sets go by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from priste.checks import Array
from priste.mobility import Mobility


@dataclass(frozen=True, eq=False)
class Whereabouts:
    """A distribution over the states of each model, given all that was released."""

    by_model: tuple[Array, ...]

    @classmethod
    def start(cls, mobilities: Sequence[Mobility], initial: Array | None) -> "Whereabouts":
        """Return what is known before the first release: `initial`, or what each model says."""
        return cls(tuple(m.states(m.initial if initial is None else initial) for m in mobilities))

    def arrive(self, mobilities: Sequence[Mobility], step: int) -> "Whereabouts":
        """Return what is known at the step after `step`, before its release."""
        moved = []
        for belief, mobility in zip(self.by_model, mobilities, strict=True):
            there = np.asarray(belief @ mobility.transition(step))
            moved.append(there / there.sum())  # rounding must not add up
        return Whereabouts(tuple(moved))

    def observe(self, mobilities: Sequence[Mobility], column: Array) -> "Whereabouts":
        """Return what is known after a release whose probability from each cell is `column`.

        A model under which it is impossible learns nothing from it.
        """
        seen = []
        for belief, mobility in zip(self.by_model, mobilities, strict=True):
            joint = belief * column[mobility.cell_of_state]
            total = float(joint.sum())
            seen.append(joint / total if total > 0 else belief)
        return Whereabouts(tuple(seen))

    def cells(self, mobilities: Sequence[Mobility]) -> Array:
        """Return where the user is, over the cells, with every model given the same weight."""
        rows = [m.cells(belief) for m, belief in zip(mobilities, self.by_model, strict=True)]
        return rows[0] if len(rows) == 1 else np.mean(rows, axis=0)

    def deem_possible(self, mobilities: Sequence[Mobility], column: Array) -> bool:
        """Tell whether some model deems a release with this column possible."""
        return any(
            bool((belief * column[m.cell_of_state]).any())
            for m, belief in zip(mobilities, self.by_model, strict=True)
        )
