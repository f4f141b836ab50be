"""What a calibration is given at a step, and what it gives back."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from priste.checks import Array
from priste.evidence import Evidence
from priste.mechanisms.mechanism import Mechanism
from priste.protection import Protect
from priste.randomness import Randomness
from priste.worst_case import first_beyond, is_beyond


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
    notes: object = None
    """What the calibration noted at the last step."""

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
    """The output of a step, the column it is accounted with, and how it came about.

    `notes` are public and reach the next step's `Situation`. The remark is for the private diary.
    """

    output: int
    column: Array
    budget: float
    attempts: int
    notes: object = None
    remark: str = ""


class Outcome(NamedTuple):
    """One way a step can end: what is seen, how likely it is, and how it is accounted for.

    `likelihood` is the true probability of this outcome from each cell, `column` the one that the
    calibration's accounting takes for it. Several outcomes may show the same output.
    """

    output: int
    likelihood: Array
    column: Array
    notes: object = None


class Calibration(Protocol):
    """A way to choose what is released at a step."""

    is_guarantee: ClassVar[bool]
    """Whether ε holds against somebody who knows the algorithm."""

    def draw(self, situation: Situation, true_cell: int, randomness: Randomness) -> Draw:
        """Return the output of this step."""

    def outcomes(self, situation: Situation) -> Iterator[Outcome]:
        """Yield every way the step can end; from each cell the likelihoods sum to one."""
