"""The published loop: draw, test, and on failure draw again with a smaller budget."""

from dataclasses import dataclass

from priste.calibration.calibration import Draw, Situation
from priste.checks import positive, whole
from priste.errors import ProtectionError
from priste.randomness import Randomness


@dataclass(frozen=True)
class Retry:
    """Algorithms 1 to 3 of the paper, as published: an ε that is *not* a guarantee.

    Each step starts from the mechanism itself. While the drawn output fails the test, the budget
    is multiplied by `decay` and another output is drawn, at most `weakenings` times; after that
    the output is uniform (over a location set: uniform on the set), which always passes.

    The released output is accounted for as if it came from one draw at the final budget. But how
    often earlier draws fail depends on the true cell, so an adversary who knows the algorithm
    learns more than is accounted for. It is here for reproduction and comparison.
    """

    decay: float = 0.5
    weakenings: int = 11

    def __post_init__(self) -> None:
        if positive(self.decay, "decay", ProtectionError) >= 1:
            raise ProtectionError(f"decay must lie strictly between 0 and 1, got {self.decay!r}")
        whole(self.weakenings, "weakenings", ProtectionError, least=0)

    def draw(self, situation: Situation, true_cell: int, randomness: Randomness) -> Draw:
        """Return the first drawn output that passes."""
        mechanism = situation.mechanism
        for attempt in range(1, self.weakenings + 2):
            emission = mechanism.emission()
            output = randomness.draw(emission[true_cell])
            if situation.allows(emission[:, output]):
                return Draw(output, emission[:, output], mechanism.budget, attempt)
            if attempt <= self.weakenings:
                mechanism = mechanism.weaker(self.decay)
        emission = situation.mechanism.uninformative().emission()
        output = randomness.draw(emission[true_cell])
        return Draw(output, emission[:, output], 0.0, self.weakenings + 2)
