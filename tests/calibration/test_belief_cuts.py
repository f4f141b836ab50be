"""Cuts of beliefs: what they say of columns, which of them columns are given, and their prices."""

import math
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from priste import (
    Grid,
    Mobility,
    NearPrior,
    NoNoise,
    OptimalRemap,
    Protect,
    Protector,
    presence,
)
from priste.calibration import belief_cuts, interior
from priste.calibration.belief_cuts import BeliefCuts, Beliefs
from priste.calibration.bounds import Bound
from priste.calibration.interior import Interior
from priste.calibration.odds_lines import Side, sides_of
from priste.calibration.program import SolverError
from priste.calibration.weighing import weights
from priste.checks import Array
from tests.calibration.test_odds_lines import random_bound, random_column

SEEDS = st.integers(0, 2**32 - 1)


def some_sides(bound: Bound) -> list[Side]:
    """The sides of a promise that has any."""
    sides = sides_of(bound)
    assume(sides)
    return sides


def worst_cut(cuts: BeliefCuts, column: Array, least: float) -> Array:
    """The cuts that a column is given, as rows."""
    program = Interior(np.ones((len(column), 1)), cuts.mus, cuts.rows)
    program.x[0] = column
    cuts._add(program, least, 1)
    return cuts.rows(program.given.line)


@settings(max_examples=100)
@given(SEEDS)
def test_columns_that_keep_a_promise_keep_every_cut(seed: int) -> None:
    bound, random = random_bound(seed), np.random.default_rng(seed)
    sides = some_sides(bound)
    cuts = BeliefCuts(sides, sides)
    n = 20
    which = random.integers(0, len(sides), n)
    first, second = random.integers(0, 1 + len(bound.a), (2, n)) % (1 + len(sides[0].a))
    cuts.beliefs = Beliefs(which, first, second, *(random.random((2, n)) ** 8 + 1e-9))
    column = random_column(seed, bound.true.shape[1])
    more = bound.missing(column)
    assume(math.isfinite(more))
    column = column + more
    rows = cuts.rows(np.arange(n))
    assert (rows @ column <= 1e-9 * (np.abs(rows) @ column)).all()


@settings(max_examples=100)
@given(SEEDS)
def test_columns_that_break_a_promise_break_a_cut_that_they_are_given(seed: int) -> None:
    bound = random_bound(seed)
    column = np.asarray(np.random.default_rng(seed).random(bound.true.shape[1]) ** 6 + 1e-6)
    milder = Bound(*(bound.a, bound.not_a, bound.true, bound.false), 1.05 * bound.factor, True)
    assume(milder.failing(column[:, None]).any())
    sides = sides_of(bound)
    cuts = BeliefCuts(sides, sides)
    for _ in range(8):  # odds differ from round to round
        rows = worst_cut(cuts, column, 0.0)
        if (np.vstack([rows, cuts.rows(cuts.always)]) @ column > 0).any():
            return
    pytest.fail("no cut")


def with_two_impossible_vertices(a: Array) -> BeliefCuts:
    """A promise whose first two vertices make the releases so far impossible."""
    shares = np.full((len(a), 3), 1 / 3)
    shares[:2] = 0.0
    bound = Bound(a, 1 - a, a[:, None] * shares, (1 - a)[:, None] * shares, 1.2, both=True)
    return BeliefCuts(sides_of(bound), sides_of(bound))


def test_two_vertices_from_which_releases_are_impossible_give_no_cut() -> None:
    cuts = with_two_impossible_vertices(np.array([0.30, 0.31, 0.30, 0.305, 0.31]))
    rows = worst_cut(cuts, np.ones(3), -0.99)
    assert len(rows) == 2
    assert np.abs(rows).max(axis=1).min() > 0


def test_a_belief_in_a_vertex_from_which_releases_are_impossible_counts() -> None:
    """What is seen moves the odds from those of both vertices to those of the other."""
    cuts = with_two_impossible_vertices(np.array([0.1, 0.1, 0.3, 0.3, 0.3]))
    (row,) = worst_cut(cuts, np.ones(3), 0.0)
    assert row.sum() > 0
    assert {int(cuts.beliefs.first[-1]) < 2, int(cuts.beliefs.second[-1]) < 2} == {True, False}


def test_columns_begin_with_a_belief_in_the_middle() -> None:
    bound = random_bound(12)
    sides = sides_of(bound)
    cuts = BeliefCuts(sides, sides)
    assert len(cuts.always) == len(sides) == 2
    a, not_a, true, false = (
        part.sum(axis=0) for part in (bound.a, bound.not_a, bound.true, bound.false)
    )
    expected = [
        not_a * true - bound.factor * a * false,
        a * false - bound.factor * not_a * true,
    ]
    np.testing.assert_allclose(cuts.rows(cuts.always) * (a + not_a), expected, rtol=1e-12)


