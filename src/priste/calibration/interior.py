"""A linear program of columns that share their rows, solved from the inside.

Minimise the sum of cost · Q over matrices Q with non-negative entries and rows that sum to one,
where each column together with numbers μ of its own keeps its lines ``H (Q[:, o], μ) ≤ 0``. There
are far more lines than matter: a column is given those that it comes to break. An interior point
method (Mehrotra's predictor and corrector) suits that better than a simplex method: its points lie
well inside, so the lines that they break are those that matter, and adding some disturbs it little.

Each column is a block of its own, and only the sums of the rows join them: a step takes one matrix
per block, and one of as many rows as Q has.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtri

from priste import worst_case
from priste.calibration.program import SolverError
from priste.checks import Array

Index = NDArray[np.intp]

_BACK = 0.95  # how much of the way to the nearest wall a step goes
_SLACK = 0.05  # that a line that is broken starts with at most, relative to its size
_LEAST_SLACK = 1e-4  # and at least
_LEAST_TARGET = 0.1  # of the products of slack and price, for the next step
_CORRECTORS = 2  # attempts to make a step longer
_FURTHER = 0.3  # how much longer
_SPREAD = 10.0  # products further from their target than this, as a factor, are brought back
_REGULAR = 1e-13  # relative, added to a matrix that has lost its positive definiteness


@dataclass
class Block:
    """A column: its entries and numbers μ, and the lines it has been given."""

    x: Array
    z: Array
    cost: Array
    lines: Index
    scale: Array
    h: Array
    slack: Array
    price: Array

    def add(self, lines: Index, rows: Array, mu: float, least: Array) -> None:
        """Add lines, scaled so that their slack is relative."""
        scale = 1 / (np.abs(rows) @ self.x)
        rows = rows * scale[:, None]
        slack = np.maximum(-rows @ self.x, least)
        self.lines = np.append(self.lines, lines)
        self.scale = np.append(self.scale, scale)
        self.h = np.concatenate([self.h, rows])
        self.slack = np.append(self.slack, slack)
        self.price = np.append(self.price, mu / slack)

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop all lines but those that are marked."""
        self.lines, self.scale, self.h = self.lines[kept], self.scale[kept], self.h[kept]
        self.slack, self.price = self.slack[kept], self.price[kept]

    def inverse(self) -> Array:
        """Return the inverse of diag(z / x) + hᵀ diag(price / slack) h."""
        root = np.sqrt(self.x / self.z)
        scaled = self.h * root
        k, n = scaled.shape
        if k < n:  # by way of the smaller matrix
            small = scaled @ scaled.T
            small.ravel()[:: k + 1] += self.slack / self.price
            half = _half_of_inverse(small) @ scaled
            inverse = -(half.T @ half)
            inverse.ravel()[:: n + 1] += 1
        else:
            scaled *= np.sqrt(self.price / self.slack)[:, None]
            large = scaled.T @ scaled
            large.ravel()[:: n + 1] += 1
            half = _half_of_inverse(large)
            inverse = half.T @ half
        inverse *= root
        inverse *= root[:, None]
        return np.asarray(inverse)


class _Direction(NamedTuple):
    """Where a block goes: its entries, slacks, prices and reduced costs."""

    x: Array
    slack: Array
    price: Array
    z: Array


class _System(NamedTuple):
    """A block at a point, ready to be solved for."""

    inverse: Array
    off_lines: Array
    off_cost: Array


class _Products(NamedTuple):
    """What the products of entries with reduced costs, and of slacks with prices, should become."""

    x: Array
    slack: Array


