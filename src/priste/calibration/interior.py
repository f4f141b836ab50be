"""A linear program of columns that share their rows, solved from the inside.

Minimise the sum of cost · Q over matrices Q with non-negative entries and rows that sum to one,
where each column together with numbers μ of its own keeps its lines ``H (Q[:, o], μ) ≤ 0``. There
are far more lines than matter: a column is given those that it comes to break. An interior point
method (Mehrotra's predictor and corrector) suits that better than a simplex method: its points lie
well inside, so the lines that they break are those that matter, and adding some disturbs it little.

Each column is a block of its own (`priste.calibration.blocks`), and only the sums of the rows join
them: a step takes one matrix per block, and one of as many rows as Q has. What all blocks have in
the same number (their entries) is kept in matrices with a row for each block, and their lines one
after the other, block by block.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from priste.calibration.blocks import Blocks, Solve
from priste.calibration.own_blocks import OwnBlocks
from priste.calibration.program import SolverError
from priste.checks import Array

Index = NDArray[np.intp]

_BACK = 0.95  # how much of the way to the nearest wall a step goes
_LEAST_SLACK = 1e-4  # that a line that is broken starts with at least, relative to its size
_LEAST_TARGET = 0.1  # of the products of slack and price, for the next step
_CORRECTORS = 2  # attempts to make a step longer
_FURTHER = 0.3  # how much longer
_SPREAD = 10.0  # products further from their target than this, as a factor, are brought back
_LOOSE = 0.5  # of what a line is broken by: the slack that it gets
_LOOSEST = 30.0  # as a factor: how far from the others its product with the price may be
_OFF_CENTRE = 0.3  # of all products: what that may add to them
_REGULAR = 1e-13  # relative, added to a matrix that has lost its positive definiteness


class _Lines(NamedTuple):
    """Lines that columns have been given: whose and which, scaled so that slacks are relative."""

    column: Index
    line: Index
    scale: Array
    h: Array
    slack: Array
    price: Array


class _Products(NamedTuple):
    """What the products of entries with reduced costs, and of slacks with prices, should become."""

    x: Array
    slack: Array


class _System(NamedTuple):
    """A point, ready to be solved for, and by how much nothing fits yet.

    `solve_blocks` solves for the blocks, and `solve_rows` for the prices of the rows.
    """

    solve_blocks: Solve
    solve_rows: Callable[[Array], Array]
    off_rows: Array
    off_lines: Array
    off_cost: Array


class _Direction(NamedTuple):
    """Where all goes: the prices of the rows, entries, slacks, prices and reduced costs."""

    row_prices: Array
    x: Array
    slack: Array
    price: Array
    z: Array


class Interior:
    """The program with the lines that its columns have so far.

    `rows_of` returns lines as rows over a column's entries and its numbers μ, or as `blocks` has
    them. The program begins with equal entries, and with `mus` as the numbers that go with a column
    of ones. Lines that are broken start with a `slack` that is at most this, relative to their
    sizes.
    """

    def __init__(
        self,
        cost: Array,
        mus: Array,
        rows_of: Callable[[Index], Array],
        slack: float = 0.02,
        blocks: Blocks | OwnBlocks | None = None,
    ) -> None:
        self.n_rows, self.n_columns = cost.shape
        self._rows_of, self._slack = rows_of, slack
        share = 1 / self.n_columns
        self.row_prices = np.zeros(self.n_rows)
        self.centrality = share * float(cost.mean()) / 2
        self._ones = np.append(np.ones(self.n_rows), mus)
        self.x = np.tile(share * self._ones, (self.n_columns, 1))
        self.z = self.centrality / self.x
        self.cost = np.zeros(self.x.shape)
        self.reprice(cost)
        self._blocks = blocks or Blocks(self.n_columns, len(self._ones), self.n_rows)
        none, nothing = np.empty(0, dtype=np.intp), np.empty(0)
        no_lines = np.empty((0, self._blocks.width))
        self.given = _Lines(none, none, nothing, no_lines, nothing, nothing)

    def add(self, columns: Index, lines: Index) -> None:
        """Give columns lines, one each.

        One that its column breaks starts with the slack that a column of ones has, if that is less.
        """
        order = np.argsort(columns, kind="stable")
        columns, lines = columns[order], lines[order]
        rows = self._rows_of(lines)
        of_ones, all_of_ones = self._blocks.values(rows, np.zeros_like(columns), self._ones[None])
        room = np.clip(-of_ones / all_of_ones, _LEAST_SLACK, self._slack)
        scale = 1 / self._blocks.values(rows, columns, self.x)[1]
        rows = self._blocks.scaled(rows, scale)
        slack = np.maximum(-self._blocks.values(rows, columns, self.x)[0], room)
        more = _Lines(columns, lines, scale, rows, slack, self.centrality / slack)
        places = np.searchsorted(self.given.column, columns, side="right")
        pairs = zip(self.given, more, strict=True)
        self._give(_Lines._make(np.insert(old, places, new, axis=0) for old, new in pairs))

    def add_to_all(self, lines: Index) -> None:
        """Give every column the same lines."""
        self.add(np.repeat(np.arange(self.n_columns), len(lines)), np.tile(lines, self.n_columns))

    def drop(self, beyond: float, always: int) -> None:
        """Drop lines that are far from being broken; those from number `always` on stay."""
        given = self.given
        matters = given.slack * given.price > 2 * self.centrality
        kept = (given.slack < beyond) | (given.line >= always) | matters
        if not kept.all():
            self._give(_Lines._make(part[kept] for part in given))

    def _give(self, lines: _Lines) -> None:
        """Go on with other lines."""
        self.given = lines
        self._blocks.give(lines.column, lines.h)

    def reprice(self, cost: Array) -> None:
        """Go on with other costs."""
        self.cost[:, : self.n_rows] = cost.T

    @property
    def pool(self) -> ThreadPoolExecutor:
        """Who shares the work."""
        return self._blocks.pool

    @property
    def columns(self) -> Array:
        """The columns, side by side."""
        return self.x[:, : self.n_rows].T

    @property
    def mus(self) -> Array:
        """The numbers μ of the columns, side by side."""
        return self.x[:, self.n_rows :].T

    def prices(self, n_lines: int) -> Array:
        """Return the prices of all lines, per line and column."""
        prices, given = np.zeros((n_lines, self.n_columns)), self.given
        prices[given.line, given.column] = given.price * given.scale
        return prices

    def least(self) -> float:
        """Return about what no columns with these lines can cost less than.

        It is the sum of the row prices, less what entries would gain at which they are too high:
        prices that are not settled yet can promise anything.
        """
        n = self.n_rows
        off = np.maximum(self._off_cost(), 0.0)
        loose = float((off[:, n:] * self.x[:, n:]).sum())
        return float(self.row_prices.sum() - off[:, :n].max(axis=0).sum()) - loose

    @property
    def gap(self) -> float:
        """What the columns would cost less at the optimum, if prices and columns fitted by now."""
        return float(self.centrality * (self.x.size + len(self.given.slack)))

    def step(self) -> tuple[float, float]:
        """Go one step, and return how much of the way it went, for the columns and their prices."""
        along = self._blocks.along(self.x)
        self._loosen(along)
        directions = partial(self._direction, self._system(along))
        centrality = self._mean_product()
        way = directions(_Products(np.zeros(self.x.shape), np.zeros(len(self.given.slack))))
        reached = self._mean_product(way, self._limits(way))
        target = centrality * max(_LEAST_TARGET, (reached / centrality) ** 3)
        wanted = _Products(target - way.x * way.z, target - way.slack * way.price)
        way = directions(wanted)
        limits = self._limits(way)
        for _ in range(_CORRECTORS):
            better = self._centred(wanted, way, limits, target)
            again = directions(better)
            further = self._limits(again)
            if min(further) < 1.1 * min(limits):
                break
            way, wanted, limits = again, better, further
        primal, dual = (_BACK * limit for limit in limits)
        self.row_prices += dual * way.row_prices
        self.x += primal * way.x
        self.z += dual * way.z
        self.given = self.given._replace(
            slack=self.given.slack + primal * way.slack, price=self.given.price + dual * way.price
        )
        self.centrality = self._mean_product()
        if not math.isfinite(self.centrality):
            raise SolverError("the interior point method lost its way")
        return primal, dual

    def _loosen(self, along: Array) -> None:
        """Give lines that are broken slack to match, unless these are many.

        Broken by much more than its slack, a single line would stop every step: its slack goes down
        at each, and its entries have no time to follow.
        """
        given = self.given
        slack = np.minimum(_LOOSE * along, _LOOSEST * self.centrality / given.price)
        more = np.maximum(slack - given.slack, 0.0)
        if more @ given.price < _OFF_CENTRE * self.gap:
            self.given = given._replace(slack=given.slack + more)

    def _centred(
        self, wanted: _Products, way: _Direction, limits: tuple[float, float], target: float
    ) -> _Products:
        """Return products to ask for so that a longer step keeps them within reach of a target."""
        further = min(1.0, limits[0] + _FURTHER), min(1.0, limits[1] + _FURTHER)
        return _Products(
            *(
                asked
                + np.maximum(
                    np.clip(found, target / _SPREAD, target * _SPREAD) - found, -_SPREAD * target
                )
                for asked, found in zip(wanted, self._products(way, further), strict=True)
            )
        )

    def _off_cost(self) -> Array:
        """Return by how much the reduced costs are not those of the prices."""
        off: Array = self.z - self.cost - self._blocks.of_lines(self.given.price)
        off[:, : self.n_rows] += self.row_prices
        return off

    def _system(self, along: Array) -> _System:
        """Return the point as it is, with lines at its entries, ready to be solved for."""
        given = self.given
        try:
            solve, sums = self._blocks.inverse(self.x / self.z, given.price / given.slack)
        except np.linalg.LinAlgError as error:
            raise SolverError(f"a column's matrix is singular ({error})") from None
        return _System(
            solve,
            _solver(sums),
            1 - self.x[:, : self.n_rows].sum(axis=0),
            -along - given.slack,
            self._off_cost(),
        )

    def _direction(self, system: _System, wanted: _Products) -> _Direction:
        """Return where the prices of the rows and the blocks should go."""
        n, given = self.n_rows, self.given
        gain = (wanted.slack - given.price * system.off_lines) / given.slack - given.price
        held = wanted.x / self.x - self.z
        pull = system.off_cost + held
        alone, _ = system.solve_blocks(pull, gain)
        row_prices = system.solve_rows(system.off_rows - alone[:, :n].sum(axis=0))
        pull[:, :n] += row_prices
        x, price = system.solve_blocks(pull, gain)
        # products are exact to the last digit where they are small, unlike sums
        slack = (wanted.slack - given.slack * price) / given.price - given.slack
        z = held - self.z / self.x * x
        return _Direction(row_prices, x, slack, price, z)

    def _limits(self, way: _Direction) -> tuple[float, float]:
        """Return how far a way can be gone before something is negative, at most 1."""
        given = self.given
        primal = (-way.x / self.x).max(), (-way.slack / given.slack).max(initial=1.0)
        dual = (-way.z / self.z).max(), (-way.price / given.price).max(initial=1.0)
        return 1 / float(max(primal)), 1 / float(max(dual))

    def _products(self, way: _Direction, limits: tuple[float, float]) -> _Products:
        """Return the products of slack and price further on a way."""
        (primal, dual), given = limits, self.given
        return _Products(
            (self.x + primal * way.x) * (self.z + dual * way.z),
            (given.slack + primal * way.slack) * (given.price + dual * way.price),
        )

    def _mean_product(
        self, way: _Direction | None = None, limits: tuple[float, float] = (0.0, 0.0)
    ) -> float:
        """Return the mean product of slack and price, here or further on a way."""
        here = _Products(self.x * self.z, self.given.slack * self.given.price)
        x, slack = here if way is None else self._products(way, limits)
        return float(x.sum() + slack.sum()) / (x.size + slack.size)


def _solver(matrix: Array) -> Callable[[Array], Array]:
    """Return what solves for a positive definite matrix, made a little more so if need be."""
    more = 0.0
    while more < 1:
        try:
            factor = cho_factor(matrix + more * np.diag(np.diag(matrix)), check_finite=False)
            return lambda right: np.asarray(cho_solve(factor, right, check_finite=False))
        except np.linalg.LinAlgError:
            more = max(10 * more, _REGULAR)
    raise SolverError("the sums of the rows cannot be kept")
