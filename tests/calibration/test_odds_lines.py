"""The lines of a promise to a set of beliefs, beside the condition on all pairs of vertices."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from priste import Grid, KnownPrior, Mobility, NoNoise, Protect, Protector, presence
from priste.calibration import odds_lines
from priste.calibration.bounds import Bound
from priste.calibration.odds_lines import OddsLines, Side
from priste.checks import Array
from tests.calibration.test_own_blocks import written_out
from tests.calibration.test_own_entries import random_vertices
from tests.oracles import condition_over_all_pairs

SEEDS = st.integers(0, 2**32 - 1)


def random_bound(seed: int, *, both: bool = True) -> Bound:
    """A promise to the hull of a few beliefs, for some of which the event is sure or impossible."""
    random = np.random.default_rng(seed)
    n_vertices, n_rows = random.integers(1, 6), random.integers(1, 6)
    spread = random.choice([0.3, 3.0])
    a = 1 / (1 + np.exp(-random.normal(-1, spread, n_vertices)))
    kinds = random.random(n_vertices)
    a = np.where(kinds < 0.1, 0.0, np.where(kinds > 0.9, 1.0, a))
    true, false = (random.random((n_vertices, n_rows)) ** 2 for _ in range(2))
    true *= a[:, None] / true.sum(axis=1, keepdims=True)
    false *= (1 - a)[:, None] / false.sum(axis=1, keepdims=True)
    seen = random.uniform(0.5, 1.0, (n_vertices, 1))  # how likely releases so far are
    true, false = true * seen, false * seen
    return Bound(a, 1 - a, true, false, math.exp(random.uniform(0.05, 1.5)), both)


def random_column(seed: int, n_rows: int) -> Array:
    """A column that is more or less flat."""
    random = np.random.default_rng(seed + 1)
    return np.asarray(1 + random.uniform(0, 1) * random.uniform(-1, 1, n_rows) + 1e-3)


def room(lines: OddsLines, column: Array) -> tuple[Array, Array]:
    """The least and the largest μ that the lines leave to a column."""
    rows = lines.rows(np.arange(lines.n_lines))
    rest, slopes = rows[:, : lines.n_rows] @ column, rows[:, lines.n_rows :]
    least, most = np.zeros(lines.n_mus), np.full(lines.n_mus, np.inf)
    for line, mu in zip(*np.nonzero(slopes), strict=True):
        edge = -rest[line] / slopes[line, mu]
        if slopes[line, mu] < 0:
            least[mu] = max(least[mu], edge)
        else:
            most[mu] = min(most[mu], edge)
    alone = rest[~slopes.any(axis=1)]
    if (alone > 0).any():
        most[:] = -np.inf
    return least, most


def keeps_promise(bound: Bound, column: Array, factor: float) -> bool:
    b, d = bound.true @ column, bound.false @ column
    rises = condition_over_all_pairs(bound.a, bound.not_a, b, d, factor)
    falls = condition_over_all_pairs(bound.not_a, bound.a, d, b, factor)
    return rises and (falls or not bound.both)


@settings(max_examples=300)
@given(SEEDS, st.booleans())
def test_a_column_that_keeps_all_lines_keeps_the_promise(seed: int, both: bool) -> None:
    bound = random_bound(seed, both=both)
    column, lines = random_column(seed, bound.true.shape[1]), OddsLines([bound])
    least, most = room(lines, column)
    if (least <= most).all():
        assert keeps_promise(bound, column, bound.factor * (1 + 1e-9))


@settings(max_examples=150)
@given(SEEDS)
def test_with_narrow_intervals_a_column_that_keeps_the_promise_keeps_all_lines(seed: int) -> None:
    bound = random_bound(seed)
    column = random_column(seed, bound.true.shape[1])
    lines = narrow(bound)
    least, most = room(lines, column)
    if keeps_promise(bound, column, bound.factor * math.exp(-0.05)):
        assert (least <= most * (1 + 1e-9)).all()
        best = np.where(np.isfinite(most), most, least)
        ends = np.cumsum([side.n_intervals for side in lines.sides])
        for mine in np.split(best, ends[:-1]):
            assert (np.diff(mine) <= 1e-9 * mine[:-1] + 1e-15).all()  # μ never has to rise


@settings(max_examples=100)
@given(SEEDS)
def test_the_excess_has_the_sign_of_the_line(seed: int) -> None:
    bounds = [random_bound(seed), random_bound(seed)]
    bounds[1] = replace(bounds[0], factor=1.1 * bounds[0].factor)
    lines, random = OddsLines(bounds), np.random.default_rng(seed)
    columns, mus = random.random((lines.n_rows, 3)), random.random((lines.n_mus, 3))
    values = lines.rows(np.arange(lines.n_lines)) @ np.vstack([columns, mus])
    excess = lines.excess(columns, mus).T
    assert excess.shape == values.shape == (len(lines.vertex), 3)
    assert (np.abs(excess) <= 1 + 1e-12).all()
    clear = np.abs(values) > 1e-12
    assert (np.sign(excess[clear]) == np.sign(values[clear])).all()
    empty = ~lines.rows(np.arange(lines.n_lines)).any(axis=1)
    assert (excess[empty] == -1).all()


def narrow(bound: Bound) -> OddsLines:
    """Lines that ask for hardly more than the promise does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(odds_lines, "_WIDTH", 0.05)
        patch.setattr(odds_lines, "_MOST", 400)
        return OddsLines([bound])


