"""The program solved from the inside, beside the same program with all its lines at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from priste.calibration.interior import Interior
from priste.calibration.program import SolverError
from priste.checks import Array


def random_program(seed: int, n_mus: int) -> tuple[Array, Array]:
    """Costs, and lines that a column of ones with μ = 1 keeps with some room."""
    random = np.random.default_rng(seed)
    n_rows, n_columns, n_lines = random.integers(2, 7, 3)
    rows = random.normal(size=(n_lines, n_rows + n_mus))
    rows[:, 0] -= rows.sum(axis=1) + random.uniform(0.05, 1.0, n_lines)
    return random.random((n_rows, n_columns)), rows


def best_at_once(cost: Array, rows: Array) -> float:
    """The optimum by a solver that is given everything."""
    n_rows, n_columns = cost.shape
    size = rows.shape[1]
    padded = np.vstack([cost, np.zeros((size - n_rows, n_columns))])
    sums = np.hstack([np.eye(n_rows, size)] * n_columns)
    result = linprog(
        padded.T.ravel(),
        A_ub=np.kron(np.eye(n_columns), rows),
        b_ub=np.zeros(n_columns * len(rows)),
        A_eq=sums,
        b_eq=np.ones(n_rows),
    )
    assert result.status == 0, result.message
    return float(result.fun)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2), st.booleans())
def test_the_optimum_is_reached_from_inside(seed: int, n_mus: int, late: bool) -> None:
    cost, rows = random_program(seed, n_mus)
    program = Interior(cost, np.ones(n_mus), lambda lines: rows[lines])
    every = np.arange(len(rows))
    for number in range(60):
        if program.centrality < 1e-6:
            break
        if number in ((1, 4) if late else (0,)):  # half of the lines a little later
            program.add_to_all(every[number == 4 :: 2] if late else every)
        program.step()
    remap = program.columns
    best = best_at_once(cost, rows)
    assert (remap > 0).all()
    np.testing.assert_allclose(remap.sum(axis=1), 1.0, atol=1e-4)
    assert (rows @ np.vstack([remap, program.mus]) <= 1e-4).all()
    assert (cost * remap).sum() == pytest.approx(best, abs=1e-4)
    assert program.row_prices.sum() == pytest.approx(best, abs=1e-4)
    prices = program.prices(len(rows))
    reduced = cost + rows[:, : len(cost)].T @ prices - program.row_prices[:, None]
    assert (prices >= 0).all()
    assert (reduced >= -1e-3).all()


def with_all_lines(seed: int) -> tuple[Interior, Array, float]:
    """A program that has all its lines, its costs and its optimum."""
    cost, rows = random_program(seed, 0)
    program = Interior(cost, np.empty(0), lambda lines: rows[lines])
    program.add_to_all(np.arange(len(rows)))
    return program, cost, best_at_once(cost, rows)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_what_is_least_is_so_at_every_step(seed: int) -> None:
    program, _, best = with_all_lines(seed)
    for _ in range(7):
        program.step()
        assert program.least() <= best + 1e-9
    assert program.least() >= best - 0.01


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_the_gap_is_what_is_left_to_gain_once_prices_fit(seed: int) -> None:
    program, cost, best = with_all_lines(seed)
    for _ in range(12):
        program.step()
        if program.gap < 1e-6:  # there is nothing left to gain
            break
    reached = float((cost * program.columns).sum())
    assert reached - best == pytest.approx(program.gap, abs=1e-3 + program.gap)
    off = np.abs(1 - program.columns.sum(axis=1)).sum()  # how far sums of rows are off yet
    assert reached - program.row_prices.sum() == pytest.approx(program.gap, abs=1e-6 + off)


def test_a_line_broken_by_more_than_its_slack_gets_slack_to_match_unless_these_are_many() -> None:
    rows = np.full((3, 10), -1.0)
    program = Interior(np.ones((10, 10)), np.empty(0), lambda lines: rows[lines])
    program.add_to_all(np.arange(3))
    slack = np.full(30, 1e-3)
    central = program.given._replace(slack=slack, price=program.centrality / slack)

    def loosened(broken: int, by: float) -> list[float]:
        """The slacks of all lines if so many are broken."""
        program.given = central
        program._loosen(np.where(np.arange(30) < broken, by, -by))
        return list(program.given.slack)

    assert loosened(1, by=0.02) == pytest.approx([0.01] + [1e-3] * 29)
    assert loosened(1, by=1.0) == pytest.approx([0.03] + [1e-3] * 29)  # not further from the centre
    assert loosened(30, by=0.02) == [1e-3] * 30


def test_lines_may_be_given_in_any_order() -> None:
    cost, rows = random_program(7, 0)
    n_columns = cost.shape[1]
    columns = np.repeat(np.arange(n_columns), len(rows))
    lines = np.tile(np.arange(len(rows)), n_columns)
    in_turn, mixed = (Interior(cost, np.empty(0), lambda lines: rows[lines]) for _ in range(2))
    in_turn.add(columns, lines)
    order = np.random.default_rng(7).permutation(len(columns))
    for part in np.array_split(order, 3):
        mixed.add(columns[part], lines[part])
    assert (np.diff(mixed.given.column) >= 0).all()
    for program in (in_turn, mixed):
        for _ in range(8):
            program.step()
    np.testing.assert_allclose(mixed.columns, in_turn.columns, atol=1e-4)


def test_lines_with_much_room_are_dropped_and_others_stay() -> None:
    rows = np.array([[-1.0, 0.999], [-1.0, 0.1], [-1.0, 0.0]])
    program = Interior(np.array([[0.0], [1.0]]), np.empty(0), lambda lines: rows[lines])
    program.add_to_all(np.arange(3))
    program.drop(0.2, always=2)
    assert program.given.line.tolist() == [0, 2]
    assert len(program.given.h) == len(program.given.slack) == 2


def test_other_costs_lead_elsewhere() -> None:
    random = np.random.default_rng(0)
    first, then = random.random((4, 3)), random.random((4, 3))
    program = Interior(first, np.empty(0), lambda _: np.empty((0, 4)))
    for cost in (first, then):
        program.reprice(cost)
        for _ in range(12):
            program.step()
        assert (cost * program.columns).sum() == pytest.approx(cost.min(axis=1).sum(), abs=1e-4)


def test_a_program_that_has_lost_its_way_says_so() -> None:
    program = Interior(np.ones((2, 2)), np.empty(0), lambda _: np.full((1, 2), np.nan))
    program.add_to_all(np.zeros(1, dtype=np.intp))
    with pytest.raises(SolverError):
        program.step()
