"""The search for the remap of one step: a linear program, cuts, repair and certification."""

import logging
import time
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from priste.calibration.belief_search import MOST_OUTPUTS, BeliefSearch
from priste.calibration.bounds import Bound
from priste.calibration.calibration import CertifiedPlan, Situation
from priste.calibration.effort import FEW, LARGE, Effort, usable_outputs
from priste.calibration.finish import certified, repaired
from priste.calibration.program import Program, SolverError
from priste.calibration.promising import promising
from priste.calibration.refine import certified_with_truth
from priste.calibration.shared_cuts import SharedCuts
from priste.calibration.toll import Toll
from priste.calibration.warm_start import Belief, WarmStart
from priste.calibration.weighing import weights
from priste.checks import Array
from priste.events import atoms

_FIRST_OUTPUTS = 32
_FEWER = 16  # outputs at first, against sets of beliefs
_SIGNALS = 64  # groups of signals then, or two for each output if that is more
_MANY = 150  # cells above which a search from inside pays against sets of beliefs
_FEW_ROUNDS = 10  # of cuts, to find something better where such a search ended early
_INWARDS = 0.5  # how far towards what passes cuts are looked for
_COARSE = 0.4  # too few outputs cost much less than their distance to the cells
_log = logging.getLogger(__name__)


def secret_cells(situation: Situation) -> NDArray[np.intp]:
    """Return the cells that some protected event asks about at this very step."""
    cells = {
        cell
        for protection, evidence in zip(situation.protections, situation.evidence, strict=True)
        for atom in atoms(protection.event)
        if atom.step == evidence.step
        for cell in atom.cells
    }
    return np.array(sorted(cells), dtype=np.intp)


def same_answer(
    situation: Situation, losses: Array, remark: str, avoided: NDArray[np.intp] | None = None
) -> CertifiedPlan:
    """Return the plan to release the same cell wherever the user is: it reveals nothing."""
    totals = weights(situation) @ losses
    if avoided is not None and len(avoided) < len(totals):
        totals[avoided] = np.inf
    emission = np.zeros(losses.shape)
    emission[:, int(np.argmin(totals))] = 1.0
    return CertifiedPlan(emission, 0.0, expected_loss=float(totals.min()), remark=remark)


def _smallest(losses: Array) -> float:
    """Return the smallest loss there is, or 0 if nothing can be lost."""
    smallest = float(losses.min(where=losses > 0, initial=np.inf))
    return smallest if smallest < np.inf else 0.0


