"""The search for the remap of a step on a larger map, for promises to sets of beliefs.

Against a set of beliefs few outputs are worth having: each needs to be given from so many cells
that a map of all of them gains little. What matters is who gives them. So a few dozen cells serve
as outputs, and the signals stand in a few hundred groups, small where the user is likely to be.
The program of both (`priste.calibration.odds_lines`) is solved from the inside, where each of its
columns is given the lines that it comes to break (`priste.calibration.interior`).
"""

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from priste.calibration.bounds import Bound
from priste.calibration.calibration import CertifiedPlan, Situation
from priste.calibration.effort import Effort
from priste.calibration.finish import certified, repaired
from priste.calibration.groups import first_groups
from priste.calibration.interior import Interior
from priste.calibration.odds_lines import OddsLines
from priste.calibration.program import SolverError
from priste.checks import Array
from priste.worst_case import blas

Index = NDArray[np.intp]

_ROUGH = (16, 80, 0.15)  # outputs, groups of signals and gap of a first look
_OUTPUTS = (24, 32, 48)  # that may serve, the first that are near enough to all cells
MOST_OUTPUTS = 64
"""How many cells may serve as outputs."""
_NEAR_ENOUGH = 0.2  # of the loss: how far cells may be from their nearest output
_FAR = 0.5  # of the loss of a first look: where its outputs are further, a finer map is needed
_CLOSE = 0.03  # how near the best of its kind a remap has to be
_HOPELESS = 0.98  # of the loss of one answer for all: a first look that gains less is enough
_TOO_STRICT = 1.05  # a bound above one answer for all, as a factor: its lines cannot be kept
_FIRST_SHARE, _SHARE = 0.3, 0.8  # of the time that is given: when a first look ends, and the other
_GROUPS = (200, 170, 140, 110, 80)  # of signals, the first that are not too much work
_WORK = 4.6e8  # that a round may be, in products of numbers
_ROUNDS = 26  # of the search from inside
_LOOK = 10  # rounds after which a first look has seen enough if there is something to gain
_MOVES = (6, 9, 12, 15)  # rounds after which outputs move to where those who give them are
BROKEN = 1e-3
"""How far lines must be broken to be added, relative."""
_TIGHT = 0.05  # lines that matter to a column have less slack than this, relative
_AT_FIRST = (-0.3, 40)  # columns begin with lines that they nearly break, and as many
_MORE = 15  # lines that a column is given at a time later
_SETTLING = 6  # rounds before lines are dropped
_BEYOND = 0.15  # how far from being broken lines are that are dropped, relative
_STUCK = 1e-2  # a step that goes no further, both ways
_PATIENCE = 3  # such steps


class Found(NamedTuple):
    """A remap of signals that passes, its outputs and its loss, and about the best of its kind.

    No remap of the same groups onto the same outputs loses much less than `least`; `prices` are
    those of its lines, and `tight` the lines that hold each column back.
    """

    remap: Array
    outputs: Index
    loss: float
    least: float
    prices: Array
    tight: list[Index]


