"""What one step's plan leaves for the next to start from. All of it is public."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Belief(NamedTuple):
    """Weight 1 on one vertex and `weight` on the other, and whether its odds would rise."""

    first: int
    second: int
    weight: float
    rising: bool


@dataclass(frozen=True, eq=False)
class WarmStart:
    """The beliefs whose cuts mattered, per bound and output, and the variables that were used."""

    beliefs: dict[int, dict[int, tuple[Belief, ...]]] = field(default_factory=dict)
    used: NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        beliefs = sum(
            len(found) for by_output in self.beliefs.values() for found in by_output.values()
        )
        return f"WarmStart({beliefs} beliefs)"

    def renumbered(self, numbers: dict[int, int]) -> "WarmStart":
        """Return it for bounds that have new numbers; those of bounds without one are dropped."""
        beliefs = {numbers[k]: found for k, found in self.beliefs.items() if k in numbers}
        return replace(self, beliefs=beliefs)