class Interior:
    """The program with the lines that its columns have so far.

    `rows_of` returns lines as rows over a column's entries and its numbers μ. The program begins
    with equal entries, and with `mus` as the numbers that go with a column of ones.
    """

    def __init__(self, cost: Array, mus: Array, rows_of: Callable[[Index], Array]) -> None:
        self.n_rows, self.n_columns = cost.shape
        self._rows_of = rows_of
        share = 1 / self.n_columns
        self.row_prices = np.zeros(self.n_rows)
        self.centrality = share * float(cost.mean()) / 2
        start = share * np.append(np.ones(self.n_rows), mus)
        nothing, size = np.empty(0), len(start)
        self._ones = start / share
        self.blocks = [
            Block(
                start,
                self.centrality / start,
                np.append(column, np.zeros(len(mus))),
                np.empty(0, dtype=np.intp),
                nothing,
                np.empty((0, size)),
                nothing,
                nothing,
            )
            for column in cost.T
        ]

    def add(self, column: int, lines: Index) -> None:
        """Give a column lines.

        One that it breaks starts with the slack that a column of ones has, if that is less.
        """
        if len(lines):
            rows = self._rows_of(lines)
            room = -(rows @ self._ones) / (np.abs(rows) @ self._ones)
            least = np.clip(room, _LEAST_SLACK, _SLACK)
            self.blocks[column].add(lines, rows, self.centrality, least)

    def drop(self, beyond: float, always: int) -> None:
        """Drop lines that are far from being broken; those from number `always` on stay."""
        for block in self.blocks:
            matters = block.slack * block.price > 2 * self.centrality
            kept = (block.slack < beyond) | (block.lines >= always) | matters
            if not kept.all():
                block.keep(kept)

    def reprice(self, cost: Array) -> None:
        """Go on with other costs."""
        for block, column in zip(self.blocks, cost.T, strict=True):
            block.cost[: self.n_rows] = column

    @property
    def columns(self) -> Array:
        """The columns, side by side."""
        return np.stack([block.x[: self.n_rows] for block in self.blocks], axis=1)

    @property
    def mus(self) -> Array:
        """The numbers μ of the columns, side by side."""
        return np.stack([block.x[self.n_rows :] for block in self.blocks], axis=1)

    def prices(self, n_lines: int) -> Array:
        """Return the prices of all lines, per line and column."""
        prices = np.zeros((n_lines, self.n_columns))
        for column, block in enumerate(self.blocks):
            prices[block.lines, column] = block.price * block.scale
        return prices

    def least(self) -> float:
        """Return about what no columns with these lines can cost less than.

        It is the sum of the row prices, less what entries would gain at which they are too high:
        prices that are not settled yet can promise anything.
        """
        n = self.n_rows
        gains, loose = np.zeros(n), 0.0
        for block in self.blocks:
            off = self._off_cost(block)
            gains = np.maximum(gains, off[:n])
            loose += float(np.maximum(off[n:], 0.0) @ block.x[n:])
        return float(self.row_prices.sum() - gains.sum()) - loose

    def step(self) -> tuple[float, float]:
        """Go one step, and return how much of the way it went, for the columns and their prices."""
        n, blocks = self.n_rows, self.blocks
        systems = _shared(self._system, blocks)
        rest = 1 - np.sum([block.x[:n] for block in blocks], axis=0)
        solve = _solver(np.sum([system.inverse[:n, :n] for system in systems], axis=0))
        centrality = self._mean_product()
        nothing = [_Products(np.zeros(len(b.x)), np.zeros(len(b.slack))) for b in blocks]
        row_prices, ways = self._directions(systems, rest, solve, nothing)
        reached = self._mean_product(ways, self._limits(ways))
        target = centrality * max(_LEAST_TARGET, (reached / centrality) ** 3)
        wanted = [_Products(target - w.x * w.z, target - w.slack * w.price) for w in ways]
        row_prices, ways = self._directions(systems, rest, solve, wanted)
        limits = self._limits(ways)
        for _ in range(_CORRECTORS):
            better = self._centred(wanted, ways, limits, target)
            again = self._directions(systems, rest, solve, better)
            further = self._limits(again[1])
            if min(further) < 1.1 * min(limits):
                break
            (row_prices, ways), wanted, limits = again, better, further
        primal, dual = (_BACK * limit for limit in limits)
        self.row_prices += dual * row_prices
        for block, way in zip(blocks, ways, strict=True):
            block.x = block.x + primal * way.x
            block.slack = block.slack + primal * way.slack
            block.price = block.price + dual * way.price
            block.z = block.z + dual * way.z
        self.centrality = self._mean_product()
        if not math.isfinite(self.centrality):
            raise SolverError("the interior point method lost its way")
        return primal, dual

    def _centred(
        self,
        wanted: list[_Products],
        ways: list[_Direction],
        limits: tuple[float, float],
        target: float,
    ) -> list[_Products]:
        """Return products to ask for so that a longer step keeps them within reach of a target."""
        primal, dual = (min(1.0, limit + _FURTHER) for limit in limits)
        better = []
        for block, way, asked in zip(self.blocks, ways, wanted, strict=True):
            x = (block.x + primal * way.x) * (block.z + dual * way.z)
            slack = (block.slack + primal * way.slack) * (block.price + dual * way.price)
            moved = (
                np.maximum(
                    np.clip(found, target / _SPREAD, target * _SPREAD) - found, -_SPREAD * target
                )
                for found in (x, slack)
            )
            better.append(_Products(asked.x + next(moved), asked.slack + next(moved)))
        return better

    def _off_cost(self, block: Block) -> Array:
        """Return by how much the reduced costs of a block are not those of its prices."""
        off: Array = block.z - block.cost - block.price @ block.h
        off[: self.n_rows] += self.row_prices
        return off

    def _system(self, block: Block) -> _System:
        try:
            inverse = block.inverse()
        except np.linalg.LinAlgError as error:
            raise SolverError(f"a column's matrix is singular ({error})") from None
        return _System(inverse, -block.h @ block.x - block.slack, self._off_cost(block))

    def _directions(
        self,
        systems: list[_System],
        rest: Array,
        solve: Callable[[Array], Array],
        wanted: list[_Products],
    ) -> tuple[Array, list[_Direction]]:
        """Return where the prices of the rows and the blocks should go."""
        n = self.n_rows
        right = rest.copy()
        pulls, gains = [], []
        for block, system, asked in zip(self.blocks, systems, wanted, strict=True):
            gain = (asked.slack - block.price * system.off_lines) / block.slack - block.price
            pull = system.off_cost - gain @ block.h + asked.x / block.x - block.z
            right -= (system.inverse @ pull)[:n]
            pulls.append(pull)
            gains.append(gain)
        row_prices = solve(right)
        ways = []
        for block, system, asked, pull, gain in zip(
            self.blocks, systems, wanted, pulls, gains, strict=True
        ):
            pull[:n] += row_prices
            x = system.inverse @ pull
            along = block.h @ x
            ways.append(
                _Direction(
                    x,
                    system.off_lines - along,
                    gain + block.price / block.slack * along,
                    (asked.x - block.z * x) / block.x - block.z,
                )
            )
        return row_prices, ways

    def _limits(self, ways: list[_Direction]) -> tuple[float, float]:
        """Return how far each way can be gone before something is negative, at most 1."""
        primal = dual = 1.0
        for block, way in zip(self.blocks, ways, strict=True):
            primal = max(primal, (-way.x / block.x).max())
            dual = max(dual, (-way.z / block.z).max())
            if len(block.slack):
                primal = max(primal, (-way.slack / block.slack).max())
                dual = max(dual, (-way.price / block.price).max())
        return 1 / float(primal), 1 / float(dual)

    def _mean_product(
        self, ways: list[_Direction] | None = None, limits: tuple[float, float] = (0.0, 0.0)
    ) -> float:
        """Return the mean product of slack and price, here or further on some ways."""
        total, count = 0.0, 0
        for number, block in enumerate(self.blocks):
            x, z, slack, price = block.x, block.z, block.slack, block.price
            if ways is not None:
                way, (primal, dual) = ways[number], limits
                x, slack = x + primal * way.x, slack + primal * way.slack
                z, price = z + dual * way.z, price + dual * way.price
            total += float(x @ z + slack @ price)
            count += len(x) + len(slack)
        return total / count


def _half_of_inverse(matrix: Array) -> Array:
    """Return L⁻¹ for a positive definite matrix L Lᵀ, whose inverse is L⁻ᵀ L⁻¹."""
    if not len(matrix):
        return matrix
    half, failed = dtrtri(np.linalg.cholesky(matrix), lower=1)
    if failed:
        raise np.linalg.LinAlgError("a matrix is singular")
    return np.asarray(half)


def _solver(matrix: Array) -> Callable[[Array], Array]:
    """Return what solves for a positive definite matrix, made a little more so if need be."""
    more = 0.0
    while more < 1:
        try:
            half = _half_of_inverse(matrix + more * np.diag(np.diag(matrix)))
            return lambda right: np.asarray(half.T @ (half @ right))
        except np.linalg.LinAlgError:
            more = max(10 * more, _REGULAR)
    raise SolverError("the sums of the rows cannot be kept")


def _shared(work: Callable[[Block], _System], blocks: list[Block]) -> list[_System]:
    """Return the work on all blocks, shared by the cores."""
    with ThreadPoolExecutor(worst_case.CORES) as pool:
        return list(pool.map(work, blocks))
