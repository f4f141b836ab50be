"""What has become of the beliefs that an observer may have had at the start of a stream.

Each belief is carried along with every release. Where people's moves are random, beliefs forget
their start: they become alike. If every belief v satisfies e^−δ μ ≤ v ≤ e^δ μ, entry by entry and
up to a factor of its own, for one belief μ, then so it does for ever after, and every odds under v
are within 2δ of those under μ: before a release and after it, a loss within 4δ. From then on μ is
carried alone, and 4δ is charged to each event that is tracked with it.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from priste.checks import Array
from priste.evidence import Evidence, carried
from priste.mobility import Mobility
from priste.priors import Prior

CHARGE = 4
"""How many times their distance it costs to let one belief stand for others."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The beliefs at `step` before its release: ``weights[v, j] * 2 ** exponents[v]``.

    It is the joint probability of all releases before `step` and of state j, under belief v about
    the start. What is released at the step itself is kept as `released` until the next. `distance`
    is δ where one belief stands for the others, and 0 where each is still there.
    """

    mobility: Mobility
    weights: Array
    exponents: NDArray[np.int64]
    step: int = 0
    distance: float = 0.0
    released: Array | None = None

    @classmethod
    def start(cls, mobility: Mobility, prior: Prior) -> "Beliefs":
        """Return the beliefs at step 0."""
        weights = mobility.states(prior.vertices(mobility.n_cells))
        return cls(mobility, weights, np.zeros(len(weights), dtype=np.int64))

    def __repr__(self) -> str:
        return f"Beliefs(step {self.step}, {len(self.weights)} of them, δ {self.distance:.2g})"

    @property
    def are_one(self) -> bool:
        """Whether there is one belief only, or one that stands for all."""
        return len(self.weights) == 1

    @property
    def charge(self) -> float:
        """What an event pays that is tracked with these beliefs."""
        return CHARGE * self.distance

    def observe(self, column: Array) -> "Beliefs":
        """Return the beliefs after a release whose probability from each cell is `column`.

        A release that all of them deem impossible leaves them: nobody in the set can learn from it.
        """
        released = column if self.released is None else self.released * column
        if not (self.weights @ released[self.mobility.cell_of_state]).any():
            return self
        return replace(self, released=released)

    def advance(self) -> "Beliefs":
        """Return the beliefs at the next step, before its release."""
        cells, transition = self.mobility.cell_of_state, self.mobility.transition(self.step)
        tensor, exponents = carried(
            self.weights[:, None, :], self.exponents, cells, transition, self.released
        )
        return replace(
            self, step=self.step + 1, weights=tensor[:, 0], exponents=exponents, released=None
        )

    def carried_by(self, evidence: Evidence) -> "Beliefs":
        """Return the beliefs as they are in the evidence on an event since the start."""
        weights, exponents = evidence.tensor.sum(axis=1), evidence.exponents
        return replace(
            self, step=evidence.step, weights=weights, exponents=exponents, released=None
        )

    def normalised(self) -> Array:
        """Return the beliefs about the state at `step`; those that are refuted are left out."""
        return normalised(self.weights)

    def merged(self, most: float) -> "Beliefs":
        """Return one belief for all if its charge is at most `most`, else these."""
        if self.are_one:
            return self
        rows = self.normalised()
        if not len(rows):
            return self
        centre = rows.mean(axis=0)
        delta = distance(rows, centre)
        if CHARGE * delta > most:
            return self
        exponents = np.zeros(1, dtype=np.int64)
        return replace(self, weights=centre[None, :], exponents=exponents, distance=delta)


def normalised(weights: Array) -> Array:
    """Return rows of weights, each divided by its sum; rows of zeros are left out."""
    totals = weights.sum(axis=1, keepdims=True)
    held = totals[:, 0] > 0
    return np.asarray(weights[held] / totals[held])


def distance(rows: Array, centre: Array) -> float:
    """Return the δ within which every row is a multiple of `centre`, rounded up."""
    possible = centre > 0
    ratios = (rows if possible.all() else rows[:, possible]) / centre[possible]
    least, most = ratios.min(axis=1), ratios.max(axis=1)
    if not (least > 0).all():
        return np.inf
    return float((np.log(most) - np.log(least)).max()) / 2 + _ROUNDING


_ROUNDING = 1e-11  # more than floating point can have lost on the way
