from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priste import (
    AnyPrior,
    Grid,
    KnownPrior,
    Mobility,
    OptimalRemap,
    PlanarLaplace,
    Protect,
    Protector,
    presence,
)
from priste.calibration.weighing import focused, weights

GRID = Grid(4, 4)
BELIEF = np.random.default_rng(3).dirichlet(np.full(16, 0.5))


@given(st.integers(0, 10_000), st.floats(1.0, 1e6))
def test_a_focus_moves_belief_to_the_usual_places(seed: int, focus: float) -> None:
    belief = np.random.default_rng(seed).dirichlet(np.full(16, 0.3))
    found = focused(belief, focus)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert (np.diff(found[np.argsort(belief)]) >= 0).all()
    assert found.max() >= belief.max() - 1e-12
    assert (found >= 0.0999 * belief).all()  # somebody on an unusual day still counts


def test_a_focus_is_a_power_for_the_most_part() -> None:
    third = BELIEF**3 / (BELIEF**3).sum()
    np.testing.assert_allclose(focused(BELIEF, 3.0), 0.9 * third + 0.1 * BELIEF, rtol=1e-12)
    assert focused(BELIEF, 1.0) is BELIEF


def test_a_thousandth_is_anywhere() -> None:
    guard = Protector(
        Mobility.gaussian(GRID, 1.0), PlanarLaplace(GRID, 1.0), Protect(presence({0}, [1]), 1.0)
    )
    now = replace(guard.state.arrive().situation(), belief=BELIEF)
    np.testing.assert_allclose(weights(now), 0.999 * BELIEF + 0.001 / 16, rtol=1e-12)


@pytest.mark.parametrize("prior", [KnownPrior(BELIEF), AnyPrior()])
def test_with_a_focus_a_plan_is_the_best_for_the_usual_places_and_keeps_the_promise(
    prior: KnownPrior | AnyPrior,
) -> None:
    mobility = Mobility(Mobility.gaussian(GRID, 1.0).transition(0), BELIEF)
    event = Protect(presence({0, 1, 4, 5}, [1, 2]), 0.5)
    guard = Protector(mobility, PlanarLaplace(GRID, 1.0), event, prior=prior)
    now = guard.state.arrive().situation()
    plans = {focus: OptimalRemap(focus=focus).plan(now) for focus in (1.0, 3.0)}
    for focus, plan in plans.items():
        assert now.forbidden_output(plan.emission) is None
        weighed = weights(replace(now, belief=focused(BELIEF, focus)))
        lost = {
            other: float((weighed[:, None] * each.emission * GRID.distances).sum())
            for other, each in plans.items()
        }
        assert plan.expected_loss == pytest.approx(lost[focus], rel=1e-9)
        assert lost[focus] < min(loss for other, loss in lost.items() if other != focus)
