"""What a calibration is given at a step, and what it gives back."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from priste.checks import Array
from priste.evidence import Evidence
from priste.mechanisms.mechanism import Mechanism
from priste.protection import Protect
from priste.randomness import Randomness
from priste.worst_case import is_within


@dataclass(frozen=True, eq=False)
class Situation:
    """Everything public at a step before its release: nothing in it depends on the true cell."""

    mechanism: Mechanism
    protections: tuple[Protect, ...]
    evidence: tuple[Evidence, ...]

    def allows(self, column: Array) -> bool:
        """Tell whether an output with this emission column keeps every promise.

        An output that the model deems impossible is not allowed: after it, nothing could be said.
        """
        for protection, evidence in zip(self.protections, self.evidence, strict=True):
            vectors = evidence.four_vectors(column)
            if not (vectors.b + vectors.d).any():
                return False
            if not is_within(vectors, protection.epsilon, sides=protection.sides):
                return False
        return True


class Draw(NamedTuple):
    """The output of a step, the column it is accounted with, and how it came about."""

    output: int
    column: Array
    budget: float
    attempts: int


class Calibration(Protocol):
    """A way to choose what is released at a step."""

    def draw(self, situation: Situation, true_cell: int, randomness: Randomness) -> Draw:
        """Return the output of this step."""
