"""The search for the remap of a step on a larger map, for promises to sets of beliefs.

Against a set of beliefs an output has to be given from many cells, so that a map of all of them
gains little: what matters is who gives them. So some dozens of cells serve as outputs, more where
people may tell the truth, and the signals stand in a few hundred groups, small where the user is
likely to be. A first look at a small program of both (`priste.calibration.belief_program`) tells
which conditions serve: lines for intervals of odds (`priste.calibration.broken_lines`), or cuts of
single beliefs (`priste.calibration.belief_cuts`).
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from priste.calibration.belief_cuts import BeliefCuts
from priste.calibration.belief_program import BeliefProgram, Conditions
from priste.calibration.bounds import Bound
from priste.calibration.broken_lines import BrokenLines
from priste.calibration.calibration import CertifiedPlan, Situation
from priste.calibration.effort import Effort
from priste.calibration.groups import finer_groups
from priste.calibration.odds_lines import OddsLines, sides_of
from priste.calibration.program import SolverError
from priste.calibration.refine import certified_with_truth
from priste.checks import Array
from priste.worst_case import blas

Index = NDArray[np.intp]

_ROUGH = (16, 80, 0.15)  # outputs, groups of signals and gap of a first look
_OUTPUTS = (24, 32, 48, 64, 96, 128, 160, 200, 240)  # that may serve
MOST_OUTPUTS = _OUTPUTS[-1]
"""How many cells may serve as outputs."""
_GROUPS = (140, 170, 200, 240, 280, 340)  # of signals that there may be
_GROUPS_OF_OWN = (*_GROUPS, 400)  # and where lines have entries of their own
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
_WORK = 4e9  # that a round may be in the mean, as `work_of_a_step` counts
_WORK_OF_OWN = 3e9  # where lines have entries of their own, which takes more rounds
_MOST_WORK = 1.14e11  # that all rounds may be, with those of first looks
_CELLS = 400  # on a larger map all rounds may be as much more
_LINES, _CUTS = 1.6, 1.5  # that there will be for each tight one of a first look
_ROUNDS = 46  # of the search from inside
_LOOK = 10  # rounds after which a first look has seen enough if there is something to gain
_LOOK_BY_CUTS = 14  # and one by cuts
_CHEAP, _BEARABLE = 1.015, 1.03  # as factors: what mending costs where cuts suffice, or may do so
_MOVES = (5, 7, 9)  # rounds after which outputs move to where those who give them are
_SETTLING = 6  # rounds after which what was found is good as it is, should a step fail
_STUCK = 1e-2  # a step that goes no further, both ways
_PATIENCE = 3  # such steps
_AGAIN = 3  # rounds from a remap that costs too much to mend to the next


class Found(NamedTuple):
    """A remap of signals that passes, its outputs and its loss, and about the best of its kind.

    Mending it has cost as much as `mending` says, as a factor. No remap of the same groups onto the
    same outputs loses much less than `least`; `price` is what the conditions cost each signal by
    their prices, and `tight` the lines that hold each column back. `is_near` tells whether the best
    is near, also where prices are not good enough to show it by `least`.
    """

    remap: Array
    outputs: Index
    loss: float
    mending: float
    least: float
    price: Array
    conditions: Conditions
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
        self.gap, self.work = max(effort.gap, _CLOSE), 0.0
        self.cost = emission.T @ (weights[:, None] * losses)
        pairs = zip(situation.protections, situation.evidence, strict=True)
        self.bounds = [Bound.of(p, e, None) for p, e in pairs]
        self.best_answers = self.cost.argmin(axis=1)
        self.lines = OddsLines([bound.after(emission) for bound in self.bounds])
        self.alike = self.lines.alike(losses[np.ix_(self.best_answers, ranked[: _ROUGH[0]])])

    def plan(self) -> CertifiedPlan | None:
        """Return the best certified plan that was found, or None if a finer map is needed."""
        with blas().limit(limits=1, user_api="blas"):  # the columns are shared by the cores
            start, by_cuts = self._first_look()
            if self._coarseness(_AFFORDABLE) > _FAR * start.loss:
                return None
            if start.loss > _HOPELESS * self.one_answer:
                return self._planned(start)
            found = self._larger(start, by_cuts=by_cuts)
            if by_cuts and not any(each.mending < _BEARABLE for each in found):
                with suppress(SolverError):  # cuts did not suffice after all
                    rough = self._solve(*self._small, share=_SHARE)
                    found += self._larger(rough, by_cuts=False)
            found.append(start._replace(is_near=False))
            return self._planned(min(found, key=lambda each: each.loss))

    def _larger(self, start: Found, *, by_cuts: bool) -> list[Found]:
        """Return what a larger program finds after a first look, if that is better."""
        size, groups = self._sizes(start, _CUTS if by_cuts else _LINES)
        try:
            found = self._solve(
                self.ranked[:size], groups, self.gap, start, _SHARE, by_cuts=by_cuts
            )
        except SolverError:
            return []
        return [found] if found.loss <= start.loss else []

    @property
    def _small(self) -> tuple[Index, int, float]:
        """The outputs, how many groups of signals, and the gap of a first look."""
        return self.ranked[: _ROUGH[0]], *_ROUGH[1:]

    @property
    def one_answer(self) -> float:
        """What the best answer loses that is the same for all."""
        return float(self.cost[:, self.possible].sum(axis=0).min())

    def _first_look(self) -> tuple[Found, bool]:
        """Return what a first look finds, and whether it is by cuts.

        Where cuts do not suffice, what they lead to needs much mending; in between, lines may be
        better.
        """
        look = self._look_by_cuts()
        if look is not None and look.mending < _CHEAP:
            return look, True
        rough = self._solve(*self._small, share=_FIRST_SHARE)
        if look is not None and look.mending < _BEARABLE and look.loss < rough.loss:
            return look, True
        return rough, False

    def _look_by_cuts(self) -> Found | None:
        """Return what a first look finds by cuts, if there is something to keep and to gain."""
        if not self.lines.sides or self.lines.has_own_entries:  # of which cuts would be too many
            return None
        try:
            look = self._solve(*self._small, share=_FIRST_SHARE, by_cuts=True)
        except SolverError:
            return None
        return look if look.loss < _HOPELESS * self.one_answer else None

    def _sizes(self, rough: Found, per_tight: float) -> tuple[int, int]:
        """Return how many outputs and groups of signals promise most, of those not too much work.

        Both serve those who tell the truth; smaller groups serve those who must not, too. There are
        more lines than were tight in a first look, whatever the size.
        """
        n_lines = per_tight * float(np.mean([len(tight) for tight in rough.tight]))
        work, n_mus = rough.conditions.work_of_a_step, len(rough.conditions.mus)
        n_groups, most = (
            (_GROUPS_OF_OWN, _WORK_OF_OWN) if self.lines.has_own_entries else (_GROUPS, _WORK)
        )
        far = self.losses[:, rough.outputs]
        nearest = np.arange(len(far)), far.argmin(axis=1)
        truthful = float(self.weights @ (self.emission @ rough.remap)[nearest])
        best = self.cost[:, self.possible].min(axis=1).sum()
        by_outputs = {
            n: _OF_OUTPUTS * truthful * (self.cost[:, self.ranked[:n]].min(axis=1).sum() - best)
            for n in _OUTPUTS
        }
        by_groups = {n: (_OF_GROUPS + truthful) * self._width(n) for n in n_groups}
        costs = {
            (size, groups): by_outputs[size] + by_groups[groups]
            for size in _OUTPUTS
            for groups in n_groups
            if work(size, groups + n_mus, n_lines) <= most
        }
        return min(costs, key=lambda pair: costs[pair], default=(_OUTPUTS[0], _GROUPS[0]))

    def _width(self, n_groups: int) -> float:
        """Return how far signals are from the middle of their group, in the mean."""
        mass, far = self.weights @ self.emission, self._signals_apart()
        groups = self._grouped(n_groups)
        return sum(float((mass[group] @ far[np.ix_(group, group)]).min()) for group in groups)

    def _coarseness(self, size: int) -> float:
        """Return how far the nearest of some outputs is, in the mean."""
        return float(self.weights @ self.losses[:, self.ranked[:size]].min(axis=1))

    def _grouped(self, size: int) -> list[Index]:
        """Return signals in about so many groups, or each for itself."""
        n_signals = len(self.cost)
        return self._groups[size] if size < n_signals else list(np.arange(n_signals)[:, None])

    @cached_property
    def _groups(self) -> dict[int, list[Index]]:
        """Signals in groups, for each number of groups that there may be."""
        n_signals = len(self.cost)
        cuts = [cut @ self.emission for bound in self.bounds for cut in bound.central()]
        speaks = np.array([np.zeros(n_signals), *cuts]).T
        share = np.maximum(speaks, 0.0)
        share /= np.maximum(share.sum(axis=0), 1e-300)
        matters = self.weights @ self.emission + _SPEAKING * share.sum(axis=1) / max(len(cuts), 1)
        sizes = sorted({_ROUGH[1], *_GROUPS, *_GROUPS_OF_OWN})
        groups = finer_groups(self._signals_apart(), matters, speaks, sizes)
        return dict(zip(sizes, groups, strict=True))

    def _signals_apart(self) -> Array:
        """Return how far apart signals are: the answers that are best for them."""
        return self.losses[np.ix_(self.best_answers, self.best_answers)]

    def _by_lines(self, bounds: Sequence[Bound]) -> Conditions:
        """Return conditions as lines for intervals of odds."""
        return BrokenLines(OddsLines(bounds), self.lines, self.alike)

    def _by_cuts(self, bounds: Sequence[Bound], before: Found | None) -> Conditions:
        """Return conditions as cuts of beliefs, with those that were found before."""
        known = before.conditions if before is not None else None
        sides = [side for bound in bounds for side in sides_of(bound)]
        beliefs = known.beliefs if isinstance(known, BeliefCuts) else None
        return BeliefCuts(sides, self.lines.sides, beliefs)

    def _solve(
        self,
        outputs: Index,
        n_groups: int,
        gap: float,
        before: Found | None = None,
        share: float = 1.0,
        *,
        by_cuts: bool = False,
    ) -> Found:
        """Return the best remap of groups of signals onto some outputs, after a share of the time.

        Columns begin with the lines that were tight for the nearest of those `before`.
        """
        groups = _matrix(self._grouped(n_groups), len(self.cost))
        bounds = [bound.after(self.emission @ groups) for bound in self.bounds]
        conditions = self._by_cuts(bounds, before) if by_cuts else self._by_lines(bounds)
        first: list[Index] = []
        if before is not None:
            nearest = np.argmin(self.losses[np.ix_(outputs, before.outputs)], axis=1)
            first = [before.tight[k] for k in nearest]
        program = BeliefProgram(
            self.cost, groups, outputs, self.possible, bounds, conditions, first
        )
        look = (_LOOK_BY_CUTS if by_cuts else _LOOK) if before is None else None
        best, is_near = self._run(program, gap, look, share)
        outputs = program.best_outputs(best)
        loss = float((program.cost[:, outputs] * best).sum())
        return Found(
            groups @ best,
            outputs,
            loss,
            program.loss(best) / (program.loss(program.remap) or 1.0),
            program.least,
            program.price,
            conditions,
            program.tight(),
            is_near,
        )

    def _run(
        self, program: BeliefProgram, gap: float, look: int | None, share: float
    ) -> tuple[Array, bool]:
        """Return the best remap of a program, and whether it is near the best.

        A first `look` is over after so many rounds.
        """
        is_first, by_cuts = look is not None, isinstance(program.conditions, BeliefCuts)
        time_to_end = self.begin + share * self.effort.time_limit
        best, best_loss = program.same_for_all, program.one_answer
        stuck, mend_from, moves = 0, 0, () if is_first else _MOVES
        most_work = _MOST_WORK * max(len(self.cost) / _CELLS, 1.0)
        is_near = program.one_answer == 0  # nobody can do better than to lose nothing
        rounds = 0 if is_near else min(self.effort.rounds, _ROUNDS)
        for number in range(rounds):
            if number in moves:
                program.move()
            is_over = time.monotonic() > time_to_end
            try:
                steps = program.advance(many=look is not None and number > look)
            except SolverError:
                if number < _SETTLING:
                    raise
                is_over, steps = True, (0.0, 0.0)  # what was found so far is good as it is
            reached, least = program.loss(program.remap), program.least
            is_strict = least > _TOO_STRICT * program.one_answer
            if is_strict and not by_cuts:
                raise SolverError("not even one answer for all keeps lines for intervals of odds")
            stuck = stuck + 1 if max(steps) < _STUCK else 0
            self.work += program.work
            is_over |= self.work + program.work > most_work or stuck >= _PATIENCE
            is_last = is_over or number == rounds - 1
            is_look = look is not None and number >= look
            loose = _AT_LAST if is_last else 1.0
            is_settled = program.gap <= loose * _SETTLED * reached and not is_first
            is_near = is_settled or reached <= least * (1 + gap)
            is_ripe = is_near and number > max(moves, default=0) and number >= mend_from
            if is_last or is_look or is_ripe:
                mend_from = number + _AGAIN
                mended = program.mended(self.deadline)
                loss = program.loss(mended)
                if loss < best_loss:
                    best, best_loss = mended, loss
                gains = best_loss < _HOPELESS * program.one_answer
                near = gap if gains else min(gap, _CERTAIN)  # that there is nothing to gain
                is_near = best_loss <= least * (1 + near)
                is_near |= is_settled and best_loss <= (1 + loose * _MENDED) * reached
                if is_last or (is_look and (gains or by_cuts)) or is_near:
                    break
        return best, is_near

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
        expected = float(np.sum(self.weights[:, None] * emission * self.losses))
        bound = float((self.cost[:, found.outputs] + found.price).min(axis=1).sum())
        bound = min(max(bound, 0.0), expected)  # the truth goes beyond these outputs
        remark = ""
        if not found.is_near:
            early = "the time was up" if time.monotonic() > self.deadline else "the search ended"
            remark = f"{early}: what served has {expected:.3g}, the bound is {bound:.3g}"
        budget = self.situation.mechanism.budget
        return CertifiedPlan(emission, budget, expected_loss=expected, bound=bound, remark=remark)


def _matrix(groups: Sequence[Index], n_signals: int) -> Array:
    """Return which group each signal belongs to, as zeros and ones."""
    matrix = np.zeros((n_signals, len(groups)))
    for number, members in enumerate(groups):
        matrix[members, number] = 1.0
    return matrix