def best_remap(lines: OddsLines, cost: Array) -> tuple[float, Array]:
    """The least cost of a remap that keeps all lines, and the lines' prices, per column."""
    n_rows, n_columns = cost.shape
    rows = lines.rows(np.arange(lines.n_lines + len(lines.falls)))
    result = linprog(
        np.vstack([cost, np.zeros((lines.n_mus, n_columns))]).T.ravel(),
        A_ub=np.kron(np.eye(n_columns), rows),
        b_ub=np.zeros(n_columns * len(rows)),
        A_eq=np.hstack([np.eye(n_rows, rows.shape[1])] * n_columns),
        b_eq=np.ones(n_rows),
    )
    if result.status != 0:
        reject()  # lines without end may ask for too much
    return result.fun, -result.ineqlin.marginals.reshape(n_columns, -1).T


@settings(max_examples=60)
@given(SEEDS)
def test_any_prices_give_a_bound_and_those_of_the_best_remap_a_close_one(seed: int) -> None:
    bound = random_bound(seed)
    random = np.random.default_rng(seed)
    cost = random.random((bound.true.shape[1], int(random.integers(1, 4))))
    lines = narrow(bound)
    best, prices = best_remap(lines, cost)
    wild = random.random(prices.shape) ** random.choice([1, 8])
    for others in (
        wild,
        prices * wild,
        prices + 0.1 * wild,
        prices[random.permutation(len(prices))],
    ):
        assert (cost + lines.price(others)).min(axis=1).sum() <= best + 1e-9
    least = float((cost + lines.price(prices)).min(axis=1).sum())
    assert least <= best + 1e-9
    if (bound.a > 0).all() and (bound.a < 1).all():  # odds that have no end are an interval alone
        assert least >= best - 0.01 * cost.sum()


def test_prices_that_keep_a_number_from_rising_tie_beliefs() -> None:
    bound, random = random_bound(26), np.random.default_rng(26)
    cost, lines = random.random((bound.true.shape[1], int(random.integers(1, 4)))), narrow(bound)
    best, prices = best_remap(lines, cost)
    assert prices[lines.n_lines :].max() > 1e-3
    least = float((cost + lines.price(prices)).min(axis=1).sum())
    assert best - 0.001 * cost.sum() <= least <= best + 1e-9