class Search:
    """One step's search for Q, on the whole map or on a coarser one.

    Coarser means: some cells serve as outputs, and what the mechanism gives is first replaced by
    the nearest of them, so that Q has few rows and columns. That too is post-processing. Against
    sets of beliefs it matters more who gives an output: Q has more rows then, and fewer columns.
    """

    def __init__(
        self,
        effort: Effort,
        situation: Situation,
        losses: Array,
        avoided: NDArray[np.intp] | None = None,
    ) -> None:
        self.effort, self.situation, self.losses = effort, situation, losses
        self.deadline = time.monotonic() + effort.time_limit
        self.weights = weights(situation)
        self.emission = situation.mechanism.emission()
        pairs = zip(situation.protections, situation.evidence, strict=True)
        self.bounds = [Bound.of(p, e, None) for p, e in pairs]
        self.toll = Toll.on(self.bounds, effort.thrift * _smallest(losses))
        self.is_linear = all(evidence.has_one_past for evidence in situation.evidence)
        self.possible = usable_outputs(losses.shape[1], self.emission, avoided)
        self._chosen: list[int] = []  # outputs of a coarser map, and how near each cell has one
        self._nearest = np.full(len(losses), np.inf)
        self._gains: list[tuple[float, int]] = []

    def plan(self) -> CertifiedPlan:
        """Return the best certified matrix that was found."""
        plan = self._for_beliefs() if self._serves_beliefs() else None
        if plan is None:
            return self._by_cuts()
        if not plan.remark or plan.expected_loss < self._coarseness(_FIRST_OUTPUTS):
            return plan  # on a coarser map even the truth loses more
        self.effort = self.effort._replace(rounds=min(self.effort.rounds, _FEW_ROUNDS))
        try:
            return min(plan, self._by_cuts(), key=lambda each: each.expected_loss)
        except SolverError:
            return plan

    def _for_beliefs(self) -> CertifiedPlan | None:
        """Return what a search for sets of beliefs finds, if it finds anything."""
        try:
            return BeliefSearch(
                self.effort,
                self.situation,
                self.weights,
                self.losses,
                self.emission,
                self._ranked(MOST_OUTPUTS),
                self.possible,
            ).plan()
        except SolverError as error:
            _log.info("the search goes on by cuts: %s", error)
            return None

    def _serves_beliefs(self) -> bool:
        """Tell whether a step is for `BeliefSearch`: a larger map, few promises that need it."""
        is_large = len(self.possible) > _MANY and self.effort.outputs is None
        return is_large and not self.is_linear and self._has_few_promises and not self.toll.price

    @property
    def _has_few_promises(self) -> bool:
        """Whether a finer map can be had because few promises bind it."""
        return self.situation.n_promises <= FEW

    def _by_cuts(self) -> CertifiedPlan:
        """Return the best certified matrix, on finer maps as long as that is worth it."""
        start = self.situation.warm_start or WarmStart()
        most = len(self.possible)
        is_quick = self.is_linear and self._has_few_promises
        is_quick &= most <= LARGE or not self.toll.price
        size = self.effort.outputs or (most if is_quick else self._first_size)
        best: CertifiedPlan | None = None
        least = np.inf
        while True:
            outputs = self.outputs(min(size, most))
            on_map = OnMap(self, outputs)
            try:
                plan = on_map.plan(start)
            except SolverError:
                if best is None:
                    raise
                return best
            if best is None or plan.expected_loss + on_map.paid < least:
                best, least = plan, plan.expected_loss + on_map.paid
            coarseness = self._coarseness(len(outputs))
            enough = self.effort.outputs is not None or coarseness <= _COARSE * plan.expected_loss
            if enough or len(outputs) == most or time.monotonic() > self.deadline:
                return best
            start, size = plan.warm_start or WarmStart(), 2 * size

    @property
    def _first_size(self) -> int:
        """How many outputs there are at first."""
        is_small = len(self.possible) <= _FIRST_OUTPUTS
        return _FIRST_OUTPUTS if self.is_linear or is_small else _FEWER

    def signals(self, outputs: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the cells whose signals are told apart on a map with some outputs."""
        if self.is_linear or self.effort.outputs is not None:
            return outputs
        return self.outputs(max(_SIGNALS, 2 * len(outputs)))

    def _coarseness(self, size: int) -> float:
        """Return how far the nearest of so many outputs is, in the mean."""
        return float(self.weights @ self.losses[:, self.outputs(size)].min(axis=1))

    def outputs(self, size: int) -> NDArray[np.intp]:
        """Return the cells to release."""
        return self.possible if size >= len(self.possible) else np.sort(self._ranked(size))

    def _ranked(self, size: int) -> NDArray[np.intp]:
        """Return cells to release, greedily those that serve the public belief best."""
        size = min(size, len(self.possible))
        if not self._chosen:
            self._choose(int(np.argmin(self.weights @ self.losses[:, self.possible])))
            gains = self.weights @ self._nearest - self.weights @ np.minimum(
                self.losses[:, self.possible], self._nearest[:, None]
            )
            self._gains = [(-gain, k) for k, gain in enumerate(gains) if k != self._chosen[0]]
            heapify(self._gains)
        while len(self._chosen) < size:  # what a cell gains only shrinks as others are chosen
            _, cell = heappop(self._gains)
            nearer = np.minimum(self.losses[:, self.possible[cell]], self._nearest)
            least = -float(self.weights @ (self._nearest - nearer))
            if self._gains and (least, cell) > self._gains[0]:
                heappush(self._gains, (least, cell))
            else:
                self._choose(cell)
        return np.asarray(self.possible[self._chosen[:size]])

    def _choose(self, cell: int) -> None:
        self._chosen.append(cell)
        self._nearest = np.minimum(self.losses[:, self.possible[cell]], self._nearest)


class OnMap:
    """The search on a map of some of the cells."""

    def __init__(self, search: Search, outputs: NDArray[np.intp]) -> None:
        self.effort, self.situation, self.losses = search.effort, search.situation, search.losses
        self.weights, self.outputs, self.deadline = search.weights, outputs, search.deadline
        self.is_linear = search.is_linear
        self.gap = self.effort.gap / 10 if self.is_linear else self.effort.gap
        self.search, emission = search, search.emission
        self.is_coarse = len(outputs) < len(search.possible)
        cells = search.signals(outputs)
        costs = emission.T @ (self.weights[:, None] * self.losses[:, cells])
        if self.is_coarse:  # signals that are best taken for the same cell are merged
            self.merged = np.eye(len(cells))[np.argmin(costs, axis=1)]
            emission = emission @ self.merged
            costs = self.merged.T @ costs[:, np.searchsorted(cells, outputs)]
        self.mechanism, self.cost = emission, costs
        self.bounds = [bound.after(emission) for bound in search.bounds]
        self.toll = search.toll.after(emission)
        self.paid = 0.0  # of the toll, by the plan

    def plan(self, start: WarmStart) -> CertifiedPlan:
        """Return the best certified matrix that was found."""
        cost = self.cost
        if not self.bounds:
            return self._unbound()
        hub = int(np.argmin(cost.sum(axis=0)))
        best = np.zeros(cost.shape)
        best[:, hub] = 1.0
        best_loss = self._loss(best)
        scale = float(np.abs(cost).max()) or 1.0
        program = Program(cost / scale, max(self.deadline - time.monotonic(), 1e-3))
        beliefs: dict[tuple[int, int], list[Belief]] = {}
        central = [bound.central() for bound in self.bounds]
        far = self.losses[np.ix_(self.outputs, self.outputs)]
        shared = SharedCuts(self.bounds, len(cost), far)
        program.cut(self._first(shared, central) + self._remembered(start, beliefs, shared))
        program.allow(self._start(hub, central[:1] if self.is_linear else central))
        if start.used is not None and start.used.shape == cost.shape:
            program.allow(start.used)
        if self.toll.price:
            program.charge(self.toll.lines, self.toll.price / scale)
        bound, remark = 0.0, ""
        for number in range(self.effort.rounds):
            try:
                remap = program.solve()
            except SolverError as error:
                if number == 0:
                    raise
                remark = f"the solver stopped early ({error})"
                break
            bound = scale * program.bound
            broken = [(added.column, added.cut) for added in shared.broken(remap)]
            broken += self._broken(remap, best, beliefs)
            mended = shared.joined(remap, cost)
            for candidate in (repaired(self.bounds, mended), self._towards(remap, best)):
                loss = self._loss(candidate)
                if loss < best_loss:
                    best, best_loss = candidate, loss
            if not broken or best_loss <= bound * (1 + self.gap):
                break
            if time.monotonic() > self.deadline:
                remark = "the time was up"
                break
            program.cut(broken)
        emission = self._certified(best)
        expected = float(np.sum(self.weights[:, None] * emission * self.losses))
        self.paid = self.search.toll.of(emission)
        if not remark and expected + self.paid > bound * (1 + self.effort.gap) + 1e-6 * scale:
            remark = f"not within {self.effort.gap:g} of the bound"
        bound = max(bound - self.paid, 0.0)  # who pays no more cannot lose less
        if remark:
            remark += f": what served has {expected:.3g}, the bound is {bound:.3g}"
        for k, j, belief, _ in shared.active(remap):
            beliefs.setdefault((k, j), []).append(belief)
        mattered: dict[int, dict[int, tuple[Belief, ...]]] = {}
        for (k, j), found in beliefs.items():
            mattered.setdefault(k, {})[int(self.outputs[j])] = tuple(found[-12:])
        return CertifiedPlan(
            emission,
            self.situation.mechanism.budget,
            expected_loss=expected,
            bound=min(bound, expected) if self.is_coarse else bound,  # the truth is finer
            warm_start=WarmStart(mattered, best > 1e-6 if self.is_linear else None),
            remark=remark,
        )

    def _loss(self, remap: Array) -> float:
        """Return what a remap loses, with what it pays."""
        return float((self.cost * remap).sum()) + self.toll.of(remap)

    def _unbound(self) -> CertifiedPlan:
        """Return the plan where nothing is promised: each row gives its cheapest output."""
        cheapest = np.eye(self.cost.shape[1])[np.argmin(self.cost, axis=1)]
        emission = self._certified(cheapest)
        expected = float(np.sum(self.weights[:, None] * emission * self.losses))
        budget = self.situation.mechanism.budget
        return CertifiedPlan(emission, budget, expected_loss=expected, bound=expected)

    def _first(self, shared: SharedCuts, central: list[list[Array]]) -> list[tuple[int, Array]]:
        """Return the cuts to begin with, each for a column."""
        cuts = [(added.column, added.cut) for added in shared.first()]
        pairs = zip(self.bounds, central, strict=True)
        others = [cut for bound, found in pairs if not bound.has_one_past for cut in found]
        return cuts + [(j, cut) for j in range(self.cost.shape[1]) for cut in others]

    def _start(self, hub: int, central: list[list[Array]]) -> NDArray[np.bool_]:
        """Mark the variables to begin with.

        The rows that speak for the event, or those against it if these are fewer, have to lend
        themselves to all outputs.
        """
        rarest = [min(cuts, key=lambda cut: np.count_nonzero(cut > 0)) for cuts in central if cuts]
        return promising(self.cost, hub, rarest)

    def _remembered(
        self,
        start: WarmStart,
        beliefs: dict[tuple[int, int], list[Belief]],
        shared: SharedCuts,
    ) -> list[tuple[int, Array]]:
        """Return the cuts of beliefs that mattered before, for the output nearest to theirs."""
        cuts = []
        for k, by_output in start.beliefs.items():
            if k >= len(self.bounds) or not by_output:
                continue
            known = np.array(sorted(by_output))
            nearest = known[np.argmin(self.losses[np.ix_(self.outputs, known)], axis=1)]
            for j, output in enumerate(nearest.tolist()):
                for belief in by_output[output]:
                    if self.bounds[k].has_one_past:
                        cuts += [(j, added.cut) for added in shared.remembered(k, j, belief)]
                        continue
                    beliefs.setdefault((k, j), []).append(belief)
                    cuts.append((j, self.bounds[k].cut(belief)))
        return cuts

    def _broken(
        self, remap: Array, inner: Array, beliefs: dict[tuple[int, int], list[Belief]]
    ) -> list[tuple[int, Array]]:
        """Return cuts that a remap breaks, and note their beliefs.

        Between the remap and an `inner` one that passes, cuts are deeper than at the remap itself.
        """
        cuts = []
        between = (1 - _INWARDS) * remap + _INWARDS * inner
        used = np.flatnonzero(remap.max(axis=0) > 1e-12)
        for k, bound in enumerate(self.bounds):
            if bound.has_one_past:
                continue  # see SharedCuts
            for j in used[bound.failing(remap[:, used])].tolist():
                for belief in bound.broken(between[:, j]) or bound.broken(remap[:, j]):
                    beliefs.setdefault((k, j), []).append(belief)
                    cuts.append((j, bound.cut(belief)))
        return cuts

    def _towards(self, remap: Array, inner: Array) -> Array:
        """Return the last point that passes on the way from `inner`, which does, to the remap."""
        if self.is_linear:
            return inner
        if self._all_pass(remap):
            return remap
        low, high = 0.0, 1.0
        for _ in range(12):
            middle = (low + high) / 2
            between = (1 - middle) * inner + middle * remap
            low, high = (middle, high) if self._all_pass(between) else (low, middle)
        return np.asarray((1 - low) * inner + low * remap)

    def _all_pass(self, remap: Array) -> bool:
        return not any(bound.failing(remap, any_will_do=True).any() for bound in self.bounds)

    def _certified(self, remap: Array) -> Array:
        """Return the emission in whole tickets, certified."""
        n_outputs, search = self.losses.shape[1], self.search
        if self.is_coarse and self.effort.outputs is None:
            return certified_with_truth(
                self.situation,
                search.emission,
                self.merged @ remap,
                self.outputs,
                search.emission.T @ (self.weights[:, None] * self.losses),
                search.possible,
                self.weights @ search.emission,
                search.toll.after(search.emission),
            )
        return certified(self.situation, self.mechanism, remap, self.outputs, n_outputs)
