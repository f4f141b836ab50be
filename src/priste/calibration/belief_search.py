"""The search for the remap of a step on a larger map, for promises to sets of beliefs.

Against a set of beliefs an output has to be given from many cells, so that a map of all of them
gains little: what matters is who gives them. So some dozens of cells serve as outputs, more where
people may tell the truth, and the signals stand in a few hundred groups, small where the user is
likely to be. The program of both (`priste.calibration.odds_lines`) is solved from the inside
(`priste.calibration.interior`), where each column is given the lines that it comes to break
(`priste.calibration.broken_lines`).
"""

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from priste.calibration.blocks import work_of_a_step
from priste.calibration.bounds import Bound
from priste.calibration.broken_lines import BROKEN, add_broken
from priste.calibration.calibration import CertifiedPlan, Situation
from priste.calibration.effort import Effort
from priste.calibration.finish import repaired
from priste.calibration.groups import first_groups
from priste.calibration.interior import Interior
from priste.calibration.odds_lines import OddsLines
from priste.calibration.program import SolverError
from priste.calibration.refine import certified_with_truth
from priste.checks import Array
from priste.worst_case import blas

Index = NDArray[np.intp]

_ROUGH = (16, 80, 0.15)  # outputs, groups of signals and gap of a first look
_OUTPUTS = (24, 32, 48, 64, 96, 128, 160, 200)  # that may serve
MOST_OUTPUTS = _OUTPUTS[-1]
"""How many cells may serve as outputs."""
_GROUPS = (140, 170, 200, 240, 280)  # of signals that there may be
_OF_OUTPUTS = 0.65  # of how far outputs are from those who tell the truth: what that costs
_OF_GROUPS = 0.1  # of how wide groups of signals are, for all: what that costs
_AFFORDABLE = 48  # outputs that any search can have
_FAR = 0.5  # of the loss of a first look: where these are further, a finer map is needed
_CLOSE = 0.01  # how near the best of its kind a remap has to be
_SETTLED = 0.004  # of what was reached: a gap by products of slack and price that is small enough
_MENDED = 0.005  # of what was reached: what repairs may cost then
_AT_LAST = 5.0  # how much more of both is good enough where the search has to end
_CERTAIN = 0.03  # how near the best it has to be where it seems that nothing can be gained
_HOPELESS = 0.98  # of the loss of one answer for all: a first look that gains less is enough
_TOO_STRICT = 1.05  # a bound above one answer for all, as a factor: its lines cannot be kept
_FIRST_SHARE, _SHARE = 0.3, 0.8  # of the time that is given: when a first look ends, and the other
_SPEAKING = 2.0  # how much more it matters who speaks for an event than where the user is
_WORK = 4e9  # that a round may be, as `work_of_a_step` counts
_MOST_WORK = 1.15e11  # that all rounds may be
_CELLS = 400  # on a larger map all rounds may be as much more
_LINES = 0.13  # that there will be for each tight one of a first look, times the root of groups
_ROUNDS = 32  # of the search from inside
_LOOK = 10  # rounds after which a first look has seen enough if there is something to gain
_MOVES = (5, 7, 9)  # rounds after which outputs move to where those who give them are
_TIGHT = 0.05  # lines that matter to a column have less slack than this, relative
_AT_FIRST = (-0.1, 20)  # columns begin with lines that they nearly break, and as many
_MORE = 15  # lines that a column is given at a time later
_MANY_MORE = 60  # and where a first look sees nothing to gain, to become certain
_SETTLING = 6  # rounds before lines are dropped
_BEYOND = 0.15  # how far from being broken lines are that are dropped, relative
_STUCK = 1e-2  # a step that goes no further, both ways
_PATIENCE = 3  # such steps


