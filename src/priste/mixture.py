"""Observers who do not know which of several models is true, and learn it from the releases.

Such an observer holds a mixture: a weight for each model, and under each a belief about the start.
The joint probabilities of a mixture are the same mixture of the models' own, so the four vectors
have a row for each model and belief, and the worst mixture is found as the worst belief is. A
stream that is within ε for every model may move a mixture's odds by more: what it reveals about the
habits tells something about the event, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from priste.checks import Array
from priste.evidence import Evidence


@dataclass(frozen=True, eq=False)
class Mixture(Evidence):
    """The evidence under several models, for whoever holds any mixture of them."""

    parts: tuple[Evidence, ...] = ()

    @classmethod
    def of_models(cls, parts: Sequence[Evidence]) -> "Mixture":
        """Return the evidence of several models on one event, all at the same step."""
        true, false = zip(*(part.faint for part in parts), strict=True)
        return cls(
            parts[0].model,
            np.concatenate([part.a for part in parts]),
            np.concatenate([part.not_a for part in parts]),
            (np.concatenate(true), np.concatenate(false)),
            parts[0].step,
            np.empty((0, 0, 0)),  # each part has its own
            np.concatenate([part.exponents for part in parts]),
            parts[0].released,
            tuple(parts),
        )

    @property
    def has_one_past(self) -> bool:
        """Never: each model has its own."""
        return False

    @cached_property
    def masses(self) -> tuple[Array, Array]:
        """The weights of ending true and false, by model and belief, and by cell."""
        true, false = zip(*(part.masses for part in self.parts), strict=True)
        return np.vstack(true), np.vstack(false)

    def middle(self) -> "Mixture":
        """Return the evidence for mixtures of the models, each with the mean of its beliefs."""
        return Mixture.of_models([part.middle() for part in self.parts])

    def observe(self, column: Array) -> "Mixture":
        """Return the evidence after a release whose probability from each cell is `column`."""
        after = replace(
            self,
            released=column if self.released is None else self.released * column,
            parts=tuple(part.observe(column) for part in self.parts),
        )
        if "masses" in self.__dict__:  # they do not change
            after.__dict__["masses"] = self.masses
        return after

    def advance(self) -> "Mixture":
        """Return the evidence at the next step, before its release."""
        return Mixture.of_models([part.advance() for part in self.parts])
