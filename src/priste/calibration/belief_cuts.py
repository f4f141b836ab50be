"""Cuts of the beliefs whose promise a column breaks most, one for each hill over the odds.

For one belief the promise is a linear cut, and a column keeps the promise to a set of beliefs if it
keeps the cuts of all of them. A column is given those of the beliefs that it breaks most, one for
each hill over the odds (`priste.calibration.deepest_beliefs`).

Where people move far in a step, vertices say much the same, and a dozen cuts hold a column back as
well as dozens of lines for intervals of odds do; nothing is lost to the width of intervals, either.
Where each vertex has something of its own to say, too many cuts are needed.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from priste.calibration.blocks import Blocks, work_of_a_step
from priste.calibration.deepest_beliefs import Glance
from priste.calibration.interior import Interior
from priste.calibration.odds_lines import Side, log_odds, pairs_of
from priste.checks import Array

Index = NDArray[np.intp]

_AT_FIRST, _BROKEN = -0.1, 0.0002  # how far cuts must be broken to be added, relative
_MORE = 3  # cuts that a column is given at a time, for each side
_MANY_MORE = 6  # and to become certain that nothing can be gained
_TIGHT = 0.005  # slack, relative, with which a cut may hold a column back
_ODDS = 12  # at which beliefs are looked at
_SHIFT = 0.618  # of these odds from round to round, as a part of how far apart they are
_BEYOND = 6.0  # how far beyond other odds beliefs start whose vertices have none, as a logarithm
_AT_ONCE = 16  # columns


class Beliefs(NamedTuple):
    """Beliefs in two vertices of a side, with a weight for each."""

    side: Index
    first: Index
    second: Index
    on_first: Array
    on_second: Array


class BeliefCuts:
    """Cuts of beliefs in the vertices of some sides, numbered as they were found.

    `whole` are the same sides with an entry for each signal. The numbers of cuts that are known
    `before` stay the same.
    """

    mus: Array = np.empty(0)
    """Cuts need no other numbers."""
    slack = 0.003
    """What a broken cut starts with at most, relative to its size: they are broken by little."""

    def __init__(
        self, sides: Sequence[Side], whole: Sequence[Side], before: Beliefs | None = None
    ) -> None:
        self.sides, self._whole = ([_with_middle(side) for side in each] for each in (sides, whole))
        self._glances = [Glance.of(side) for side in self.sides]
        numbers = np.arange(len(sides))
        middles = np.array([len(side.a) for side in sides], dtype=np.intp)
        even = Beliefs(numbers, middles, middles, np.ones(len(sides)), np.zeros(len(sides)))
        self.beliefs = before or even
        self._rounds = 0

    @property
    def n_lines(self) -> int:
        """How many cuts there are."""
        return len(self.beliefs.side)

    @property
    def always(self) -> Index:
        """The cuts that all columns begin with: of beliefs in the middle."""
        return np.arange(len(self.sides))

    def blocks_of(self, n_columns: int) -> Blocks:
        """Return the blocks of some columns for cuts."""
        n_rows = self.sides[0].true.shape[1]
        return Blocks(n_columns, n_rows, n_rows)

    @staticmethod
    def work_of_a_step(n_columns: int, size: int, n_cuts: float) -> float:
        """Return how much work a step is with so many cuts for each column."""
        return work_of_a_step(n_columns, size, n_cuts)

    def rows(self, cuts: Index) -> Array:
        """Return cuts as rows over the entries of a column."""
        return self._rows(cuts, self.sides)

    def _rows(self, cuts: Index, sides: Sequence[Side]) -> Array:
        """Return cuts as rows over what the sides have entries for."""
        found = np.zeros((len(cuts), sides[0].true.shape[1]))
        beliefs = Beliefs._make(part[cuts] for part in self.beliefs)
        for number, side in enumerate(sides):
            here = np.flatnonzero(beliefs.side == number)
            i, j, u, w = (part[here] for part in beliefs[1:])
            a, not_a = u * side.a[i] + w * side.a[j], u * side.not_a[i] + w * side.not_a[j]
            odds = a / (a + not_a), not_a / (a + not_a)
            found[here] = (odds[1] * u)[:, None] * side.true[i]
            found[here] += (odds[1] * w)[:, None] * side.true[j]
            found[here] -= (side.factor * odds[0] * u)[:, None] * side.false[i]
            found[here] -= (side.factor * odds[0] * w)[:, None] * side.false[j]
        return found

    def add_first(self, program: Interior) -> None:
        """Give each column cuts that it nearly breaks."""
        self._add(program, _AT_FIRST, _MORE)

    def add_broken(self, program: Interior, *, many: bool = False) -> None:
        """Give each column the cuts that it breaks most."""
        self._add(program, _BROKEN, _MANY_MORE if many else _MORE)

    def _add(self, program: Interior, least: float, most: int) -> None:
        """Give each column cuts that it breaks by more than `least`, at most so many a side."""
        columns = np.maximum(program.columns.T, 0.0)
        starts = range(0, len(columns), _AT_ONCE)
        parts: list[tuple[Index, Beliefs]] = []
        for number, (side, glance) in enumerate(zip(self.sides, self._glances, strict=True)):

            def broken(
                start: int, number: int, glance: Glance, odds: Array
            ) -> tuple[Index, Beliefs]:
                here = columns[start : start + _AT_ONCE]
                found = glance.deepest(here, odds, least, most)
                return start + found[0], Beliefs(np.full(len(found[0]), number), *found[1:])

            look = partial(broken, number=number, glance=glance, odds=self._odds(side))
            parts += program.pool.map(look, starts)
        self._rounds += 1
        first = self.n_lines
        known = zip(self.beliefs, *(beliefs for _, beliefs in parts), strict=True)
        self.beliefs = Beliefs._make(map(np.concatenate, known))
        column = np.concatenate([np.empty(0, dtype=np.intp), *(column for column, _ in parts)])
        program.add(column, np.arange(first, self.n_lines))

    def _odds(self, side: Side) -> Array:
        """Return the odds to look at in this round, as pairs (1, σ) of any positive scale."""
        logs = log_odds(side.a, side.not_a)
        least = logs.min() - (_BEYOND if (side.a == 0).any() else 0.0)
        most = logs.max() + (_BEYOND if (side.not_a == 0).any() else 0.0)
        places = np.arange(_ODDS + 1) + _SHIFT * self._rounds % 1 - 0.5
        return pairs_of(np.clip(least + (most - least) / _ODDS * places, least, most))

    def price(self, program: Interior, *, is_settled: bool = False) -> Array:
        """Return what the prices of the cuts cost each signal, per column.

        For any prices the result, added to the costs of giving outputs, is a bound: see
        `priste.calibration.prices`. So prices of cuts that hold no column back are left out, which
        are only there because these are new, unless the program `is_settled`.
        """
        given = program.given
        is_tight = given.slack < (np.inf if is_settled else _TIGHT)
        rows = self._rows(given.line[is_tight], self._whole)
        rows *= (given.price * given.scale)[is_tight, None]
        total = np.zeros((program.n_columns, rows.shape[1]))
        np.add.at(total, given.column[is_tight], rows)
        return total.T


def _with_middle(side: Side) -> Side:
    """Return a side with one vertex more, in the middle of the others."""
    parts = side.a, side.not_a, side.true, side.false
    a, not_a, true, false = (np.concatenate([part, part.sum(axis=0)[None]]) for part in parts)
    return replace(side, a=a, not_a=not_a, true=true, false=false)
