"""Cuts that bound every column alike: the optimum with few of them is that with all of them."""

import numpy as np
import pytest

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
from priste.calibration.search import Effort, OnMap, Search
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
    return SharedCuts(place.bounds, len(place.cost), place._near())


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
    shared = SharedCuts([bound], 3, np.zeros((3, 3), dtype=np.intp))
    assert shared.first() == []
    assert shared.broken(np.eye(3)) == []
    assert shared.active(np.eye(3)) == []
