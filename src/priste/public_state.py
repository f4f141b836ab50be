"""What everybody can know about a protected stream; it depends on the releases alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from priste.calibration import Situation, WarmStart
from priste.checks import Array
from priste.evidence import EventModel, Evidence
from priste.mechanisms.location_set import LocationSet
from priste.mechanisms.mechanism import Mechanism
from priste.mobility import Mobility
from priste.priors import Prior
from priste.protection import Protect


@dataclass(frozen=True, eq=False)
class PublicState:
    """The state at `step`: evidence per protection and model, and a belief over the states.

    The belief is that of the first mobility model; mechanisms may follow it. Step -1 is before
    the stream begins.
    """

    mechanism: Mechanism
    mobility: Mobility
    protections: tuple[Protect, ...]
    evidence: tuple[Evidence, ...]
    belief: Array
    step: int = -1
    warm_start: WarmStart | None = None

    def __repr__(self) -> str:
        return f"PublicState(step {self.step}, {len(self.evidence)} pieces of evidence)"

    @classmethod
    def start(
        cls,
        mobilities: Sequence[Mobility],
        mechanism: Mechanism,
        protections: Sequence[Protect],
        prior: Prior,
    ) -> "PublicState":
        """Return the state before the first step; models of one protection are adjacent."""
        first = mobilities[0]
        initial = mechanism.prior if isinstance(mechanism, LocationSet) else first.initial
        pairs = [(p, m) for p in protections for m in mobilities]
        return cls(
            mechanism,
            first,
            tuple(p for p, _ in pairs),
            tuple(
                Evidence.start(EventModel(p.event, m), prior).refuse_foregone() for p, m in pairs
            ),
            first.states(initial),
        )

    def arrive(self) -> "PublicState":
        """Return the state at the next step, before its release."""
        if self.step < 0:
            return replace(self, step=0)
        belief = np.asarray(self.belief @ self.mobility.transition(self.step))
        belief /= belief.sum()  # rounding must not add up
        evidence = tuple(e.advance() for e in self.evidence)
        return replace(self, step=self.step + 1, evidence=evidence, belief=belief)

    def situation(self) -> Situation:
        """Return what a calibration may look at before the release."""
        mechanism, belief = self.mechanism, self.mobility.cells(self.belief)
        if mechanism.follows_belief:
            mechanism = mechanism.for_belief(belief)
        return Situation(mechanism, self.protections, self.evidence, belief, self.warm_start)

    def observe(self, column: Array, warm_start: WarmStart | None) -> "PublicState":
        """Return the state after a release whose probability from each cell is `column`.

        `warm_start` is that of the plan it was drawn from: without it later plans may differ.
        """
        joint = self.belief * column[self.mobility.cell_of_state]
        total = float(joint.sum())
        belief = joint / total if total > 0 else self.belief
        evidence = tuple(e.observe(column) for e in self.evidence)
        return replace(self, evidence=evidence, belief=belief, warm_start=warm_start)
