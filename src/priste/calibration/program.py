"""The linear program behind `OptimalRemap`, solved by HiGHS with few of its variables at a time.

Minimise the sum of cost · Q over matrices Q with non-negative entries and rows that sum to one,
where for each column j and each of its cuts h, h · Q[:, j] ≤ 0. Where rows and columns are groups
of cells, row j may also give to column j in a way of its own: a variable of its own cost, with the
last entry of each cut of that column. Hardly any of the variables matter:
columns are added where their reduced cost says that they would help (pricing), and cuts where
a solution violates them. After `solve` the solution is optimal for all variables and
for the cuts there are.
"""

import math

import highspy
import numpy as np
from numpy.typing import NDArray

from priste.checks import Array

_TOLERANCE = 1e-9
_DUAL, _PRIMAL = 1, 4  # the simplex strategies of HiGHS
_NEAR_ENOUGH = 1e-7  # relative: what more variables could gain
_COLUMNS_PER_ROW = 20  # added at a time
_DUST = 1e-12  # entries below this are ignored by the solver
_INFINITE = highspy.kHighsInf

Index = NDArray[np.intp]


class SolverError(RuntimeError):
    """The solver found no optimum."""


class Program:
    """The program with the variables and cuts it has so far.

    After `solve`, `objective` is what was reached, `bound` what nothing can go below, `prices` what
    each cut costs and `own` what rows gave in their own way, if `own_cost` says what that costs.
    The solution is optimal up to the share `near_enough`.
    """

    def __init__(
        self,
        cost: Array,
        time_limit: float,
        own_cost: Array | None = None,
        near_enough: float = _NEAR_ENOUGH,
    ) -> None:
        self.cost, self._near_enough = cost, near_enough
        self.n_rows: int = cost.shape[0]
        self.n_columns: int = cost.shape[1]
        self.objective, self.bound = math.inf, 0.0
        self._largest = float(np.abs(cost).max())
        self._known = np.zeros(cost.shape, dtype=bool)
        self._row, self._column = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        self._entry = np.empty(0, dtype=np.intp)  # of a cut, for each variable
        self._n_own = 0 if own_cost is None else len(own_cost)
        self.own, self.prices = np.zeros(self._n_own), np.empty(0)
        self._cuts = np.empty((0, self.n_rows + (own_cost is not None)))
        self._column_of_cut = np.empty(0, dtype=np.intp)
        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]
        options: dict[str, bool | int | float | str] = {
            "output_flag": False,
            "threads": 1,
            "time_limit": time_limit,
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": _TOLERANCE,
            "small_matrix_value": _DUST,
        }
        for option, value in options.items():
            self._highs.setOptionValue(option, value)
        ones, none = np.ones(self.n_rows), np.empty(0, dtype=np.int32)
        starts = np.zeros(self.n_rows, dtype=np.int32)
        self._highs.addRows(self.n_rows, ones, ones, 0, starts, none, np.empty(0))
        if own_cost is not None:
            mine = np.arange(self._n_own)
            self._add(mine, mine, np.full(self._n_own, self.n_rows), own_cost)

    @property
    def n_cuts(self) -> int:
        """How many cuts there are, of all columns together."""
        return len(self._cuts)

    def allow(self, wanted: NDArray[np.bool_]) -> None:
        """Add the variables that are marked and not there yet."""
        column, row = np.nonzero((wanted & ~self._known).T)  # those of one column stand together
        if len(row):
            self._add(row, column, row, self.cost[row, column])
            self._known[row, column] = True

    def _add(self, row: Index, column: Index, entry: Index, cost: Array) -> None:
        """Add variables, each with its row, its column, and its entry in the column's cuts."""
        n = len(row)
        # each variable stands in the line of its row, and in those of the cuts of its column
        cuts, lengths = self._by_column(self._column_of_cut, column)
        starts = np.cumsum(lengths + 1) - (lengths + 1)
        index = np.empty(n + len(cuts), dtype=np.int32)
        value = np.empty(n + len(cuts))
        is_row = np.zeros(n + len(cuts), dtype=bool)
        is_row[starts] = True
        index[is_row], value[is_row] = row, 1.0
        index[~is_row] = self.n_rows + cuts
        value[~is_row] = self._cuts[cuts, np.repeat(entry, lengths)]
        self._highs.addCols(
            n,
            cost,
            np.zeros(n),
            np.full(n, _INFINITE),
            len(index),
            starts.astype(np.int32),
            index,
            value,
        )
        self._row, self._column = np.append(self._row, row), np.append(self._column, column)
        self._entry = np.append(self._entry, entry)

    def cut(self, cuts: list[tuple[int, Array]]) -> None:
        """Add cuts, each for a column."""
        if not cuts:
            return
        columns = np.array([j for j, _ in cuts], dtype=np.intp)
        added = _without_dust(np.array([cut for _, cut in cuts]))
        variables, lengths = self._by_column(self._column, columns)
        n = len(cuts)
        self._highs.addRows(
            n,
            np.full(n, -_INFINITE),
            np.zeros(n),
            len(variables),
            (np.cumsum(lengths) - lengths).astype(np.int32),
            variables.astype(np.int32),
            added[np.repeat(np.arange(n), lengths), self._entry[variables]],
        )
        self._cuts = np.concatenate([self._cuts, added])
        self._column_of_cut = np.append(self._column_of_cut, columns)

    def charge(self, lines: Array, price: float) -> None:
        """Charge every column a price for what each of some lines gives above zero.

        That is a cut which an amount eases that costs its price. Amounts belong to no row, and to
        a column after the last.
        """
        first, n = self.n_rows + self.n_cuts, len(lines) * self.n_columns
        self.cut([(j, line) for j in range(self.n_columns) for line in lines])
        starts = np.arange(n, dtype=np.int32)
        self._highs.addCols(
            n,
            np.full(n, price),
            np.zeros(n),
            np.full(n, _INFINITE),
            n,
            starts,
            first + starts,
            -np.ones(n),
        )
        nowhere = np.zeros(n, dtype=np.intp)
        self._row, self._entry = np.append(self._row, nowhere), np.append(self._entry, nowhere)
        self._column = np.append(self._column, nowhere + self.n_columns)

    def _by_column(self, column_of: Index, columns: Index) -> tuple[Index, Index]:
        """Return the numbers of all that stand in each of some columns, and how many these are."""
        order = np.argsort(column_of, kind="stable")
        ends = np.searchsorted(column_of[order], np.arange(self.n_columns + 1))
        first, lengths = ends[columns], ends[columns + 1] - ends[columns]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return order[np.repeat(first, lengths) + within], lengths

    def _run(self, strategy: int) -> None:
        """Run the solver; if that fails, from scratch, then the other way, and then presolved."""
        other = _PRIMAL + _DUAL - strategy
        for attempt, presolve in (
            (strategy, "off"),  # it would cost the warm start
            (strategy, "off"),
            (other, "off"),
            (strategy, "on"),
        ):
            self._highs.setOptionValue("simplex_strategy", attempt)
            self._highs.setOptionValue("presolve", presolve)
            self._highs.run()
            status = self._highs.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                return
            if status in (
                highspy.HighsModelStatus.kTimeLimit,
                highspy.HighsModelStatus.kInfeasible,
            ):
                break
            self._highs.clearSolver()
        raise SolverError(self._highs.modelStatusToString(status))

    def solve(self) -> Array:
        """Return the optimal Q over all variables, under the cuts there are."""
        per_row = min(_COLUMNS_PER_ROW, self.n_columns)
        strategy = _DUAL  # cuts leave the last optimum dual feasible, new variables primal feasible
        while True:
            self._run(strategy)
            strategy = _PRIMAL
            solution = self._highs.getSolution()
            duals = np.array(solution.row_dual)
            reduced = self.cost - duals[: self.n_rows, None]
            for number in np.flatnonzero(duals[self.n_rows :]).tolist():
                column = self._column_of_cut[number]
                cut = self._cuts[number, : self.n_rows]
                reduced[:, column] -= duals[self.n_rows + number] * cut
            reduced[self._known] = 0.0
            self.objective = float(self._highs.getInfo().objective_function_value)
            # rows sum to one, so no solution can gain more than the best of each row
            best_of_row = reduced.min(axis=1)
            possible_gain = -float(np.minimum(best_of_row, 0.0).sum())
            self.bound = self.objective - possible_gain
            if not math.isfinite(self.bound):
                raise SolverError("costs or prices are not finite")
            if possible_gain <= self._near_enough * self.objective + _TOLERANCE * self._largest:
                break
            gaining = np.flatnonzero(best_of_row < 0)
            best = np.argpartition(reduced[gaining], per_row - 1, axis=1)[:, :per_row]
            wanted = np.zeros_like(self._known)
            wanted[gaining[:, None], best] = True
            self.allow(wanted & (reduced < 0))
        self.prices = np.maximum(-duals[self.n_rows :], 0.0)
        values, mine = np.maximum(solution.col_value, 0.0), self._n_own
        table = np.zeros((self.n_rows, self.n_columns + 1))  # the last is not one of the columns
        table[self._row[mine:], self._column[mine:]] = values[mine:]
        remap = table[:, :-1]
        totals = remap.sum(axis=1)
        if mine:
            totals += values[:mine]
            self.own = values[:mine] / totals
        return np.asarray(remap / totals[:, None])


def _without_dust(cuts: Array) -> Array:
    """Return cuts without entries too small for the solver, on the safe side."""
    return np.where(np.abs(cuts) < _DUST, np.where(cuts > 0, _DUST, 0.0), cuts)
