"""The program of a search for beliefs: groups of signals are given cells as outputs, some dozens.

It is solved from the inside (`priste.calibration.interior`), where each column is given the
conditions that it comes to break.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from priste.calibration.belief_cuts import BeliefCuts
from priste.calibration.bounds import Bound
from priste.calibration.broken_lines import BrokenLines
from priste.calibration.finish import repaired
from priste.calibration.interior import Interior
from priste.checks import Array

Index = NDArray[np.intp]
Conditions = BrokenLines | BeliefCuts
"""What promises demand of a column: lines for intervals of odds, or cuts of single beliefs."""

_SETTLING = 6  # rounds before lines are dropped
_BEYOND = 0.15  # how far from being broken lines are that are dropped, relative
_TIGHT = 0.05  # lines that matter to a column have less slack than this, relative


class BeliefProgram:
    """A program, as far as it has come.

    `groups` tells which group each signal belongs to, `cost` what it costs to give each cell after
    each signal, and `possible` which cells may be given. Columns begin with the lines `first`.
    """

    def __init__(
        self,
        cost: Array,
        groups: Array,
        outputs: Index,
        possible: Index,
        bounds: Sequence[Bound],
        conditions: Conditions,
        first: Sequence[Index] = (),
    ) -> None:
        self.groups, self.outputs, self.possible = groups, outputs, possible
        self.cost, self.bounds, self.conditions = groups.T @ cost, bounds, conditions
        totals = self.cost[:, outputs].sum(axis=0)
        self.one_answer, self._answer = float(totals.min()), int(totals.argmin())
        self.scale = self.one_answer or 1.0
        self.interior = Interior(
            self.cost[:, outputs] / self.scale,
            conditions.mus,
            conditions.rows,
            conditions.slack,
            conditions.blocks_of(len(outputs)),
        )
        self.interior.add_to_all(conditions.always)
        if first:
            columns = np.repeat(np.arange(len(first)), [len(mine) for mine in first])
            self.interior.add(columns, np.concatenate(first))
        self._rounds = 0

    def advance(self, *, many: bool = False) -> tuple[float, float]:
        """Give columns what they break, go a step, and return how much of the way it went."""
        if self._rounds == 0:
            self.conditions.add_first(self.interior)
        else:
            self.conditions.add_broken(self.interior, many=many)
        if self._rounds >= _SETTLING:
            self.interior.drop(_BEYOND, self.conditions.n_lines)
        self._rounds += 1
        return self.interior.step()

    @property
    def same_for_all(self) -> Array:
        """The remap that gives one answer to all."""
        remap = np.zeros((len(self.cost), len(self.outputs)))
        remap[:, self._answer] = 1.0
        return remap

    @property
    def remap(self) -> Array:
        """The columns as a remap, which may break promises a little."""
        remap = np.maximum(self.interior.columns, 0.0)
        return np.asarray(remap / remap.sum(axis=1, keepdims=True))

    def loss(self, remap: Array) -> float:
        """Return what a remap loses."""
        return float((self.cost[:, self.outputs] * remap).sum())

    def mended(self, deadline: float) -> Array:
        """Return the columns as a remap that keeps the promises."""
        return repaired(self.bounds, self.remap, deadline)

    @property
    def least(self) -> float:
        """About what no remap of the same groups onto the same outputs can lose less than."""
        return self.scale * self.interior.least()

    @property
    def gap(self) -> float:
        """What the columns would lose less at the optimum, if prices and columns fitted by now."""
        return self.scale * self.interior.gap

    @property
    def price(self) -> Array:
        """What prices cost each signal, per column."""
        return self.scale * self.conditions.price(self.interior)

    @property
    def work(self) -> float:
        """How much work a step is."""
        n_columns, size = self.interior.x.shape
        per_column = len(self.interior.given.line) / n_columns
        return self.conditions.work_of_a_step(n_columns, size, per_column)

    def tight(self) -> list[Index]:
        """Return the lines that hold each column back."""
        given = self.interior.given
        is_tight = (given.slack < _TIGHT) & (given.line < self.conditions.n_lines)
        is_tight &= ~np.isin(given.line, self.conditions.always)
        return [given.line[is_tight & (given.column == k)] for k in range(len(self.outputs))]

    def best_outputs(self, columns: Array) -> Index:
        """Return the best output for each column: who gives it does not change what it tells."""
        totals = columns.T @ self.cost[:, self.possible]
        return np.asarray(self.possible[np.argmin(totals, axis=1)])

    def move(self) -> None:
        """Move outputs to where those who give them are."""
        self.outputs = self.moved_apart(self.interior.columns)
        self.interior.reprice(self.cost[:, self.outputs] / self.scale)

    def moved_apart(self, columns: Array) -> Index:
        """Return a better output for each column, where none has it yet.

        Columns with the same output would become the same, and never part again.
        """
        moved, totals = self.outputs.copy(), columns.T @ self.cost
        gains = totals[np.arange(len(moved)), moved] - totals[:, self.possible].min(axis=1)
        is_free = np.zeros(self.cost.shape[1], dtype=bool)
        is_free[self.possible] = True
        is_free[self.outputs] = False
        for column in np.argsort(-gains, kind="stable").tolist():
            is_free[moved[column]] = True
            free = np.flatnonzero(is_free)
            moved[column] = free[np.argmin(totals[column, free])]
            is_free[moved[column]] = False
        return moved