@settings(max_examples=100)
@given(SEEDS)
def test_tied_beliefs_have_rising_odds_and_are_never_for_the_event_in_sum(seed: int) -> None:
    random = np.random.default_rng(seed)
    side = next(iter(OddsLines([random_bound(seed)]).sides), None)
    assume(side is not None)
    assert side is not None
    n_beliefs = int(random.integers(1, 6))
    shape = n_beliefs, len(side.a), 3
    beliefs = list(random.random(shape) ** 4 * (random.random(shape) < 0.7))
    kept, odds = odds_lines._joined(side, beliefs, random.random((n_beliefs, 3)) ** 3)
    for column in range(3):
        found = [(w[:, column], at[column]) for w, at in zip(kept, odds, strict=True)]
        used = [(w, at) for w, at in found if w.any()]
        assert all(first <= then for (_, first), (_, then) in pairwise(used))
        brackets = [at * (side.not_a @ w) - side.a @ w for w, at in used]
        assert (np.cumsum([0.0, *brackets]) >= -1e-12).all()
    assert all(
        (w == 0).all(axis=0)[k] or (w == b)[:, k].all()
        for w, b in zip(kept, beliefs, strict=True)
        for k in range(3)
    )


def test_the_numbers_of_a_column_of_ones_are_in_the_middle_of_what_is_left() -> None:
    for seed in range(50):
        lines = OddsLines([random_bound(seed)])
        least, most = room(lines, np.ones(lines.n_rows))
        middle = lines.middle()
        inside = np.isfinite(most) & (most > 1e-2) & (least <= most)
        np.testing.assert_allclose(middle[inside], ((least + most) / 2)[inside], rtol=1e-9)
        assert (middle > 0).all()
        assert (middle >= least)[~np.isfinite(most)].all()


def test_lines_of_one_past_are_the_cuts_of_the_promise() -> None:
    grid = Grid(1, 5)
    mobility = Mobility.gaussian(grid, 1.0)
    guard = Protector(
        mobility,
        NoNoise(grid),
        Protect(presence({0}, [1, 2]), 0.5),
        prior=KnownPrior(mobility.initial),
    )
    now = guard.beginning().arrive().situation()
    bound = Bound.of(now.protections[0], now.evidence[0], None)
    lines = OddsLines([bound])
    assert (lines.n_lines, lines.n_mus, len(lines.falls)) == (2, 2, 0)
    rows = lines.rows(np.arange(2))
    assert not rows[:, 5:].any()
    for row, belief in zip(rows[:, :5], bound.extremes(), strict=True):
        np.testing.assert_allclose(row / np.abs(row).max(), bound.cut(belief), atol=1e-12)


def test_lines_say_that_numbers_never_rise() -> None:
    bound = random_bound(3)
    lines = OddsLines([bound])
    sizes = [side.n_intervals for side in lines.sides]
    assert len(lines.falls) == sum(size - 1 for size in sizes) > 0
    rows = lines.rows(lines.falls)
    assert not rows[:, : lines.n_rows].any()
    falling = np.concatenate([np.arange(size, 0, -1.0) for size in sizes])
    assert (rows[:, lines.n_rows :] @ falling == -1).all()


def test_an_event_that_is_sure_or_impossible_needs_no_lines() -> None:
    nothing = Bound(np.zeros(2), np.ones(2), np.zeros((2, 3)), np.ones((2, 3)), 2.0, both=True)
    assert OddsLines([nothing]).sides == []


def slope_of(side: Side, vertex: int, one: float, sigma: float) -> float:
    """How a line changes with μ: not at all if the vertex has these very odds."""
    against, for_it = sigma * side.not_a[vertex], one * side.a[vertex]
    if math.isclose(against, for_it, rel_tol=1e-12):
        return 0.0
    return float((against - for_it) * side.unit)


def lines_one_by_one(lines: OddsLines) -> list[tuple[int, int, float, float, int, Array]]:
    """Each line's side, μ, end of odds as a pair, vertex, and row, as they are written down."""
    found, first = [], 0
    for i, side in enumerate(lines.sides):
        for k, (one, sigma) in side.corners():
            for v in range(len(side.a)):
                above, below = one * side.true[v], sigma * side.factor * side.false[v]
                slope = slope_of(side, v, one, sigma)
                row = np.zeros(lines.n_rows + lines.n_mus)
                row[: lines.n_rows] = above - below
                row[lines.n_rows + first + k] = slope
                size = above.sum() + below.sum() + abs(slope)
                found.append((i, first + k, one, sigma, v, row / size if size else row))
        first += side.n_intervals
    return found


