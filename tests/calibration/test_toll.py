import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priste import (
    AnyPrior,
    Grid,
    KnownPrior,
    Mobility,
    NearPrior,
    NoNoise,
    OptimalRemap,
    PlanarLaplace,
    Prior,
    Protect,
    Protector,
    presence,
)
from priste.calibration import Situation
from priste.calibration.bounds import Bound
from priste.calibration.toll import Toll
from priste.calibration.weighing import weights
from priste.checks import Array
from priste.evidence import Evidence
from priste.worst_case import Sides
from tests.oracles import best_remap_loss

GRID = Grid(2, 3)
BELIEF = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.2])


def second_step(seed: int, prior: Prior, sides: Sides = "both") -> Situation:
    """What is public after a first release, which has moved the odds."""
    habits = [Mobility(Mobility.gaussian(GRID, s).transition(0), BELIEF) for s in (0.7, 1.5)]
    event = Protect(presence({0, 1}, [1, 2]), 1.0, sides=sides)
    guard = Protector(habits, PlanarLaplace(GRID, 1.5), event, prior=prior, seed=seed)
    guard.release(seed % 6)
    return guard.state.arrive().situation()


def bounds_of(now: Situation) -> list[Bound]:
    return [Bound.of(p, e, None) for p, e in zip(now.protections, now.evidence, strict=True)]


def moved(evidence: Evidence, column: Array, *, has_risen: bool) -> float:
    """How likely an output is where the event is not as it says, times the change of the odds."""
    a, not_a = evidence.a.sum(), evidence.not_a.sum()
    before, after = evidence.four_vectors(), evidence.observe(column).four_vectors()
    total = {
        (name, when): np.ldexp(getattr(v, name), v.exponents).sum()
        for when, v in (("before", before), ("after", after))
        for name in ("b", "d")
    }
    factor = total["b", "after"] / total["d", "after"] * not_a / a
    if has_risen:
        return float(total["d", "after"] / total["d", "before"] * max(factor - 1, 0))
    return float(total["b", "after"] / total["b", "before"] * max(1 / factor - 1, 0))


@settings(max_examples=40)
@given(st.integers(0, 1000), st.sampled_from(["both", "event"]))
def test_outputs_pay_for_how_far_they_leave_the_odds_from_where_these_began(
    seed: int, sides: Sides
) -> None:
    now = second_step(seed, KnownPrior(BELIEF), sides)
    emission = np.random.default_rng(seed).dirichlet(np.ones(4), 6)
    bounds = bounds_of(now)
    directions = (True, False) if sides == "both" else (True,)
    wanted = np.mean(
        [
            sum(moved(e, column, has_risen=up) for column in emission.T for up in directions)
            for e in now.evidence
        ]
    )
    assert Toll.on(bounds, 3.0).of(emission) == pytest.approx(3 * wanted, rel=1e-9, abs=1e-12)
    assert Toll.on(bounds, 0.0).of(emission) == 0.0


def test_where_somebody_is_certain_nothing_is_charged() -> None:
    assert Toll.on([], 1.0).of(np.ones((6, 1))) == 0.0
    none, one = np.zeros(1), np.ones(1)
    certain = Bound(none, one, np.zeros((1, 2)), np.full((1, 2), 0.5), factor=2.0, both=True)
    assert certain.movements() == []
    assert Toll.on([certain], 1.0).of(np.eye(2)) == 0.0


@pytest.mark.parametrize("certain", ["before", "after"])
@pytest.mark.parametrize("happened", [True, False])
def test_odds_that_are_none_are_not_charged(certain: str, happened: bool) -> None:
    a, true = np.full(1, 0.5), np.full((1, 2), 0.5)
    start = (np.zeros(1), np.ones(1)) if certain == "before" else (a, a)
    end = (np.zeros((1, 2)), true) if certain == "after" else (true, true)
    (before, against), (then, otherwise) = (start[::-1], end[::-1]) if happened else (start, end)
    bound = Bound(before, against, then, otherwise, factor=2.0, both=True)
    assert bound.movements() == []


def test_where_nothing_is_promised_nothing_is_charged_either() -> None:
    grid = Grid(7, 7)
    guard = Protector(Mobility.gaussian(grid, 1.0), PlanarLaplace(grid, 1.0), ())
    now = guard.state.arrive().situation()
    plain, thrifty = (OptimalRemap(thrift=thrift).plan(now) for thrift in (0.0, 0.4))
    np.testing.assert_array_equal(thrifty.emission, plain.emission)


def test_where_nothing_can_be_lost_nothing_is_charged() -> None:
    plan = OptimalRemap(loss=np.zeros((6, 6)), thrift=0.4).plan(second_step(0, KnownPrior(BELIEF)))
    assert plan.expected_loss == 0.0
    assert plan.remark == ""