class Found(NamedTuple):
    """A remap of signals that passes, its outputs and its loss, and about the best of its kind.

    No remap of the same groups onto the same outputs loses much less than `least`; `prices` are
    those of its lines, and `tight` the lines that hold each column back. `is_near` tells whether
    the best is near, also where prices are not good enough to show it by `least`.
    """

    remap: Array
    outputs: Index
    loss: float
    least: float
    prices: Array
    tight: list[Index]
    is_near: bool


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
        self.best_answers = self.cost.argmin(axis=1)
        self.lines = OddsLines([bound.after(emission) for bound in self.bounds])
        self.alike = self.lines.alike(losses[np.ix_(self.best_answers, ranked[: _ROUGH[0]])])

    def plan(self) -> CertifiedPlan | None:
        """Return the best certified plan that was found, or None if a finer map is needed."""
        with blas().limit(limits=1, user_api="blas"):  # the columns are shared by the cores
            n_outputs, n_groups, gap = _ROUGH
            rough = self._solve(self.ranked[:n_outputs], n_groups, gap, share=_FIRST_SHARE)
            if self._coarseness(_AFFORDABLE) > _FAR * rough.loss:
                return None
            if rough.loss > _HOPELESS * float(self.cost[:, self.possible].sum(axis=0).min()):
                return self._planned(rough)
            size, groups = self._sizes(rough)
            try:
                found: Found | None = self._solve(
                    self.ranked[:size], groups, self.gap, rough, share=_SHARE
                )
            except SolverError:
                found = None
            if found is None or rough.loss < found.loss:
                found = rough._replace(is_near=False)
            return self._planned(found)

    def _sizes(self, rough: Found) -> tuple[int, int]:
        """Return how many outputs and groups of signals promise most, of those not too much work.

        Both serve those who tell the truth; smaller groups serve those who must not, too.
        """
        tight = float(np.mean([len(tight) for tight in rough.tight]))
        far = self.losses[:, rough.outputs]
        nearest = np.arange(len(far)), far.argmin(axis=1)
        truthful = float(self.weights @ (self.emission @ rough.remap)[nearest])
        best = self.cost[:, self.possible].min(axis=1).sum()
        by_outputs = {
            n: _OF_OUTPUTS * truthful * (self.cost[:, self.ranked[:n]].min(axis=1).sum() - best)
            for n in _OUTPUTS
        }
        by_groups = {n: (_OF_GROUPS + truthful) * self._width(n) for n in _GROUPS}
        costs = {
            (size, groups): by_outputs[size] + by_groups[groups]
            for size in _OUTPUTS
            for groups in _GROUPS
            if work_of_a_step(size, groups + self.lines.n_mus, _LINES * tight * math.sqrt(groups))
            <= _WORK
        }
        return min(costs, key=lambda pair: costs[pair], default=(_OUTPUTS[0], _GROUPS[0]))

    def _width(self, n_groups: int) -> float:
        """Return how far signals are from the middle of their group, in the mean."""
        mass, far = self.weights @ self.emission, self._signals_apart()
        groups = (np.flatnonzero(group) for group in self._groups(n_groups).T)
        return sum(float((mass[group] @ far[np.ix_(group, group)]).min()) for group in groups)

    def _coarseness(self, size: int) -> float:
        """Return how far the nearest of some outputs is, in the mean."""
        return float(self.weights @ self.losses[:, self.ranked[:size]].min(axis=1))

    def _groups(self, size: int) -> Array:
        """Return which group each signal belongs to, as a matrix of zeros and ones."""
        n_signals = len(self.cost)
        if size >= n_signals:
            return np.eye(n_signals)
        cuts = [cut @ self.emission for bound in self.bounds for cut in bound.central()]
        speaks = np.array([np.zeros(n_signals), *cuts]).T
        share = np.maximum(speaks, 0.0)
        share /= np.maximum(share.sum(axis=0), 1e-300)
        matters = self.weights @ self.emission + _SPEAKING * share.sum(axis=1) / max(len(cuts), 1)
        groups = first_groups(self._signals_apart(), matters, speaks, size)
        matrix = np.zeros((n_signals, len(groups)))
        for number, members in enumerate(groups):
            matrix[members, number] = 1.0
        return matrix

    def _signals_apart(self) -> Array:
        """Return how far apart signals are: the answers that are best for them."""
        return self.losses[np.ix_(self.best_answers, self.best_answers)]

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
        bounds = [bound.after(self.emission @ groups) for bound in self.bounds]
        lines = OddsLines(bounds)
        program = Interior(cost[:, outputs] / scale, lines.middle(), lines.rows)
        program.add_to_all(lines.falls)
        if before is not None:
            nearest = np.argmin(self.losses[np.ix_(outputs, before.outputs)], axis=1)
            program.add(*_of_each([before.tight[k] for k in nearest]))
        totals = cost[:, outputs].sum(axis=0)
        best = np.zeros((len(cost), len(outputs)))
        best[:, int(np.argmin(totals))] = 1.0  # one answer for all
        one_answer = best_loss = float(totals.min())
        least, work, stuck, moves = 0.0, 0.0, 0, () if before is None else _MOVES
        most_work = _MOST_WORK * max(len(self.cost) / _CELLS, 1.0)
        is_near = one_answer == 0  # nobody can do better than to lose nothing
        rounds = 0 if is_near else min(self.effort.rounds, _ROUNDS)
        for number in range(rounds):
            if number in moves:
                outputs = self._moved_apart(outputs, program.columns, cost)
                program.reprice(cost[:, outputs] / scale)
            many = _MORE if before is not None or number <= _LOOK else _MANY_MORE
            wanted = _AT_FIRST if number == 0 else (BROKEN, many)
            add_broken(program, lines, self.alike, *wanted)
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
            per_column = len(program.given.line) / len(outputs)
            work += work_of_a_step(len(outputs), program.x.shape[1], per_column)
            is_over |= work > most_work or stuck >= _PATIENCE
            is_last = is_over or number == rounds - 1
            is_look = before is None and number >= _LOOK
            loose = _AT_LAST if is_last else 1.0
            is_settled = scale * program.gap <= loose * _SETTLED * reached and before is not None
            is_near = is_settled or reached <= least * (1 + gap)
            if is_last or is_look or (is_near and number > max(moves, default=0)):
                mended = repaired(bounds, remap, self.deadline)
                loss = float((cost[:, outputs] * mended).sum())
                if loss < best_loss:
                    best, best_loss = mended, loss
                gains = best_loss < _HOPELESS * one_answer
                near = gap if gains else min(gap, _CERTAIN)  # that there is nothing to gain
                is_near = best_loss <= least * (1 + near)
                is_near |= is_settled and best_loss <= (1 + loose * _MENDED) * reached
                if is_last or (is_look and gains) or is_near:
                    break
        outputs = self._moved(best, cost)
        loss = float((cost[:, outputs] * best).sum())
        prices = scale * program.prices(lines.n_lines + len(lines.falls))
        given = program.given
        is_tight = (given.slack < _TIGHT) & (given.line < lines.n_lines)
        tight = [given.line[is_tight & (given.column == k)] for k in range(len(outputs))]
        return Found(groups @ best, outputs, loss, least, prices, tight, is_near)

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
        emission = certified_with_truth(
            self.situation,
            self.emission,
            found.remap,
            found.outputs,
            self.cost,
            self.possible,
            self.weights @ self.emission,
        )
        price = self.lines.price(found.prices)
        expected = float(np.sum(self.weights[:, None] * emission * self.losses))
        bound = float((self.cost[:, found.outputs] + price).min(axis=1).sum())
        bound = min(max(bound, 0.0), expected)  # the truth goes beyond these outputs
        remark = ""
        if not found.is_near:
            early = "the time was up" if time.monotonic() > self.deadline else "the search ended"
            remark = f"{early}: what served has {expected:.3g}, the bound is {bound:.3g}"
        budget = self.situation.mechanism.budget
        return CertifiedPlan(emission, budget, expected_loss=expected, bound=bound, remark=remark)


def _of_each(lines: Sequence[Index]) -> tuple[Index, Index]:
    """Return whose each line is, and the lines, for the lines of each column."""
    return np.repeat(np.arange(len(lines)), [len(mine) for mine in lines]), np.concatenate(lines)
