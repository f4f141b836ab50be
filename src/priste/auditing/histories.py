"""A sequence of releases, with every hidden history that leads an algorithm to it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from priste.checks import Array
from priste.evidence import Evidence, FourVectors
from priste.stream import PublicState


class History(NamedTuple):
    """One hidden history of what has been seen: the accounting's state, and the truth."""

    state: PublicState
    truth: tuple[Evidence, ...]

    def weighed(self, weight: float) -> "History":
        """Return the history with its probability multiplied by `weight`."""
        truth = tuple(e.observe(np.full(e.model.mobility.n_cells, weight)) for e in self.truth)
        return self._replace(truth=truth)


class Seen(NamedTuple):
    """A sequence of releases with the hidden histories to it, after the last release."""

    sequence: tuple[int, ...]
    histories: list[History]

    def vectors(self, number: int) -> FourVectors:
        """Return the four vectors of the evidence with this number, all histories together."""
        return _combined([history.truth[number].four_vectors() for history in self.histories])

    def total(self, number: int = 0) -> tuple[Array, NDArray[np.int64]]:
        """Return the probability of the sequence under each belief, and its binary exponent."""
        vectors = self.vectors(number)
        return vectors.b + vectors.d, vectors.exponents

    def thinned(self, histories: int, random: np.random.Generator) -> "Seen":
        """Return the sequence with some of its histories, each weighted by one over its chance.

        Probabilities stay unbiased. A history's chance to stay grows with the largest share that
        it has in the probability of the sequence under any belief and model.
        """
        alone = [self._replace(histories=[history]) for history in self.histories]
        models = range(len(self.histories[0].truth))
        weights = np.hstack(
            [_common([history.total(number) for history in alone]) for number in models]
        )
        chances = _chances(weights, histories)
        marks = np.floor(np.cumsum(chances) + random.random())  # systematic: the number is met
        drawn = np.flatnonzero(np.diff(marks, prepend=0.0) > 0)
        return self._replace(histories=[self.histories[k].weighed(1 / chances[k]) for k in drawn])


def shares(seen: list[Seen], belief: int) -> Array:
    """Return how the probability under one belief is shared among sequences."""
    weights = _common([s.total() for s in seen])[:, belief]
    everything = weights.sum()
    return weights / everything if everything > 0 else np.full(len(seen), 1 / len(seen))


def _combined(parts: list[FourVectors]) -> FourVectors:
    """Add up the vectors of all hidden histories to the same sequence."""
    if len(parts) == 1:
        return parts[0]
    exponents = np.max([part.exponents for part in parts], axis=0)
    b, d = (
        np.sum([np.ldexp(x, part.exponents - exponents) for x, part in pairs], axis=0)
        for pairs in ([(part.b, part) for part in parts], [(part.d, part) for part in parts])
    )
    return FourVectors(parts[0].a, parts[0].not_a, b, d, exponents)


def _common(totals: list[tuple[Array, NDArray[np.int64]]]) -> Array:
    """Return probabilities, a row each, those of one belief (a column) at one scale.

    The largest exponent of what is possible is that scale.
    """
    values, exponents = (np.array(parts) for parts in zip(*totals, strict=True))
    highest = np.where(values > 0, exponents, np.iinfo(np.int64).min // 2).max(axis=0)
    return np.where(values > 0, np.exp2(np.minimum(exponents - highest, 0.0)) * values, 0.0)


def _chances(weights: Array, histories: int) -> Array:
    """Return the chance of each history (a row) to stay; they sum to `histories`."""
    everything = weights.sum(axis=0)
    sizes = (weights / np.where(everything > 0, everything, 1.0)).max(axis=1)
    certain = np.zeros(len(sizes), dtype=bool)
    while True:
        left = sizes[~certain].sum() or 1.0  # nothing is left where the others are impossible
        chances = np.where(certain, 1.0, sizes * (histories - certain.sum()) / left)
        if (chances <= 1).all():
            return np.asarray(chances)
        certain |= chances > 1
