"""What no first release can go below that keeps a promise to a set of beliefs.

Before the first release a vertex of the beliefs speaks of one cell of its own, and of what all have
in common. So in a line of `priste.calibration.odds_lines`, for a column q and the odds σ,

    (t − σ e^ε f)·q + (t_v − σ e^ε f_v) q_v + μ (σ ā_v − a_v) ≤ 0          for all vertices v,

with t and f for what is common, all vertices have their own entry of q and share three numbers. An
interior point method for all cells as outputs then takes all lines at once, and half a minute. Only
some odds are looked at, which asks for less, and prices of lines give a bound whatever they are.
Noise underneath allows for less, so what is found without it bounds a release with noise as well.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from priste.calibration import Situation
from priste.calibration.bounds import Bound
from priste.calibration.odds_lines import Side, log_odds, pairs_of, sides_of
from priste.calibration.weighing import weights
from priste.checks import Array

_Invert = Callable[[Array, Array], tuple[Array, Array]]

ODDS, STEPS = 8, 60
_CLOSE = 1e-3  # relative: a gap that is small enough
_BACK = 0.97  # how much of the way to the nearest wall a step goes


def first_bound(situation: Situation, losses: Array) -> float:
    """Return what no first release onto any of the cells can go below."""
    cost = weights(situation)[:, None] * losses
    scale = float(cost.sum(axis=0).min())
    pairs = zip(situation.protections, situation.evidence, strict=True)
    sides = [side for p, e in pairs for side in sides_of(Bound.of(p, e, None))]
    program = _Program(cost.T / scale, sides)
    best = 0.0
    for _ in range(STEPS):
        program.step()
        best = max(best, program.bound())
        if program.gap < _CLOSE:
            break
    return scale * best


def _parts(side: Side) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Return what vertices have in common and of their own, true and false, and their odds.

    Rows of a side have scales of their own, which are taken away here.
    """
    n = len(side.a)
    before, after = np.roll(np.arange(n), 1), np.roll(np.arange(n), -1)
    total = side.true + side.false
    other = np.where(np.arange(n) == 0, 1, 0)  # an entry that is not the vertex's own
    scale = total[np.arange(n), other]
    if not scale.any():
        scale, common = total.diagonal(), np.zeros((2, n))
    else:
        scale = scale * np.where(np.arange(n) == 0, total[2, 0] / total[2, 1], 1.0)
        common = np.array([part[before, after[before]] for part in (side.true, side.false)])
        common = common / scale[before]
    true, false = side.true / scale[:, None], side.false / scale[:, None]
    own = true.diagonal() - common[0], false.diagonal() - common[1]
    for part, shared, mine in ((true, common[0], own[0]), (false, common[1], own[1])):
        if np.abs(part - shared - np.diag(mine)).max() > 1e-9 * np.abs(part).max():
            raise ValueError("a vertex speaks of more than one cell of its own")
    return common[0], common[1], *own, side.a / scale, side.not_a / scale