@settings(max_examples=60)
@given(SEEDS)
def test_rows_are_the_lines_one_by_one(seed: int) -> None:
    bound = random_bound(seed)
    lines = OddsLines([bound, replace(bound, factor=2 * bound.factor)])
    expected = lines_one_by_one(lines)
    assert len(expected) == lines.n_lines
    order = np.random.default_rng(seed).permutation(lines.n_lines)
    rows = lines.rows(order)
    for row, number in zip(rows, order.tolist(), strict=True):
        np.testing.assert_allclose(row, expected[number][-1], rtol=1e-12, atol=1e-15)
    places = {(i, v) for i, _, _, _, v, _ in expected}
    by_vertex = {(i, v, int(lines.vertex[n])) for n, (i, _, _, _, v, _) in enumerate(expected)}
    assert len(by_vertex) == len(places) == len(set(lines.vertex.tolist()))


def test_ends_of_odds_go_from_the_smallest_to_the_largest_in_equal_ratios() -> None:
    for seed in range(60):
        bound = random_bound(seed)
        for side in OddsLines([bound]).sides:
            assert (side.ends.max(axis=1) == 1).all()
            with np.errstate(divide="ignore"):
                odds, vertices = side.ends[:, 1] / side.ends[:, 0], side.a / side.not_a
            assert odds[0] == pytest.approx(vertices.min(), rel=1e-9)
            assert odds[-1] == pytest.approx(vertices.max(), rel=1e-9)
            inner = np.log(odds[(odds > 0) & np.isfinite(odds)])
            widths = np.diff(inner)
            np.testing.assert_allclose(widths, widths[:1].repeat(len(widths)), rtol=1e-6)
            assert (widths <= 0.3 + 1e-9).all() or len(widths) == 12


def test_vertices_are_alike_whose_users_are_in_the_same_places() -> None:
    """One of fifty, itself among them, counted side by side."""
    grid = Grid(10, 15)
    spread = np.exp(-(grid.distances**2))
    spread /= spread.sum(axis=1, keepdims=True)
    a = np.linspace(0.1, 0.9, grid.n_cells)
    parts = a[:, None] * spread, (1 - a)[:, None] * spread
    lines = OddsLines([Bound(a, 1 - a, *parts, 1.5, both=True)])
    alike = lines.alike(grid.distances[:, ::7])
    assert len(alike) == len(np.unique(lines.vertex)) == 2 * grid.n_cells
    for vertex, others in enumerate(alike):
        side, cell = divmod(vertex, grid.n_cells)
        assert len(others) == 3
        assert vertex in others
        assert set(others // grid.n_cells) == {side}
        assert (grid.distances[cell, others % grid.n_cells] < 3).all()


@settings(max_examples=60)
@given(SEEDS, st.booleans())
def test_lines_with_entries_of_their_own_are_the_same_lines(seed: int, common: bool) -> None:
    random = np.random.default_rng(seed)
    true, false = random_vertices(seed, common=common)
    a, not_a = true.sum(axis=1), false.sum(axis=1)
    lines = OddsLines([Bound(a, not_a, true, false, math.exp(random.uniform(0.05, 1.5)), True)])
    every = np.arange(lines.n_lines + len(lines.falls))
    rebuilt = written_out(lines.rows_of_own(every), lines.shared)
    np.testing.assert_allclose(rebuilt, lines.rows(every), rtol=1e-7, atol=1e-11)


def test_lines_without_such_entries_share_no_rows() -> None:
    true, false = np.random.default_rng(1).random((2, 9, 7))
    bound = Bound(true.sum(axis=1), false.sum(axis=1), true, false, 2.0, True)
    assert len(OddsLines([bound]).shared) == 0


def test_many_promises_share_too_much() -> None:
    true, false = random_vertices(1, common=True)
    bound = Bound(true.sum(axis=1), false.sum(axis=1), true, false, 2.0, True)
    assert OddsLines([bound]).has_own_entries
    assert not OddsLines([bound] * 20).has_own_entries
    assert len(OddsLines([bound] * 20).shared) == 0
