import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priste import AnyPrior, EventError, Mobility, Protect, Protector, presence
from priste.calibration.bounds import Bound
from priste.calibration.warm_start import Belief
from priste.checks import Array
from priste.evidence import EventModel, Evidence
from priste.worst_case import worst_case_loss
from tests.calibration.test_every_output import protectors, random_every_output
from tests.strategies import random_stochastic

EVENT = presence({0}, [1, 2])


def drawn_bounds(protector: Protector) -> list[Bound]:
    state = protector.beginning().arrive()
    now = state.situation()
    return [Bound.of(p, e, None) for p, e in zip(now.protections, now.evidence, strict=True)]


@settings(max_examples=80)
@given(st.data())
def test_a_column_breaks_a_cut_or_keeps_the_promise(data: st.DataObject) -> None:
    try:
        protector, _ = data.draw(protectors(random_every_output))
    except EventError:
        return
    now = protector.beginning().arrive().situation()
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    for protection, evidence, bound in zip(
        now.protections, now.evidence, drawn_bounds(protector), strict=True
    ):
        column = random.random(len(now.belief)) * (random.random(len(now.belief)) > 0.2)
        if not column.any():
            continue
        column /= column.max()
        for belief in bound.broken(column):
            assert bound.cut(belief) @ column > 0
        missing = bound.missing(column)
        single = replace(now, protections=(protection,), evidence=(evidence,))
        if missing == 0:
            assert not bound.broken(column)
            assert not bound.failing(column[:, None]).any()
        mended = column + missing
        assert single.allows(mended / mended.max())
        if missing > 1e-6:
            assert bound.broken(column)
            assert not single.allows(column + 0.9 * missing)
        assert all(np.abs(cut).max() <= 1 for cut in bound.central())


def evidence_of(seed: int, exponents: tuple[int, ...] = (0, 0, 0, 0)) -> Evidence:
    """Any belief about four cells, each belief's releases so unlikely as its exponent says."""
    mobility = Mobility(random_stochastic(np.random.default_rng(seed), (4, 4)))
    evidence = Evidence.start(EventModel(EVENT, mobility), AnyPrior())
    tensor = evidence.tensor * np.array([1.0, 0.3, 0.7, 0.9])[:, None, None]
    return replace(evidence, tensor=tensor, exponents=np.array(exponents))


def random_bound(seed: int, epsilon: float = 0.5, orders: float = 3.0) -> Bound:
    """A bound on four cells for four beliefs, likelihoods spread over `orders` of ten."""
    random = np.random.default_rng(seed)
    a = random.uniform(0.05, 0.95, 4)
    scale = 10 ** -random.uniform(0, orders, (4, 1))
    true = a[:, None] * scale * random_stochastic(random, (4, 4))
    false = (1 - a)[:, None] * scale * random_stochastic(random, (4, 4))
    return Bound(a, 1 - a, true, false, math.exp(epsilon), both=True)


def depth(bound: Bound, belief: Array, column: Array, *, rising: bool) -> float:
    """How far a belief is from keeping the promise, from the definition."""
    a, not_a, b, d = (
        float(belief @ part)
        for part in (bound.a, bound.not_a, bound.true @ column, bound.false @ column)
    )
    return not_a * b - bound.factor * a * d if rising else a * d - bound.factor * not_a * b


def test_each_row_is_scaled_as_a_whole_and_balanced() -> None:
    exponents = (-40, 3, 7, -90)
    evidence = evidence_of(0, exponents)
    bound = Bound.of(Protect(EVENT, 0.5), evidence, None)
    likelihoods = np.exp2(exponents)
    for part, mass in zip((bound.true, bound.false), evidence.masses, strict=True):
        for prior, chance in ((bound.a, evidence.a), (bound.not_a, evidence.not_a)):
            ours = part / prior[:, None]
            theirs = mass * likelihoods[:, None] / chance[:, None]
            np.testing.assert_allclose(ours[theirs == 0], 0)
            ratios = ours[theirs > 0] / theirs[theirs > 0]
            np.testing.assert_allclose(ratios, ratios[0], rtol=1e-12)
    sizes = (bound.a + bound.not_a) * (bound.true + bound.false).sum(axis=1)
    np.testing.assert_allclose(sizes, 1, rtol=1e-12)
    assert 0.5 <= (bound.true + bound.false).sum(axis=1).max() <= 1
    assert math.log(bound.factor) == pytest.approx(0.5 - 3e-9, abs=1e-14)


def test_the_mechanism_comes_before_the_remap() -> None:
    evidence, emission = evidence_of(0), random_stochastic(np.random.default_rng(1), (4, 6))
    alone, after = (Bound.of(Protect(EVENT, 0.5), evidence, m) for m in (None, emission))
    np.testing.assert_allclose(after.true, alone.true @ emission, rtol=1e-12)
    np.testing.assert_allclose(after.false, alone.false @ emission, rtol=1e-12)
    assert after.both
    assert not Bound.of(Protect(EVENT, 0.5, sides="event"), evidence, None).both


