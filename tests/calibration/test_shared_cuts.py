"""Cuts that bound every column alike: the optimum with few of them is that with all of them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from priste import (
    EmissionMatrix,
    Grid,
    KnownPrior,
    Mobility,
    OptimalRemap,
    Protect,
    Protector,
    presence,
)
from priste.calibration.bounds import Bound
from priste.calibration.effort import Effort
from priste.calibration.search import OnMap, Search
from priste.calibration.shared_cuts import SharedCuts
from priste.calibration.warm_start import WarmStart
from priste.checks import Array
from tests.oracles import best_remap_loss

GRID = Grid(4, 4)
UNIFORM = np.full(16, 1 / 16)
RANDOM = np.random.default_rng(5)


def on_map(sigmas: tuple[float, ...], epsilon: float = 0.5) -> OnMap:
    guard = Protector(
        [Mobility.gaussian(GRID, sigma) for sigma in sigmas],
        EmissionMatrix(np.eye(16)),
        Protect(presence([0, 1], [1, 2]), epsilon),
        prior=KnownPrior(UNIFORM),
        calibration=OptimalRemap(GRID.distances),
        eta=0.0,
    )
    situation = guard.beginning().arrive().situation()
    search = Search(Effort(1e-6, 100, None, 60.0), situation, GRID.distances)
    return OnMap(search, np.arange(16))


def shared_of(place: OnMap) -> SharedCuts:
    far = place.losses[np.ix_(place.outputs, place.outputs)]
    return SharedCuts(place.bounds, len(place.cost), far)


@pytest.mark.parametrize("sigmas", [(0.5, 2.0), (0.4, 1.0, 3.0), (0.3, 0.6, 1.2, 2.4, 4.8)])
def test_a_set_of_models_has_the_optimum_of_the_program_with_every_cut(
    sigmas: tuple[float, ...],
) -> None:
    place = on_map(sigmas)
    every = [cut for bound in place.bounds for cut in bound.central()]
    expected = best_remap_loss(place.cost, every)
    plan = place.plan(WarmStart())
    assert plan.expected_loss == pytest.approx(expected, rel=2e-4)
    assert plan.bound <= expected * (1 + 1e-6)


def test_the_first_cuts_are_those_of_the_first_bound_for_every_column() -> None:
    place = on_map((0.5, 2.0))
    first = shared_of(place).first()
    assert {added.bound for added in first} == {0}
    assert sorted({added.column for added in first}) == list(range(16))
    assert len(first) == 2 * 16  # both directions


def test_what_a_remap_breaks_is_added_once_and_the_rest_is_left() -> None:
    place = on_map((0.5, 2.0))
    shared = shared_of(place)
    truth = np.eye(16)
    broken = shared.broken(truth)
    assert broken
    for added in broken:
        np.testing.assert_array_equal(added.cut, place.bounds[added.bound].cut(added.belief))
    assert shared.broken(np.full((16, 16), 1 / 16)) == []
    again = shared.broken(truth)
    known = {(added.bound, added.column, added.belief) for added in broken}
    assert not known & {(added.bound, added.column, added.belief) for added in again}


def test_columns_are_joined_until_every_cut_is_kept_and_nothing_is_lost() -> None:
    place = on_map((0.5, 2.0))
    shared = shared_of(place)
    remap = 0.85 * np.full((16, 16), 1 / 16) + 0.15 * np.eye(16)
    assert (shared.lines @ remap > 0.05).any()
    joined = shared.joined(remap, place.cost)
    np.testing.assert_allclose(joined.sum(axis=1), 1)
    assert (shared.lines @ joined <= 1e-6).all()
    passes = np.full((16, 16), 1 / 16)
    np.testing.assert_array_equal(shared.joined(passes, place.cost), passes)


def test_a_cut_that_mattered_is_remembered_and_an_unknown_one_is_not() -> None:
    place = on_map((0.5, 2.0))
    shared = shared_of(place)
    (rise, fall) = place.bounds[1].extremes()
    (added,) = shared.remembered(1, 3, rise)
    assert (added.bound, added.column, added.belief) == (1, 3, rise)
    assert shared.remembered(1, 3, rise) == []  # it is there
    assert shared.remembered(1, 3, fall._replace(first=7)) == []


def test_bounds_with_several_pasts_share_nothing() -> None:
    rows: Array = RANDOM.random((2, 3))
    bound = Bound(np.full(2, 0.5), np.full(2, 0.5), rows, 1 - rows, 2.0, both=True)
    shared = SharedCuts([bound], 3, np.zeros((3, 3)))
    assert shared.first() == []
    assert shared.broken(np.eye(3)) == []
    assert shared.active(np.eye(3)) == []


def lonely(seed: int, rows: int, both: bool = True) -> Bound:
    """A promise to one belief; nobody can be in its last cell and speak for the event."""
    random = np.random.default_rng(seed)
    true, false = random.random((2, 1, rows))
    true[0, -1] = false[0, -1] = 0.0
    one = np.array([0.4]), np.array([0.6])
    return Bound(*one, true, false, 1.6, both, has_one_past=True)


def many(columns: int, rows: int = 6, bounds: int = 4) -> tuple[SharedCuts, NDArray[np.intp]]:
    random = np.random.default_rng(columns)
    near = np.array([random.permutation(columns) for _ in range(columns)])
    far = np.argsort(near, axis=1).astype(float)
    return SharedCuts([lonely(seed, rows) for seed in range(bounds)], rows, far), near


def depths(shared: SharedCuts, remap: Array) -> Array:
    """How far each column breaks each cut, beyond what is not worth a cut."""
    return np.array(
        [[line @ column - 1e-7 * column.max() for column in remap.T] for line in shared.lines]
    )


def random_remap(seed: int, rows: int, columns: int) -> Array:
    random = np.random.default_rng(seed)
    remap = random.random((rows, columns)) * (random.random((rows, columns)) < 0.5)
    remap[:, 0] = 0.0
    remap[0, 1:] += 1e-3
    return np.asarray(remap * 10.0 ** random.uniform(-6, 0, columns))


def test_a_cut_that_some_cells_do_not_feel_is_a_cut() -> None:
    shared, _ = many(3)
    assert shared.lines.shape == (8, 6)
    assert (shared.lines[:, -1] == 0).all()


def test_the_two_cuts_that_a_column_breaks_most_are_added_for_the_fifty_nearest() -> None:
    shared, near = many(60)
    there: set[tuple[int, int]] = set()
    for seed in range(3):
        remap = random_remap(seed, 6, 60)
        expected = []
        for j, column in enumerate(depths(shared, remap).T):
            for line in sorted(range(8), key=lambda line: -column[line])[:2]:
                for k in near[j][:50].tolist():
                    if column[line] > 0 and (line, k) not in there:
                        there.add((line, k))
                        expected.append((line, k))
        found = [
            (shared._owner.index((added.bound, added.belief)), added.column)
            for added in shared.broken(remap)
        ]
        assert found == expected


def test_the_active_cuts_are_those_that_a_column_has_and_touches() -> None:
    shared, _ = many(9)
    shared.first()
    remap = random_remap(3, 6, 9)
    remap[:, 4] = 0.0
    found = {
        (shared._owner.index((added.bound, added.belief)), added.column)
        for added in shared.active(remap)
    }
    expected = {
        (line, j)
        for line, cut in enumerate(shared.lines)
        for j in range(9)
        if shared._has[line, j] and cut @ remap[:, j] > -1e-7 * remap[:, j].max()
    }
    assert found == expected
    assert 0 < len(found) < 9 * len(shared.lines)


def test_a_cut_counts_as_broken_or_active_within_a_tolerance_of_the_largest_entry() -> None:
    bound = lonely(7, 5, both=False)

    def at_depth(depth: float) -> tuple[SharedCuts, Array]:
        shared = SharedCuts([bound], 5, np.zeros((1, 1)))
        (line,) = shared.lines
        column = np.array([0.0, 2.0, 1.0, 3.0, 0.0])
        column -= line * (line @ column) / (line @ line)
        column += line * depth * column.max() / (line @ line)
        return shared, column[:, None]

    for depth, is_broken in ((0.5e-7, False), (2e-7, True), (-0.5e-7, False)):
        shared, column = at_depth(depth)
        assert bool(shared.broken(column)) == is_broken
    for depth, is_active in ((-0.5e-7, True), (-2e-7, False), (0.5e-7, True)):
        shared, column = at_depth(depth)
        assert shared.active(column) == []  # the program does not know it
        shared.first()
        assert bool(shared.active(column)) == is_active
        assert shared.active(0 * column) == []  # an output that does not occur


def joined_slowly(shared: SharedCuts, remap: Array, cost: Array) -> Array:
    """Give each column that breaks a cut, the deepest first, to the cheapest that bears it."""
    remap, depth = remap.copy(), depths(shared, remap)
    order = sorted(range(remap.shape[1]), key=lambda j: -max(0.0, depth[:, j].max()))
    for j in order:
        if depth[:, j].max() <= 0:
            continue
        prices = {
            k: float(remap[:, j] @ cost[:, k])
            for k in range(remap.shape[1])
            if remap[:, k].any() and (depth[:, k] + depth[:, j] <= 0).all()
        }
        if prices:
            to = min(prices, key=lambda k: prices[k])
            for table in (remap, depth):
                table[:, to] += table[:, j]
                table[:, j] = 0.0
    return remap


@pytest.mark.parametrize("seed", range(12))
def test_columns_are_joined_as_they_are_slowly(seed: int) -> None:
    shared, _ = many(12, bounds=1 + seed % 3)
    random = np.random.default_rng(seed)
    remap, cost = random_remap(seed, 6, 12), random.random((6, 12))
    remap[:, 6:9] *= 1e-3
    remap[1:, 9:] *= 1e-2
    joined = joined_slowly(shared, remap, cost)
    np.testing.assert_allclose(shared.joined(remap, cost), joined, rtol=1e-12)
