"""What a calibration is given at a step, and the plan it makes of it.

A `Situation` holds what is public before a release. A `Plan` is made from it alone, so an
adversary can make the same. Only the draw from the plan looks at the true cell.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from priste.calibration.warm_start import WarmStart
from priste.checks import Array, frozen
from priste.evidence import Evidence
from priste.mechanisms.mechanism import Mechanism
from priste.protection import Protect
from priste.randomness import Randomness
from priste.worst_case import all_within, first_beyond, is_beyond


@dataclass(frozen=True, eq=False)
class Situation:
    """Everything public at a step before its release: nothing in it depends on the true cell.

    There is one `evidence` per protection and mobility model; ``protections[i]`` belongs to
    ``evidence[i]``.
    """

    mechanism: Mechanism
    protections: tuple[Protect, ...]
    evidence: tuple[Evidence, ...]
    belief: Array
    """Where the user is, over the cells, as far as everybody can tell."""
    warm_start: WarmStart | None = None
    """What the last plan left for this one to start from."""

    def __repr__(self) -> str:
        return f"Situation({self.mechanism!r}, {len(self.evidence)} promises)"

    @property
    def n_promises(self) -> int:
        """How many events there are promises about, each under each model counted once."""
        return len({id(evidence.model) for evidence in self.evidence})

    def forbidden_output(self, emission: Array, hint: int = 0) -> int | None:
        """Return an output of `emission` that would break a promise, or None if there is none.

        An output that the model deems impossible is forbidden: after it, nothing could be said.
        """
        for protection, evidence in zip(self.protections, self.evidence, strict=True):
            epsilon, sides = protection.epsilon, protection.sides
            output = first_beyond(evidence, emission, epsilon, sides=sides, hint=hint)
            if output is not None:
                return output
        return None

    def keeps(self, joint: Callable[[Evidence], tuple[Array, Array]]) -> bool:
        """Tell whether every output keeps every promise; `joint` gives b and d after each."""
        return all(
            all_within(evidence, *joint(evidence), protection.epsilon, sides=protection.sides)
            for protection, evidence in zip(self.protections, self.evidence, strict=True)
        )

    def allows(self, column: Array) -> bool:
        """Tell whether an output with this emission column keeps every promise."""
        return bool(self.allowed(column[:, None])[0])

    def allowed(self, columns: Array) -> NDArray[np.bool_]:
        """Tell of each emission column whether an output with it keeps every promise."""
        allowed = np.ones(columns.shape[1], dtype=bool)
        for protection, evidence in zip(self.protections, self.evidence, strict=True):
            epsilon, sides = protection.epsilon, protection.sides
            allowed[allowed] = ~is_beyond(evidence, columns[:, allowed], epsilon, sides=sides)
        return allowed


class Draw(NamedTuple):
    """What was drawn at a step: the output, and the column it is accounted with.

    `attempts` counts the draws of a loop, `budget` is that of the last.
    """

    output: int
    column: Array
    budget: float
    attempts: int = 1


class Outcome(NamedTuple):
    """One way a step can end: what is seen, how likely it is, and how it is accounted for.

    `likelihood` is the true probability of this outcome from each cell, `column` the one that the
    calibration's accounting takes for it. Several outcomes may show the same output.
    """

    output: int
    likelihood: Array
    column: Array


class Plan(Protocol):
    """What a step will do, whatever the true cell."""

    @property
    def warm_start(self) -> WarmStart | None:
        """What the plan of the next step may start from."""

    @property
    def remark(self) -> str:
        """What did not go well in making the plan, for the private diary."""

    def draw(self, true_cell: int, randomness: Randomness) -> Draw:
        """Return the output of this step."""

    def outcomes(self) -> Iterator[Outcome]:
        """Yield every way the step can end; from each cell the likelihoods sum to one."""


@dataclass(frozen=True, eq=False)
class CertifiedPlan:
    """One draw from `emission`, of which every output keeps every promise.

    The matrix is in whole tickets (see `priste.dyadic`), so the draw has exactly the probabilities
    that were certified. `tried` counts the mechanisms that were tested for it. `expected_loss` is
    that of a remap under the public belief, `bound` what no remap on the same map can go below.
    """

    emission: Array
    budget: float
    tried: int = 1
    expected_loss: float = math.nan
    bound: float = 0.0
    warm_start: WarmStart | None = None
    remark: str = ""

    def __repr__(self) -> str:
        cells, outputs = self.emission.shape
        return f"CertifiedPlan({cells} cells, {outputs} outputs, budget {self.budget:g})"

    def draw(self, true_cell: int, randomness: Randomness) -> Draw:
        """Return one draw from the row of the true cell."""
        output = randomness.draw(self.emission[true_cell])
        column = frozen(self.emission[:, output])  # a view would keep the matrix as long
        return Draw(output, column, self.budget, self.tried)

    def outcomes(self) -> Iterator[Outcome]:
        """Yield each output that can occur: what is accounted for is what is true."""
        for output in np.flatnonzero(self.emission.any(axis=0)).tolist():
            column = self.emission[:, output]
            yield Outcome(output, column, column)


class Calibration(Protocol):
    """A way to choose what is released at a step."""

    is_guarantee: ClassVar[bool]
    """Whether ε holds against an observer who knows the algorithm."""

    def plan(self, situation: Situation) -> Plan:
        """Return what the step will do, from public things alone."""