class BeliefSearch:
    """One step's search; `ranked` are cells that serve as outputs, the best first."""

    def __init__(
        self,
        effort: Effort,
        situation: Situation,
        weights: Array,
        losses: Array,
        emission: Array,
        ranked: Index,
        possible: Index,
    ) -> None:
        self.effort, self.situation, self.weights, self.losses = effort, situation, weights, losses
        self.emission, self.ranked, self.possible = emission, ranked, possible
        self.begin, self.deadline = time.monotonic(), time.monotonic() + effort.time_limit
        self.gap = max(effort.gap, _CLOSE)
        self.cost = emission.T @ (weights[:, None] * losses)
        pairs = zip(situation.protections, situation.evidence, strict=True)
        self.bounds = [Bound.of(p, e, None) for p, e in pairs]

    def plan(self) -> CertifiedPlan | None:
        """Return the best certified plan that was found, or None if a finer map is needed."""
        with blas().limit(limits=1, user_api="blas"):  # the columns are shared by the cores
            n_outputs, n_groups, gap = _ROUGH
            rough = self._solve(self.ranked[:n_outputs], n_groups, gap, share=_FIRST_SHARE)
            if self._coarseness(n_outputs) > _FAR * rough.loss:
                return None
            if rough.loss > _HOPELESS * float(self.cost.sum(axis=0).min()):
                return self._planned(rough)
            size, groups = self._sizes(rough)
            found = self._solve(self.ranked[:size], groups, self.gap, rough, share=_SHARE)
            return self._planned(min(rough, found, key=lambda each: each.loss))

    def _sizes(self, rough: Found) -> tuple[int, int]:
        """Return how many outputs and groups of signals to have, as far as that is not too much.

        Outputs are wanted until they are near enough to all cells.
        """
        lines = float(np.mean([len(tight) for tight in rough.tight]))

        def is_easy(size: int, groups: int) -> bool:
            return size * groups**2 * (groups + 2 * lines) <= _WORK

        n_ranked = len(self.ranked)
        sizes = [*(size for size in _OUTPUTS if size < n_ranked), n_ranked]
        near = (
            k for k, size in enumerate(sizes) if self._coarseness(size) <= _NEAR_ENOUGH * rough.loss
        )
        wanted = sizes[: next(near, len(sizes)) + 1]
        size = next((size for size in reversed(wanted) if is_easy(size, _GROUPS[0])), sizes[0])
        return size, next((n for n in _GROUPS if is_easy(size, n)), _GROUPS[-1])

    def _coarseness(self, size: int) -> float:
        """Return how far the nearest of some outputs is, in the mean."""
        return float(self.weights @ self.losses[:, self.ranked[:size]].min(axis=1))

    def _groups(self, size: int) -> Array:
        """Return which group each signal belongs to, as a matrix of zeros and ones."""
        n_signals = len(self.cost)
        if size >= n_signals:
            return np.eye(n_signals)
        best = self.cost.argmin(axis=1)
        far = self.losses[np.ix_(best, best)]
        cuts = [cut @ self.emission for bound in self.bounds for cut in bound.central()]
        speaks = np.array([np.zeros(n_signals), *cuts]).T
        groups = first_groups(far, self.weights @ self.emission, speaks, size)
        matrix = np.zeros((n_signals, len(groups)))
        for number, members in enumerate(groups):
            matrix[members, number] = 1.0
        return matrix

    def _solve(
        self,
        outputs: Index,
        n_groups: int,
        gap: float,
        before: Found | None = None,
        share: float = 1.0,
    ) -> Found:
        """Return the best remap of groups of signals onto some outputs, after a share of the time.

        Columns begin with the lines that were tight for the nearest of those `before`.
        """
        time_to_end = self.begin + share * self.effort.time_limit
        groups = self._groups(n_groups)
        cost = groups.T @ self.cost
        scale = float(cost[:, outputs].sum(axis=0).min()) or 1.0
        together = self.emission @ groups
        bounds = [
            replace(bound, true=bound.true @ together, false=bound.false @ together)
            for bound in self.bounds
        ]
        lines = OddsLines(bounds)
        program = Interior(cost[:, outputs] / scale, lines.middle(), lines.rows)
        for column, output in enumerate(outputs):
            program.add(column, lines.falls)
            if before is not None:
                nearest = int(np.argmin(self.losses[output, before.outputs]))
                program.add(column, before.tight[nearest])
        totals = cost[:, outputs].sum(axis=0)
        best = np.zeros((len(cost), len(outputs)))
        best[:, int(np.argmin(totals))] = 1.0  # one answer for all
        one_answer = best_loss = float(totals.min())
        least, stuck, moves = 0.0, 0, () if before is None else _MOVES
        rounds = min(self.effort.rounds, _ROUNDS) if one_answer else 0
        for number in range(rounds):
            if number in moves:
                outputs = self._moved_apart(outputs, program.columns, cost)
                program.reprice(cost[:, outputs] / scale)
            add_broken(program, lines, *(_AT_FIRST if number == 0 else (BROKEN, _MORE)))
            if number >= _SETTLING:
                program.drop(_BEYOND, lines.n_lines)
            is_over = time.monotonic() > time_to_end
            try:
                steps = program.step()
            except SolverError:
                if number < _SETTLING:
                    raise
                is_over, steps = True, (0.0, 0.0)  # what was found so far is good as it is
            remap = np.maximum(program.columns, 0.0)
            remap /= remap.sum(axis=1, keepdims=True)
            reached = float((cost[:, outputs] * remap).sum())
            least = scale * program.least()
            if least > _TOO_STRICT * one_answer:
                raise SolverError("not even one answer for all keeps lines for intervals of odds")
            stuck = stuck + 1 if max(steps) < _STUCK else 0
            is_last = is_over or stuck >= _PATIENCE or number == rounds - 1
            is_look = before is None and number >= _LOOK
            is_near = reached <= least * (1 + gap) and number > max(moves, default=0)
            if is_last or is_look or is_near:
                mended = repaired(bounds, remap, self.deadline)
                loss = float((cost[:, outputs] * mended).sum())
                if loss < best_loss:
                    best, best_loss = mended, loss
                gains = best_loss < _HOPELESS * one_answer
                near = gap if gains else min(gap, self.gap)  # nothing to gain: be more certain
                if is_last or (is_look and gains) or best_loss <= least * (1 + near):
                    break
        outputs = self._moved(best, cost)
        loss = float((cost[:, outputs] * best).sum())
        prices = scale * program.prices(lines.n_lines + len(lines.falls))
        tight = [
            block.lines[(block.slack < _TIGHT) & (block.lines < lines.n_lines)]
            for block in program.blocks
        ]
        return Found(groups @ best, outputs, loss, least, prices, tight)

    def _moved(self, columns: Array, cost: Array) -> Index:
        """Return the best output for each column: who gives it does not change what it tells."""
        return np.asarray(self.possible[np.argmin(columns.T @ cost[:, self.possible], axis=1)])

    def _moved_apart(self, outputs: Index, columns: Array, cost: Array) -> Index:
        """Return a better output for each column, where none has it yet.

        Columns with the same output would become the same, and never part again.
        """
        moved, totals = outputs.copy(), columns.T @ cost
        gains = totals[np.arange(len(outputs)), outputs] - totals[:, self.possible].min(axis=1)
        is_free = np.zeros(cost.shape[1], dtype=bool)
        is_free[self.possible] = True
        is_free[outputs] = False
        for column in np.argsort(-gains, kind="stable").tolist():
            is_free[moved[column]] = True
            free = np.flatnonzero(is_free)
            moved[column] = free[np.argmin(totals[column, free])]
            is_free[moved[column]] = False
        return moved

    def _planned(self, found: Found) -> CertifiedPlan:
        """Return the certified plan of what was found, beside its bound."""
        n_cells = self.losses.shape[1]
        emission = certified(self.situation, self.emission, found.remap, found.outputs, n_cells)
        price = self.emission.T @ OddsLines(self.bounds).price(found.prices)
        bound = max(float((self.cost[:, found.outputs] + price).min(axis=1).sum()), 0.0)
        expected = float(np.sum(self.weights[:, None] * emission * self.losses))
        remark = ""
        if found.loss > found.least * (1 + self.gap):
            early = "the time was up" if time.monotonic() > self.deadline else "the search ended"
            remark = f"{early}: what served has {expected:.3g}, the bound is {bound:.3g}"
        budget = self.situation.mechanism.budget
        return CertifiedPlan(emission, budget, expected_loss=expected, bound=bound, remark=remark)


def add_broken(program: Interior, lines: OddsLines, least: float, most: int) -> None:
    """Give each column the lines that it breaks most, by more than `least`, about `most` of them.

    Of each vertex it is given one line at a time.
    """
    excess = lines.excess(program.columns, program.mus)
    for column, (block, mine) in enumerate(zip(program.blocks, excess, strict=True)):
        mine[block.lines[block.lines < lines.n_lines]] = -np.inf
        wanted = np.flatnonzero(mine > least)
        wanted = wanted[np.argsort(-mine[wanted], kind="stable")]
        _, chosen = np.unique(lines.vertex[wanted], return_index=True)
        program.add(column, wanted[np.sort(chosen)[: max(most, len(chosen) // 3)]])
