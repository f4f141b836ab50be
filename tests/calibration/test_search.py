"""What the search certifies, whatever solver and repair say, beside enumeration of all paths."""

import numpy as np
import pytest

from priste import (
    AnyPrior,
    EmissionMatrix,
    EveryOutput,
    Grid,
    KnownPrior,
    Mobility,
    NearPrior,
    OptimalRemap,
    Prior,
    Protect,
    Protector,
    presence,
)
from priste.calibration import Situation
from priste.calibration.bounds import Bound
from priste.calibration.program import Program, SolverError
from priste.calibration.search import Effort, OnMap, Search, same_answer, weights
from priste.checks import Array
from tests.oracles import joint_by_enumeration, rising_loss_over_edges

GRID = Grid(1, 4)
MOBILITY = Mobility.gaussian(GRID, sigma=1.0)
EVENT = presence({0}, [0, 1])
EPSILON = 0.3
UNIFORM = np.full(4, 0.25)
PRIORS: list[Prior] = [KnownPrior(UNIFORM), NearPrior(UNIFORM, 0.3), AnyPrior()]


def first_step(prior: Prior) -> Situation:
    return (
        Protector(
            MOBILITY,
            EmissionMatrix(np.eye(4)),
            Protect(EVENT, EPSILON),
            prior=prior,
            calibration=EveryOutput(),
        )
        .beginning()
        .arrive()
        .situation()
    )


def on_map(prior: Prior) -> OnMap:
    search = Search(Effort(0.01, 10, None, 10.0), first_step(prior), GRID.distances)
    return OnMap(search, np.arange(4))


def largest_loss(emission: Array, prior: Prior) -> float:
    """The loss of the worst output of a first release, over all paths and edges."""
    transitions, vertices = [MOBILITY.transition(0)], prior.vertices(4)
    a, not_a = np.array([joint_by_enumeration(EVENT, transitions, v, []) for v in vertices]).T
    losses = []
    for column in emission.T[emission.any(axis=0)]:
        joint = [joint_by_enumeration(EVENT, transitions, v, [column]) for v in vertices]
        b, d = np.array(joint).T
        losses.append(rising_loss_over_edges(a, not_a, b, d))
        losses.append(rising_loss_over_edges(not_a, a, d, b))
    return max(losses)


@pytest.mark.parametrize("prior", PRIORS)
def test_a_remap_that_breaks_a_promise_is_not_certified(prior: Prior) -> None:
    tells_all, says_nothing = np.eye(4), np.full((4, 4), 0.25)
    assert largest_loss(tells_all, prior) > EPSILON
    with pytest.raises(SolverError, match="breaks a promise"):
        on_map(prior)._certified(tells_all)
    certified = on_map(prior)._certified(says_nothing)
    assert largest_loss(certified, prior) < 1e-12
    passed = 0
    for share in (0.02, 0.05, 0.1, 0.3):
        mixture = share * tells_all + (1 - share) * says_nothing
        if largest_loss(mixture, prior) <= EPSILON:
            assert largest_loss(on_map(prior)._certified(mixture), prior) <= EPSILON
            passed += 1
        else:
            with pytest.raises(SolverError, match="breaks a promise"):
                on_map(prior)._certified(mixture)
    assert 0 < passed < 4


@pytest.mark.parametrize("prior", PRIORS)
def test_a_solver_and_a_repair_that_lie_are_not_believed(
    prior: Prior, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Program, "solve", lambda program: np.eye(*program.cost.shape))
    monkeypatch.setattr(
        Bound, "failing", lambda _, columns, **__: np.zeros(columns.shape[1], dtype=bool)
    )
    plan = OptimalRemap(GRID.distances).plan(first_step(prior))
    assert "breaks a promise" in plan.remark
    assert largest_loss(plan.emission, prior) <= EPSILON


@pytest.mark.parametrize("prior", PRIORS)
def test_every_output_of_a_plan_is_within_epsilon_by_enumeration(prior: Prior) -> None:
    spent = []
    for calibration in (OptimalRemap(GRID.distances), EveryOutput()):
        plan = calibration.plan(first_step(prior))
        spent.append(largest_loss(plan.emission, prior))
    assert max(spent) <= EPSILON
    assert spent[0] > 0.95 * EPSILON  # the promise is not kept by saying nothing


def test_the_same_answer_is_the_one_that_is_nearest_in_the_mean() -> None:
    now = first_step(AnyPrior())
    plan = same_answer(now, GRID.distances, "why")
    expected = weights(now) @ GRID.distances
    assert plan.emission.tolist() == np.eye(4)[[int(np.argmin(expected))] * 4].tolist()
    assert plan.expected_loss == pytest.approx(expected.min(), rel=1e-12)
    assert (plan.remark, plan.budget) == ("why", 0.0)
    np.testing.assert_allclose(weights(now), 0.999 * now.belief + 0.001 / 4, rtol=1e-12)
