"""The search for the remap of a step on a large map: the linear program of groups of cells.

Outputs stand in groups, and so do the signals whose best outputs they are. A signal either gives
its best output, so the truth stays exact inside a group, or lends itself to a group of outputs,
which share what is lent in proportion to what each needs. That is a program of a few hundred or
thousand groups instead of all cells, and what it finds is a remap of the whole map. Prices for
every single output (`priste.calibration.prices`) give the bound; where it and the remap differ,
groups are parted, until they are near enough.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from priste.calibration.bounds import Bound
from priste.calibration.calibration import Situation
from priste.calibration.effort import FEW, LARGE, Effort, usable_outputs
from priste.calibration.grouped_plan import GroupedPlan, Index
from priste.calibration.groups import first_groups, split, total
from priste.calibration.prices import Market, spread
from priste.calibration.program import Program, SolverError
from priste.calibration.promising import cheapest, promising
from priste.checks import Array
from priste.dyadic import TICKETS, dyadic
from priste.mechanisms.no_noise import NoNoise

_FIRST = 0.06  # groups to begin with, of all cells
_LEAST_GROUPS = 300  # to begin with, or all cells
_MOST = 3000  # groups
_BLOCK = 256  # rows of a matrix that are looked at together
_GROWTH = (1.08, 1.6)  # from round to round, at least and at most
_NEAR_ENOUGH = 0.02  # how near the bound a remap has to be
_AIM = 0.7  # of how near it has to be: what the next round is meant to reach
_OF_PROGRAM = 3e-3  # how near its optimum the program of the groups is solved
_LEAST_SHARE = 1e-6  # of an even share of a group, that each of its outputs has
_WORTH_RISING = 0.3  # how far from a good bound a remap is: it pays to make it better
_OF_THE_MASS = 0.99  # that those have who matter
_HEAVY = 0.1  # the share of the mass that much is
_BUMPS = (0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)  # lent to all if rounding hurts


class Remap(NamedTuple):
    """What a program of groups found: what rows give in their own way, and what they lend."""

    own: Array
    lent: Array
    loss: float


class Before(NamedTuple):
    """What the program of coarser groups found, told of the groups that theirs were parted into."""

    used: NDArray[np.bool_]
    prices: Array


class GroupedSearch:
    """One step's search on groups of the cells, without those that are `avoided`.

    `noise` is the matrix that signals are drawn from, None where they are the true cells.
    """

    def __init__(
        self,
        effort: Effort,
        situation: Situation,
        weights: Array,
        losses: Array,
        avoided: Index | None = None,
    ) -> None:
        self.situation, self.n_cells = situation, len(losses)
        mechanism = situation.mechanism
        is_silent = isinstance(mechanism, NoNoise) and mechanism.budget == 1
        self.noise = noise = None if is_silent else mechanism.lottery()
        self.outputs = outputs = usable_outputs(losses.shape[1], noise, avoided)
        self.gap = max(effort.gap, _NEAR_ENOUGH)
        self.deadline = time.monotonic() + effort.time_limit
        every = len(outputs) == losses.shape[1]
        self.far = losses if every else losses[np.ix_(outputs, outputs)]
        costs = losses if every else losses[:, outputs]
        self.mass: Array = weights
        if noise is not None:
            costs, self.mass = noise.T @ (weights[:, None] * costs), weights @ noise
            weights = np.ones(len(costs))
        order = np.argsort(-self.mass, kind="stable")
        self.is_heavy = np.empty(len(order), dtype=bool)
        self.is_heavy[order] = np.cumsum(self.mass[order]) - self.mass[order] < _OF_THE_MASS
        bounds = [
            Bound.of(*pair, noise)
            for pair in zip(situation.protections, situation.evidence, strict=True)
        ]
        cuts = np.array([b.cut(belief) for b in bounds for belief in b.extremes()]).T
        cuts = cuts / np.maximum(np.abs(cuts).sum(axis=0), 1e-300)
        # block by block: numpy would copy a matrix that cannot be written to as a whole
        blocks = np.array_split(costs, len(costs) // _BLOCK + 1)
        self.own: Index = np.concatenate([block.argmin(axis=1) for block in blocks])
        need = total(cuts, self.own, len(outputs))
        self.market = Market(weights, costs, cuts, need)
        self.own_cost = weights * costs[np.arange(len(costs)), self.own]
        self._next_to_nothing = 1e-6 * float((weights @ costs).min())  # of what one answer costs

    @classmethod
    def serves(cls, effort: Effort, situation: Situation) -> bool:
        """Tell whether a step is for groups: a large map, and few promises that bound it linearly.

        With many, outputs of a group need too many things at once. Groups pay no toll.
        """
        return (
            len(situation.belief) > LARGE
            and effort.outputs is None
            and effort.thrift == 0
            and 0 < situation.n_promises <= FEW
            and all(evidence.has_one_past for evidence in situation.evidence)
        )

    def plan(self) -> GroupedPlan:
        """Return the best certified plan that was found."""
        market, n_outputs = self.market, len(self.outputs)
        mass = total(self.mass, self.own, n_outputs)
        ratio = market.need / np.maximum(mass, 1e-300)[:, None]
        size = max(int(_FIRST * n_outputs), min(_LEAST_GROUPS, n_outputs))
        groups = first_groups(self.far, mass, market.need, size)
        bound, early, before = 0.0, "", None
        found: tuple[OnGroups, Remap] | None = None
        while True:
            on = OnGroups(self, groups, before)
            try:
                remap, by_group = on.solve(max(self.deadline - time.monotonic(), 1e-3))
            except SolverError as error:
                if found is None:
                    raise
                early = f"the solver stopped early ({error})"
                break
            if found is None or remap.loss <= found[1].loss:
                found = on, remap
            prices, paid = self._best_prices(on, remap, by_group)
            bound = max(bound, float(paid.sum()))
            if remap.loss <= self._enough(bound):
                break
            if time.monotonic() > self.deadline:
                early = "the time was up"
                break
            most = min(_MOST, int(self._growth(remap.loss, bound) * len(groups)))
            score = on.score(remap, prices, paid)
            parted, parent = split(groups, self.far, ratio, score, most)
            if len(parted) == len(groups) or len(groups) >= _MOST:
                break
            used = (remap.lent > 0)[np.ix_(parent, parent)]
            groups, before = parted, Before(used, by_group[parent])
        plan = self._certified(*found, bound)
        if not early and plan.expected_loss > self._enough(bound):
            early = f"not within {self.gap:g} of the bound"
        if not early:
            return plan
        served = f"what served has {plan.expected_loss:.3g}, the bound is {bound:.3g}"
        return replace(plan, remark=f"{early}: {served}")

    def _best_prices(self, on: "OnGroups", remap: Remap, by_group: Array) -> tuple[Array, Array]:
        """Return prices of outputs that give a good bound, and what signals pay at them."""
        tried: list[tuple[Array, Array]] = []
        for prices in on.prices_of_outputs(by_group):
            paid = self.market.paid(prices)
            if remap.loss < (1 + _WORTH_RISING) * paid.sum():
                return self.market.risen(prices, paid)
            tried.append((prices, paid))
        return max(tried, key=lambda each: float(each[1].sum()))

    def _growth(self, loss: float, bound: float) -> float:
        """Return how many times as many groups to have: the gap falls with their fourth power."""
        least, most = _GROWTH
        missing = (loss / bound - 1) / (_AIM * self.gap) if bound > 0 else np.inf
        return float(np.clip(missing**0.25, least, most))

    def _enough(self, bound: float) -> float:
        """Return the loss that is near enough to a bound, or next to nothing."""
        return bound * (1 + self.gap) + self._next_to_nothing

    def _certified(self, on: "OnGroups", remap: Remap, bound: float) -> GroupedPlan:
        """Return the plan in whole tickets, with a little more lent to all if rounding hurts."""
        missing = on.missing(remap)
        for bump in _BUMPS:
            lent = remap.lent + missing + bump * remap.lent.any(axis=0)
            table = np.column_stack([remap.own, lent])
            table = dyadic(table / table.sum(axis=1, keepdims=True))
            expected = float((table[:, 1:] * on.cost).sum() + table[:, 0] @ on.own_cost)
            plan = GroupedPlan(
                table,
                on.shares,
                on.group_of_signal,
                self.own,
                on.group,
                self.outputs,
                self.noise,
                self.situation.mechanism.budget,
                self.n_cells,
                expected,
                bound,
            )
            if self.situation.keeps(plan.joint):
                return plan
        raise SolverError("rounding to whole tickets breaks a promise")


class OnGroups:
    """The program of some groups."""

    def __init__(
        self, search: GroupedSearch, groups: list[Index], before: Before | None = None
    ) -> None:
        self.search, self.groups, self._before = search, groups, before
        market, n_groups = search.market, len(groups)
        self.group = np.empty(len(search.outputs), dtype=np.intp)
        for number, members in enumerate(groups):
            self.group[members] = number
        self.shares = self._shares(market.need)
        self.group_of_signal = self.group[search.own]
        n = len(search.own)
        places = (self.group_of_signal, np.arange(n))
        self._sum = sparse.csr_array((np.ones(n), places), shape=(n_groups, n))
        self._means = spread(market.losses, self.group, self.shares, n_groups)
        weighted = sparse.csr_array((market.weights, places), shape=(n_groups, n))
        self.cost = np.asarray(weighted @ self._means)
        self.own_cost = self._sum @ search.own_cost
        self.cuts = self._sum @ market.cuts
        # what the own way costs the cuts of the group: those of the output that suffers most
        self.own_cut = np.full((n_groups, market.cuts.shape[1]), -np.inf)
        np.maximum.at(self.own_cut, self.group, market.need / self.shares[:, None])

    def _shares(self, need: Array) -> Array:
        """Return how outputs share what is lent to their group: as each needs it, and a little."""
        n_groups = len(self.groups)
        size = np.bincount(self.group, minlength=n_groups)[self.group]
        wanted = np.maximum(need, 0.0).max(axis=1)
        together = total(wanted, self.group, n_groups)[self.group]
        shares = np.where(together > 0, wanted / np.where(together > 0, together, 1.0), 1 / size)
        shares = np.maximum(shares, _LEAST_SHARE / size)
        shares /= total(shares, self.group, n_groups)[self.group]
        for members in self.groups:
            shares[members] = dyadic(shares[members][None])[0]
        return np.asarray(shares)

    def solve(self, time_limit: float) -> tuple[Remap, Array]:
        """Return the best remap of the groups, and the prices of their cuts."""
        cost, n = self.cost, len(self.cost)
        scale = float(np.abs(cost).max()) or 1.0
        program = Program(cost / scale, time_limit, self.own_cost / scale, _OF_PROGRAM)
        unit = float(np.abs(self.cuts).max()) or 1.0
        lines = np.column_stack([self.cuts.T, np.zeros(self.cuts.shape[1])]) / unit
        lines = np.tile(lines, (n, 1))  # all cuts of a column stand together
        lines[:, -1] = self.own_cut.ravel() / unit
        program.cut(list(zip(np.repeat(np.arange(n), self.cuts.shape[1]), lines, strict=True)))
        program.allow(self._worth_having())
        lent = program.solve()
        loss = float((cost * lent).sum() + self.own_cost @ program.own)
        by_group = program.prices.reshape(n, -1) * (scale / unit)
        return Remap(program.own, lent, loss), by_group

    def _worth_having(self) -> NDArray[np.bool_]:
        """Mark what to begin with; with prices of the groups before, few do and serve better."""
        cost = self.cost
        hub = int(np.argmin(cost.sum(axis=0)))
        if self._before is None:
            return promising(cost, hub, -self.cuts.T)
        used, prices = self._before
        at_own = self.own_cost + (self.own_cut * prices).sum(axis=1)
        paid = cost + self.cuts @ prices.T
        wanted = used | cheapest(paid - np.minimum(paid.min(axis=1), at_own)[:, None])
        wanted[:, hub] = True
        return wanted

    def prices_of_outputs(self, by_group: Array) -> Iterator[Array]:
        """Yield prices of every output: those of its group, or nearly.

        Where much of the mass is of signals that have a group for their output alone, prices are
        moved so that these pay what they do among groups: all of them, or those that matter.
        """
        search, market, group = self.search, self.search.market, self.group_of_signal
        prices = by_group[self.group]
        firm = np.bincount(self.group, minlength=len(self.groups))[group] == 1
        if search.mass[firm].sum() <= _HEAVY:
            yield prices
            return
        paid = search.own_cost + (market.cuts * by_group[group]).sum(axis=1)
        for j in np.flatnonzero(firm).tolist():
            lending = market.weights[j] * self._means[j] + by_group @ market.cuts[j]
            paid[j] = min(paid[j], lending.min())
        yield market.settled(prices, paid, firm)
        yield market.settled(prices, paid, firm & search.is_heavy)

    def score(self, remap: Remap, prices: Array, paid: Array) -> Array:
        """Return each group's part in the distance between a remap and the bound.

        It is the sum of what signals pay above their cheapest output, and of what columns keep
        their cuts by more than they must, at their prices.
        """
        market, own = self.search.market, self.search.own
        n_groups = len(self.groups)
        mean = total(self.shares[:, None] * prices, self.group, n_groups)
        least = self._sum @ paid
        above = (self.cost + self.cuts @ mean.T - least[:, None]) * remap.lent
        at_own = self.search.own_cost + (prices[own] * market.cuts).sum(axis=1) - paid
        lent = remap.lent.T @ self.cuts
        column = remap.own[self.group, None] * market.need + self.shares[:, None] * lent[self.group]
        loose = total(-(prices * column).sum(axis=1), self.group, n_groups)
        score = above.sum(axis=0) + above.sum(axis=1) + remap.own * (self._sum @ at_own) + loose
        sizes = np.array([len(members) for members in self.groups])
        return np.where(sizes > 1, np.maximum(score, 0.0), 0.0)

    def missing(self, remap: Remap) -> Array:
        """Return how much all must lend to each group so that its columns keep their cuts."""
        broken = remap.lent.T @ self.cuts + remap.own[:, None] * self.own_cut
        everybody = self.cuts.sum(axis=0)
        if not (everybody < 0).all():
            raise SolverError("the same answer from everywhere would not keep a promise")
        return np.asarray(np.maximum(((broken + 2 / TICKETS) / -everybody).max(axis=1), 0.0))