class _Program:
    """The program of all cells, by Mehrotra's method; rows of matrices belong to outputs."""

    def __init__(self, cost: Array, sides: list[Side]) -> None:
        own, common, tilt = [], [], []
        for side in sides:
            t, f, own_t, own_f, a, not_a = _parts(side)
            logs = log_odds(a, not_a)
            even = np.linspace(logs.min(), logs.max(), ODDS)
            by_rank = np.quantile(logs, np.linspace(0, 1, ODDS))
            for one, sigma in pairs_of((even + by_rank) / 2):
                own.append(one * own_t - sigma * side.factor * own_f)
                common.append(one * t - sigma * side.factor * f)
                tilt.append((sigma * not_a - one * a) * side.unit)
        self.cost, (n_outputs, self.n) = cost, cost.shape
        size = np.abs(own) + np.abs(common).sum(axis=1)[:, None] + np.abs(tilt)
        self.own, self.tilt, self.weight = own / size, tilt / size, 1 / size
        u, singular, v = np.linalg.svd(np.array(common), full_matrices=False)
        rank = int((singular > 1e-12 * max(singular[0], 1e-300)).sum())
        self.base, self.of_base = v[:rank], u[:, :rank] * singular[:rank]
        price = cost.mean() / 2
        self.x = np.full(cost.shape, 1 / n_outputs)
        self.mu = np.full((n_outputs, len(own)), 0.5 / n_outputs)
        self.zx, self.zmu = np.full(self.x.shape, price), np.full(self.mu.shape, price)
        self.slack = np.maximum(-self._lines(self.x, self.mu), 0.02 / n_outputs)
        self.price = price / n_outputs / self.slack
        self.row_price = np.zeros(self.n)

    def _lines(self, x: Array, mu: Array) -> Array:
        """Return the lines at columns and their numbers μ: per output, odds and vertex."""
        shared = (x @ self.base.T) @ self.of_base.T
        found = x[:, None, :] * self.own + shared[:, :, None] * self.weight
        return np.asarray(found + mu[:, :, None] * self.tilt)

    def _priced(self, prices: Array) -> tuple[Array, Array]:
        """Return what prices of lines cost each cell, and each number μ."""
        shared = np.einsum("okn,kn->ok", prices, self.weight) @ self.of_base
        cells = np.einsum("okn,kn->on", prices, self.own) + shared @ self.base
        return cells, np.einsum("okn,kn->ok", prices, self.tilt)

    @property
    def gap(self) -> float:
        """What the columns would cost less at the optimum, if prices and columns fitted by now."""
        return float(self._products((0.0,) * 6, (0.0, 0.0)))

    def bound(self) -> float:
        """Return what no columns can cost less than, by prices at which no μ gains anything."""
        rising, falling = (
            np.einsum("okn,kn->ok", self.price, np.maximum(sign * self.tilt, 0.0))
            for sign in (1, -1)
        )
        share = np.minimum(rising / np.maximum(falling, 1e-300), 1.0)  # more of them would gain
        prices = np.where(self.tilt < 0, share[:, :, None], 1.0) * self.price
        return float((self.cost + self._priced(prices)[0]).min(axis=0).sum())

    def step(self) -> None:
        """Go one step."""
        weight = self.price / self.slack
        invert, solve = self._system(weight)
        cells, mus = self._priced(self.price)
        off_rows = 1 - self.x.sum(axis=0)
        off_lines = -self._lines(self.x, self.mu) - self.slack
        off_x, off_mu = self.zx - self.cost - cells + self.row_price, self.zmu - mus

        def direction(x: Array, mu: Array, slack: Array) -> tuple[Array, ...]:
            gain = (slack - self.price * off_lines) / self.slack - self.price
            cells, mus = self._priced(gain)
            pull = off_x - cells + x / self.x - self.zx
            pull_mu = off_mu - mus + mu / self.mu - self.zmu
            rows = solve(off_rows - invert(pull, pull_mu)[0].sum(axis=0))
            x, mu = invert(pull + rows, pull_mu)
            along = self._lines(x, mu)
            price = gain + weight * along
            cells, mus = self._priced(price)
            return x, mu, off_lines - along, cells - off_x - rows, mus - off_mu, price, rows

        nothing = np.zeros(self.x.shape), np.zeros(self.mu.shape), np.zeros(self.slack.shape)
        way = direction(*nothing)
        here, there = self.gap, self._products(way, self._limits(way))
        target = here * max(0.02, (there / here) ** 3)
        target /= self.x.size + self.mu.size + self.slack.size
        way = direction(*(target - way[k] * way[k + 3] for k in range(3)))
        primal, dual = (_BACK * limit for limit in self._limits(way))
        for k, part in enumerate((self.x, self.mu, self.slack)):
            part += primal * way[k]
        for k, part in enumerate((self.zx, self.zmu, self.price, self.row_price)):
            part += dual * way[k + 3]

    def _limits(self, way: tuple[Array, ...]) -> tuple[float, float]:
        """Return how far a way can be gone before something is negative, at most 1."""
        walls = (self.x, self.mu, self.slack, self.zx, self.zmu, self.price)
        blocked = [float((-part / wall).max()) for part, wall in zip(way, walls, strict=False)]
        return 1 / max(1.0, *blocked[:3]), 1 / max(1.0, *blocked[3:])

    def _products(self, way: tuple[Array | float, ...], limits: tuple[float, float]) -> float:
        """Return the sum of products of entries and reduced costs, slacks and prices on a way."""
        primal, dual = limits
        pairs = ((self.x, self.zx), (self.mu, self.zmu), (self.slack, self.price))
        return sum(
            float(((part + primal * way[k]) * (other + dual * way[k + 3])).sum())
            for k, (part, other) in enumerate(pairs)
        )

    def _system(self, weight: Array) -> tuple[_Invert, Callable[[Array], Array]]:
        """Return what solves for columns and numbers μ, and for the sums of the rows.

        Entries are only joined by the few numbers that vertices share, and by these.
        """
        n_outputs, rank, n_mus = len(self.x), len(self.base), self.mu.shape[1]
        own = weight * self.own
        diagonal = 1 / (self.zx / self.x + np.einsum("okn,kn->on", own, self.own))
        border = np.concatenate(
            [
                np.einsum("okn,kn,kr->orn", own, self.weight, self.of_base),
                own * self.tilt,
                np.tile(self.base, (n_outputs, 1, 1)),
            ],
            axis=1,
        )
        size = n_mus + 2 * rank
        corner = np.zeros((n_outputs, size, size))
        shared, mixed, tilted = (
            np.einsum("okn,kn->ok", weight, part)
            for part in (self.weight**2, self.weight * self.tilt, self.tilt**2)
        )
        corner[:, :rank, :rank] = np.einsum("ok,kr,ks->ors", shared, self.of_base, self.of_base)
        corner[:, :rank, rank : -rank or None] = np.einsum("ok,kr->ork", mixed, self.of_base)
        corner[:, rank : -rank or None, :rank] = corner[:, :rank, rank : -rank or None].swapaxes(
            1, 2
        )
        mus = np.arange(rank, rank + n_mus)
        corner[:, mus, mus] = tilted + self.zmu / self.mu
        for k in range(rank):
            corner[:, k, rank + n_mus + k] = corner[:, rank + n_mus + k, k] = -1
        scaled = border * diagonal[:, None, :]
        inverse = np.linalg.inv(corner - scaled @ border.swapaxes(1, 2))
        sums = np.diag(diagonal.sum(axis=0))
        for mine, half in zip(inverse, scaled, strict=True):
            sums += half.T @ (mine @ half)
        factor = cho_factor((sums + sums.T) / 2 + 1e-12 * np.diag(sums.diagonal()))

        def invert(pull: Array, pull_mu: Array) -> tuple[Array, Array]:
            right = -np.einsum("opn,on->op", scaled, pull)
            right[:, rank : rank + n_mus] += pull_mu
            found = np.einsum("opq,oq->op", inverse, right)
            x = diagonal * pull - np.einsum("opn,op->on", scaled, found)
            return x, found[:, rank : rank + n_mus]

        return invert, lambda right: cho_solve(factor, right)