def test_beliefs_beyond_floating_point_and_impossible_ones_leave_numbers_finite() -> None:
    evidence = evidence_of(0, (0, -1500, -20, 0))
    evidence.tensor[3] = 0.0
    bound = Bound.of(Protect(EVENT, 0.5), evidence, None)
    for part in (bound.a, bound.not_a, bound.true, bound.false):
        assert np.isfinite(part).all()
    assert bound.true[3].tolist() == bound.false[3].tolist() == [0.0] * 4
    assert (bound.true + bound.false).sum(axis=1)[1] == pytest.approx(2.0**-300, rel=0.5)


@pytest.mark.parametrize("rising", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_cut_says_of_any_column_what_the_promise_says_of_its_belief(
    seed: int, rising: bool
) -> None:
    bound, random = random_bound(seed), np.random.default_rng(seed)
    weights = 10 ** random.uniform(-2, 2, 5)
    cuts = bound.cuts(1, 3, weights, rising=rising)
    np.testing.assert_allclose(np.abs(cuts).max(axis=1), 1, rtol=1e-12)
    for weight, cut in zip(weights.tolist(), cuts, strict=True):
        belief = np.array([0, 1, 0, weight])
        entries = np.array([depth(bound, belief, cell, rising=rising) for cell in np.eye(4)])
        np.testing.assert_allclose(cut, entries / np.abs(entries).max(), rtol=1e-12)
        np.testing.assert_array_equal(cut, bound.cut(Belief(1, 3, weight, rising)))


def test_what_nobody_can_cause_has_an_empty_cut() -> None:
    bound = replace(random_bound(0), true=np.zeros((4, 4)), false=np.zeros((4, 4)))
    assert bound.cut(Belief(0, 1, 1.0, True)).tolist() == [0.0] * 4
    assert bound.central() == []


def test_the_central_cuts_are_those_of_all_beliefs_alike() -> None:
    bound = random_bound(0)
    expected = [
        np.array([depth(bound, np.ones(4), cell, rising=rising) for cell in np.eye(4)])
        for rising in (True, False)
    ]
    found = bound.central()
    assert len(found) == 2
    for cut, entries in zip(found, expected, strict=True):
        np.testing.assert_allclose(cut, entries / np.abs(entries).max(), rtol=1e-12)
    assert len(replace(bound, both=False).central()) == 1


def test_a_cell_where_nobody_can_be_leaves_the_central_cuts_to_the_others() -> None:
    bound = random_bound(0)
    true, false = bound.true * [1, 0, 1, 1], bound.false * [1, 0, 1, 1]
    for cut in (found := replace(bound, true=true, false=false).central()):
        assert (cut == 0).tolist() == [False, True, False, False]
    assert len(found) == 2


def deepest(bound: Bound, column: Array, *, rising: bool) -> float:
    """The depth of the deepest cut of two beliefs, by search over weights."""
    weights = 10 ** np.linspace(-9, 9, 400)
    cuts = [bound.cuts(i, j, weights, rising=rising) for i in range(4) for j in range(i)]
    return float((np.vstack(cuts) @ column).max())


def test_the_belief_that_a_column_breaks_is_found_on_each_side() -> None:
    sides = set()
    for seed in range(40):
        epsilon = 1.0 + seed % 2
        bound = random_bound(seed, epsilon)
        column = 10 ** np.random.default_rng(seed).uniform(-1, 0, 4)
        vectors = bound.a, bound.not_a, bound.true @ column, bound.false @ column
        turned = vectors[1], vectors[0], vectors[3], vectors[2]
        losses = [worst_case_loss(*v, sides="event") for v in (vectors, turned)]
        found = bound.broken(column)
        assert [b.rising for b in found] == [
            rising for rising, loss in zip((True, False), losses, strict=True) if loss > epsilon
        ]
        for belief in found:
            assert bound.cut(belief) @ column > 0.3 * deepest(bound, column, rising=belief.rising)
        for factor in (1e-12, 1e12):
            again = bound.broken(factor * column)
            assert [b[:2] for b in again] == [b[:2] for b in found]
        only_rising = replace(bound, both=False).broken(column)
        assert only_rising == [b for b in found if b.rising]
        sides.add(tuple(b.rising for b in found))
    assert sides == {(), (True,), (False,), (True, False)}


def test_a_belief_that_just_breaks_the_promise_is_found() -> None:
    mixed = 0
    for seed in range(20):
        bound = random_bound(seed)
        column = 10 ** np.random.default_rng(seed).uniform(-1, 0, 4)
        loss = worst_case_loss(bound.a, bound.not_a, bound.true @ column, bound.false @ column)
        for share, number in ((1 - 1e-7, 1), (1 + 1e-7, 0)):
            found = replace(bound, factor=math.exp(share * loss)).broken(column)
            assert len(found) == number
            mixed += sum(belief.first != belief.second for belief in found)
    assert mixed > 5


def test_a_worst_belief_that_is_a_limit_is_replaced_by_one_that_breaks_the_promise() -> None:
    likelihoods = np.array([[1.0], [0.0]])  # the release rules the second belief out
    a = np.array([0.6, 0.2])
    bound = Bound(
        a, 1 - a, a[:, None] * likelihoods, (1 - a)[:, None] * likelihoods, math.exp(0.5), both=True
    )
    for column in (np.ones(1), np.full(1, 1e-6)):
        (belief,) = bound.broken(column)
        assert 0 < belief.weight < math.inf
        assert bound.cut(belief) @ column > 0.5 * column[0]
    single = replace(bound, factor=math.exp(5.0))
    assert single.broken(np.ones(1)) == []


def test_a_single_belief_that_breaks_the_promise_is_found_alone() -> None:
    bound = Bound(
        np.array([0.5]), np.array([0.5]), np.array([[0.9]]), np.array([[0.1]]), 2.0, both=True
    )
    assert bound.broken(np.ones(1)) == [Belief(0, 0, 0.0, True)]
    assert replace(bound, true=bound.false, false=bound.true).broken(np.ones(1)) == [
        Belief(0, 0, 0.0, False)
    ]


def test_no_cut_is_sought_where_numbers_end() -> None:
    bound = random_bound(0, epsilon=0.01)
    far = replace(bound, true=bound.true * [[1e-280], [1], [1], [1]])
    far = replace(far, false=far.false * [[1e-280], [1], [1], [1]])
    assert bound.broken(np.array([1, 0.1, 0.1, 0.1]))
    assert far.broken(np.array([1, 0.1, 0.1, 0.1])) == []
    assert far.failing(np.array([[1], [0.1], [0.1], [0.1]])).tolist() == [True]


def test_columns_fail_each_for_itself_or_up_to_the_first() -> None:
    bound = Bound.of(Protect(presence({0}, [0]), 0.5), _certain(), None)
    constant, without, empty, only = np.ones(4), [0, 1, 1, 1], np.zeros(4), [1, 0, 0, 0]
    columns = np.column_stack([constant, empty, without, constant, only])
    assert bound.failing(columns).tolist() == [False, False, True, False, True]
    first = bound.failing(columns, any_will_do=True)
    assert first.tolist() == [False, False, True, False, False]


def _certain() -> Evidence:
    """Any belief about where somebody is now, who stays."""
    return Evidence.start(EventModel(presence({0}, [0]), Mobility(np.eye(4))), AnyPrior())


def test_what_is_missing_is_the_least_constant_that_mends_a_column() -> None:
    broken = 0
    for seed in range(8):
        bound = random_bound(seed, orders=0.0)
        column = 10 ** np.random.default_rng(seed).uniform(-3, 0, 4)
        missing = bound.missing(column)
        if missing == 0:
            assert not bound.failing(column[:, None]).any()
            continue
        assert not bound.failing((column + missing)[:, None]).any()
        assert bound.failing((column + 0.989 * missing)[:, None]).all()
        assert bound.missing(1e-6 * column) == pytest.approx(1e-6 * missing, rel=0.02)
        broken += 1
    assert broken > 3


def test_a_promise_broken_before_is_mended_by_nothing() -> None:
    bound = random_bound(0, orders=0.0)
    broken = replace(bound, true=1e4 * bound.true)
    assert broken.missing(np.ones(4)) == math.inf


def test_with_one_past_odds_rise_from_the_smallest_start_and_fall_from_the_largest() -> None:
    row = np.array([[0.2, 0.5, 0.3]])
    twice = np.repeat(row, 2, axis=0)
    low, high = (0.2, 0.8), (0.6, 0.4)
    for starts, least in (((low, high), 0), ((high, low), 1)):
        a, not_a = np.array(starts).T
        bound = Bound(a, not_a, twice, 1 - twice, 1.5, both=True, has_one_past=True)
        rise, fall = bound.extremes()
        assert rise == Belief(least, least, 0.0, True)
        assert fall == Belief(1 - least, 1 - least, 0.0, False)
        assert replace(bound, both=False).extremes() == [rise]
        assert replace(bound, has_one_past=False).extremes() == []
    alone = Bound(np.array([0.2]), np.array([0.8]), row, 1 - row, 1.5, both=True, has_one_past=True)
    assert alone.extremes() == [Belief(0, 0, 0.0, True), Belief(0, 0, 0.0, False)]
