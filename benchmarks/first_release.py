"""What no first release can go below that keeps a promise to a set of beliefs.

Before the first release a vertex of the beliefs speaks of one cell of its own, and of what all have
in common. So a program with all cells as outputs can have all the lines that it comes to break
(`priste.calibration.own_blocks`). These are lines as in `priste.calibration.odds_lines`, but each
for some odds and a number μ of its own, where a remap of ours keeps those of whole intervals. They
ask for less than the promise, and prices of lines give a bound whatever they are. Noise underneath
allows for less, so what is found without it bounds a release with noise as well.
"""

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from priste.calibration import Situation
from priste.calibration.bounds import Bound
from priste.calibration.interior import Interior
from priste.calibration.odds_lines import Side, log_odds, pairs_of, sides_of
from priste.calibration.own_blocks import OwnBlocks
from priste.calibration.own_entries import OwnEntries
from priste.calibration.program import SolverError
from priste.calibration.weighing import weights
from priste.checks import Array
from priste.worst_case import blas

Index = NDArray[np.intp]

ODDS = 10
ROUNDS, SETTLING = 90, 60
_MORE = 20  # lines that a column is given at a time
_BROKEN = 1e-3  # how far lines must be broken to be added, relative
_INSIDE = 1e-3  # how far, as a logarithm, the odds that are looked at lie between those of vertices
_CLOSE = 1e-3  # how near a bound is that is good enough, relative


def first_bound(situation: Situation, losses: Array) -> float:
    """Return what no first release onto any of the cells can go below."""
    cost = weights(situation)[:, None] * losses
    scale = float(cost.sum(axis=0).min())
    pairs = zip(situation.protections, situation.evidence, strict=True)
    sides = [side for p, e in pairs for side in sides_of(Bound.of(p, e, None))]
    lines = _Lines(sides, len(losses))
    program, again = (lines.program(cost / scale) for _ in range(2))
    best = 0.0
    with blas().limit(limits=1, user_api="blas"):
        with suppress(SolverError):  # it cannot go nearer
            for _ in range(ROUNDS):
                program.add(*lines.broken(program))
                program.step()
                if program.gap < _CLOSE / 10:
                    break
        again.add(program.given.column, program.given.line)  # from the beginning prices settle
        with suppress(SolverError):
            for _ in range(SETTLING):
                again.step()
                best = max(best, lines.bound(again, cost / scale))
                if best > (1 - _CLOSE) * float((cost / scale * again.columns).sum()):
                    break
    return scale * best


class _Lines:
    """The lines of some sides for single odds, numbered by side, odds and vertex."""

    def __init__(self, sides: list[Side], n_cells: int) -> None:
        n_common, parts = 2 * len(sides), []
        self.n_mus, common = 0, np.zeros((n_common, n_cells))
        for i, side in enumerate(sides):
            own = OwnEntries.of(side.true, side.false)
            if own is None:
                raise ValueError("a vertex speaks of more than one cell of its own")
            common[2 * i : 2 * i + 2] = own.common_true, own.common_false
            for one, sigma in _odds(side):
                against = -sigma * side.factor
                part = np.zeros((len(side.a), 2 + n_common + len(sides) * ODDS))
                part[:, 0] = own.entry
                part[:, 1] = one * own.own_true + against * own.own_false
                part[:, 2 + 2 * i], part[:, 3 + 2 * i] = one * own.scale, against * own.scale
                part[:, 2 + n_common + self.n_mus] = side.slopes(one, sigma)
                parts.append(part)
                self.n_mus += 1
        self.shared = np.zeros((n_common + self.n_mus, n_cells + self.n_mus))
        self.shared[:n_common, :n_cells] = common
        self.shared[n_common:, n_cells:] = np.eye(self.n_mus)
        self._rows = np.concatenate(parts)[:, : 2 + len(self.shared)]
        self._mu = np.repeat(np.arange(self.n_mus), [len(part) for part in parts])
        self._tilt = self._rows[np.arange(len(self._rows)), 2 + n_common + self._mu]

    def program(self, cost: Array) -> Interior:
        """Return a program of all cells as outputs, without any lines yet."""
        blocks = OwnBlocks(len(cost), self.shared, len(cost))
        return Interior(cost, self.middle(), lambda lines: self._rows[lines], blocks=blocks)

    def middle(self) -> Array:
        """Return numbers μ for the column of ones: in the middle of what its lines allow."""
        n_mus, tilt = self.n_mus, self._tilt
        rest = self._rows[:, 1] + self._rows[:, 2:-n_mus] @ self.shared[:-n_mus].sum(axis=1)
        edge = -rest / np.where(tilt == 0, 1.0, tilt)
        least, most = np.zeros(n_mus), np.full(n_mus, np.inf)
        np.maximum.at(least, self._mu[tilt < 0], edge[tilt < 0])
        np.minimum.at(most, self._mu[tilt > 0], edge[tilt > 0])
        most = np.where(np.isfinite(most), most, 2 * least + 1)
        return np.asarray(np.maximum((least + np.maximum(most, 0.0)) / 2, 1e-3))

    def broken(self, program: Interior) -> tuple[Index, Index]:
        """Return columns and the lines that these break most, and have not yet."""
        entry, given = self._rows[:, 0].astype(np.intp), program.given
        value, size = (
            program.x[:, entry] * own + (program.x @ shared.T) @ takes.T
            for own, shared, takes in (
                (self._rows[:, 1], self.shared, self._rows[:, 2:]),
                (np.abs(self._rows[:, 1]), np.abs(self.shared), np.abs(self._rows[:, 2:])),
            )
        )
        value /= size
        value[given.column, given.line] = -np.inf
        worst = np.argpartition(-value, _MORE, axis=1)[:, :_MORE]
        column, place = np.nonzero(np.take_along_axis(value, worst, axis=1) > _BROKEN)
        return column, worst[column, place]

    def bound(self, program: Interior, cost: Array) -> float:
        """Return what no columns can cost less than, by prices at which no μ gains anything."""
        given = program.given
        prices = given.price * given.scale
        mu, tilt = self._mu[given.line], self._tilt[given.line]
        place = given.column * self.n_mus + mu
        rising, falling = (
            np.bincount(place, prices * np.maximum(sign * tilt, 0.0), program.x.size)
            for sign in (1, -1)
        )
        share = np.minimum(rising / np.maximum(falling, 1e-300), 1.0)  # more of them would gain
        prices = np.where(tilt < 0, share[place], 1.0) * prices
        blocks = OwnBlocks(len(program.x), self.shared, len(cost))
        blocks.give(given.column, self._rows[given.line])
        return float((cost.T + blocks.of_lines(prices)[:, : len(cost)]).min(axis=0).sum())


def _odds(side: Side) -> Array:
    """Return the odds that are looked at, as pairs (1, σ) of any positive scale.

    The first and the last lie a little inside: beyond the odds of all vertices, μ could help alone.
    """
    logs = log_odds(side.a, side.not_a)
    even = np.linspace(logs.min(), logs.max(), ODDS)
    by_rank = np.quantile(logs, np.linspace(0, 1, ODDS))
    inside = min(_INSIDE, (logs.max() - logs.min()) / 4)
    return pairs_of(np.clip((even + by_rank) / 2, logs.min() + inside, logs.max() - inside))