@pytest.mark.parametrize("prior", [KnownPrior(BELIEF), AnyPrior()], ids=["known", "any"])
def test_thrift_tells_less_for_more_loss_and_keeps_the_promise(prior: Prior) -> None:
    now = second_step(3, prior)
    bounds = bounds_of(now)
    told, lost = [], []
    for thrift in (0.0, 0.2, 1.0, 50.0):
        plan = OptimalRemap(GRID.distances, thrift=thrift).plan(now)
        assert now.forbidden_output(plan.emission) is None
        assert plan.bound <= plan.expected_loss * (1 + 1e-9)
        told.append(Toll.on(bounds, 1.0).of(plan.emission))
        lost.append(plan.expected_loss)
    assert (np.diff(told) < 1e-9).all()
    assert (np.diff(lost) > -1e-9).all()
    assert told[0] > 1.1 * told[2]
    assert lost[0] < 0.95 * lost[2]


def test_with_thrift_a_plan_is_the_best_for_loss_and_toll_together() -> None:
    grid = Grid(2, 3, cell_size=1.5)
    mobility = Mobility(Mobility.gaussian(grid, 1.5).transition(0), BELIEF)
    event = Protect(presence({0, 1}, [1, 2]), 0.5)
    guard = Protector(mobility, NoNoise(grid), event, prior=KnownPrior(BELIEF))
    now = guard.state.arrive().situation()
    plan = OptimalRemap(thrift=0.4, outputs=6).plan(now)
    bound = Bound.of(now.protections[0], now.evidence[0], None)
    cost = weights(now)[:, None] * grid.distances
    price = 0.4 * 1.5  # the smallest distance
    toll = Toll.on([bound], price).of(plan.emission)
    cuts = [bound.cut(belief) for belief in bound.extremes()]
    optimum = best_remap_loss(cost, cuts, bound.movements(), price)
    assert plan.expected_loss + toll == pytest.approx(optimum, rel=0.03)  # 2 % of ε are in reserve
    assert optimum * (1 - 1e-9) <= plan.expected_loss + toll
    assert toll > 0
    assert plan.remark == ""
    assert plan.bound == pytest.approx(plan.expected_loss, rel=1e-4)


def paid(now: Situation, emission: Array, thrift: float) -> float:
    """What a plan loses, with its toll, on a map whose neighbours are 1 apart."""
    known = now.mechanism.distances
    assert known is not None
    loss = float(np.sum(weights(now)[:, None] * emission * known))
    return loss + Toll.on(bounds_of(now), thrift).of(emission)


def on_a_larger_map(prior: Prior, n_events: int = 1) -> Situation:
    grid = Grid(7, 7)
    mobility = Mobility.gaussian(grid, 1.0)
    places = ({0, 1, 7, 8}, {24, 25}, {47, 48})
    events = [Protect(presence(cells, [1, 2]), 1.0) for cells in places[:n_events]]
    return Protector(mobility, NoNoise(grid), events, prior=prior).state.arrive().situation()


EVERYWHERE = np.full(49, 1 / 49)


@pytest.mark.parametrize(
    ("prior", "n_events"),
    [(KnownPrior(EVERYWHERE), 1), (KnownPrior(EVERYWHERE), 3), (NearPrior(EVERYWHERE, 0.1), 1)],
    ids=["one event", "three events", "a set of beliefs"],
)
def test_no_other_thrift_is_cheaper_at_this_one_however_many_outputs_there_are(
    prior: Prior, n_events: int
) -> None:
    now = on_a_larger_map(prior, n_events)
    thrifts = (0.0, 0.1, 0.5, 5.0, 50.0)
    plans = [OptimalRemap(thrift=thrift).plan(now).emission for thrift in thrifts]
    coarse = OptimalRemap(thrift=50.0, outputs=32).plan(now).emission
    for thrift, plan in zip(thrifts, plans, strict=True):
        assert now.forbidden_output(plan) is None
        least = min(paid(now, each, thrift) for each in [*plans, coarse])
        assert paid(now, plan, thrift) <= 1.02 * least


def test_a_little_thrift_changes_little() -> None:
    grid, even = Grid(6, 6), np.full(36, 1 / 36)
    mobility = Mobility(Mobility.gaussian(grid, 1.0).transition(0), even)
    event = Protect(presence({0, 1, 6, 7}, [1, 2]), 1.0)
    now = Protector(mobility, NoNoise(grid), event, prior=KnownPrior(even)).state.arrive()
    plain, thrifty = (OptimalRemap(thrift=t).plan(now.situation()) for t in (0.0, 1e-9))
    assert thrifty.expected_loss == pytest.approx(plain.expected_loss, rel=1e-3)


def test_thrift_is_the_same_in_metres_and_in_kilometres() -> None:
    losses = []
    for size, thrift in ((1.0, 0.0), (1.0, 1.0), (1000.0, 1.0)):
        grid = Grid(2, 3, cell_size=size)
        mobility = Mobility(Mobility.gaussian(grid, size).transition(0), BELIEF)
        event = Protect(presence({0, 1}, [1, 2]), 1.0)
        guard = Protector(mobility, NoNoise(grid), event, prior=KnownPrior(BELIEF))
        plan = OptimalRemap(thrift=thrift).plan(guard.state.arrive().situation())
        losses.append(plan.expected_loss / size)
    assert losses[2] == pytest.approx(losses[1], rel=1e-6)
    assert losses[1] > 1.1 * losses[0]