def test_odds_shift_from_round_to_round_and_go_beyond_those_of_vertices_where_some_have_none() -> (
    None
):
    a = np.array([0.2, 0.5, 0.0])
    side = Side(a, 1 - a, np.ones((3, 2)), np.ones((3, 2)), 2.0, np.ones((1, 2)), 1.0)
    cuts = BeliefCuts([side], [side])
    logs = []
    for cuts._rounds in range(8):
        one, sigma = cuts._odds(cuts.sides[0]).T
        logs.append(np.log(sigma / one))
        assert logs[-1].min() >= math.log(0.25) - belief_cuts._BEYOND - 1e-9
        assert logs[-1].max() <= 1e-9  # the largest odds of any vertex
    width = (0 - math.log(0.25) + belief_cuts._BEYOND) / belief_cuts._ODDS
    apart = np.diff(np.unique(np.concatenate(logs).round(9)))
    assert apart.max() < 0.3 * width


@settings(max_examples=25)
@given(SEEDS)
def test_prices_bound_what_any_remap_can_reach(seed: int) -> None:
    bound, random = random_bound(seed), np.random.default_rng(seed)
    sides = some_sides(bound)
    n_rows = bound.true.shape[1]
    cost = random.random((n_rows, 3)) + 0.1
    cuts = BeliefCuts(sides, sides)
    program = Interior(cost, cuts.mus, cuts.rows, cuts.slack)
    program.add_to_all(cuts.always)
    cuts.add_first(program)
    with suppress(SolverError):  # it came as near as it can, or nothing keeps the promise
        for _ in range(12):
            cuts.add_broken(program)
            program.step()
    # the best with all beliefs that were looked at: no more than what keeps the promise
    every = cuts.rows(np.arange(cuts.n_lines))
    every /= np.abs(every).max(axis=1, keepdims=True)
    blocks = np.kron(np.eye(3), every)
    sums = np.hstack([np.eye(n_rows)] * 3)
    best = linprog(cost.T.ravel(), blocks, np.zeros(len(blocks)), sums, np.ones(n_rows)).fun
    assume(best is not None)  # what was released before may have broken the promise
    least = float((cost + cuts.price(program)).min(axis=1).sum())
    assert least <= best + 1e-7
    one_answer = float(cost.sum(axis=0).min())
    assert best <= one_answer + 1e-9


def test_prices_of_groups_are_prices_of_their_signals() -> None:
    bound = random_bound(5)
    parted = Bound(
        bound.a, bound.not_a, bound.true[:, [0, 0]] / 2, bound.false[:, [0, 0]] / 2, 1.5, True
    )
    together = parted.after(np.ones((2, 1)))
    cuts = BeliefCuts(sides_of(together), sides_of(parted))
    program = Interior(np.ones((1, 2)), cuts.mus, cuts.rows)
    program.add_to_all(cuts.always)
    program.given = program.given._replace(slack=np.full(4, 1e-3))
    price = cuts.price(program)
    assert price.shape == (2, 2)
    np.testing.assert_allclose(
        price.sum(axis=0), program._blocks.of_lines(program.given.price)[:, 0]
    )


def test_cuts_that_were_found_before_keep_their_numbers() -> None:
    bound = random_bound(12)
    sides = sides_of(bound)
    cuts = BeliefCuts(sides, sides)
    worst_cut(cuts, random_column(12, bound.true.shape[1]), -1.0)
    again = BeliefCuts(sides, sides, cuts.beliefs)
    assert again.n_lines == cuts.n_lines > len(cuts.always)
    every = np.arange(cuts.n_lines)
    np.testing.assert_array_equal(again.rows(every), cuts.rows(every))


def test_lines_that_are_broken_stop_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without slack to match, a line that one column breaks holds all the others up."""
    grid = Grid(10, 10)
    mobility = Mobility.gaussian(grid, 1.0)
    guard = Protector(
        mobility,
        NoNoise(grid),
        Protect(presence(grid.disc(3, 3, radius=1.6), range(1, 4)), 1.0),
        prior=NearPrior(mobility.initial, 0.1),
        calibration=OptimalRemap(),
        seed=1,
    )
    guard.release(44)
    situation = guard.state.arrive().situation()
    (promise,), (evidence,) = situation.protections, situation.evidence
    sides = sides_of(Bound.of(promise, evidence, situation.mechanism.emission()))
    cost = weights(situation)[:, None] * grid.distances

    def rounds(loose: float) -> int:
        monkeypatch.setattr(interior, "_LOOSE", loose)
        cuts = BeliefCuts(sides, sides)
        program = Interior(cost / cost.sum(axis=0).min(), cuts.mus, cuts.rows, cuts.slack)
        program.add_to_all(cuts.always)
        number = 0
        while program.gap > 1e-3 and number < 100:
            number += 1
            cuts.add_broken(program)
            program.drop(0.15, cuts.n_lines)
            program.step()
        return number

    assert rounds(interior._LOOSE) < 0.9 * rounds(0.0)
