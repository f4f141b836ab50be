"""The published loop, step by step, beside a replay that follows the paper's text."""

import numpy as np
import pytest

from priste import (
    AnyPrior,
    EmissionMatrix,
    Exponential,
    Grid,
    LocationSet,
    Mobility,
    PlanarLaplace,
    Protect,
    ProtectionError,
    Protector,
    Retry,
    at,
    presence,
)
from priste.checks import Array
from priste.dyadic import dyadic
from priste.mechanisms.location_set import location_set
from priste.randomness import Randomness
from tests.oracles import joint_by_enumeration, rising_loss_over_edges

GRID = Grid(1, 4)
MOBILITY = Mobility.gaussian(GRID, sigma=1.0)
EVENT = presence({0}, [1, 2])
PATH = [1, 0, 1, 2, 3, 2]


def loss_by_enumeration(event: object, columns: list[Array]) -> float:
    """The two-sided loss over any belief, from the joint probabilities of every trajectory."""
    transitions = [MOBILITY.transition(0)] * 8
    pairs = [joint_by_enumeration(event, transitions, start, []) for start in np.eye(4)]  # type: ignore[arg-type]
    joint = [joint_by_enumeration(event, transitions, start, columns) for start in np.eye(4)]  # type: ignore[arg-type]
    (a, not_a), (b, d) = np.array(pairs).T, np.array(joint).T
    return max(rising_loss_over_edges(a, not_a, b, d), rising_loss_over_edges(not_a, a, d, b))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("decay", [0.5, 0.8])
def test_algorithm_2_releases_what_the_paper_s_loop_would(seed: int, decay: float) -> None:
    events = [(EVENT, 0.4), (at({3}, 3), 0.7)]
    protector = Protector(
        MOBILITY,
        PlanarLaplace(GRID, 1.5),
        [Protect(event, epsilon) for event, epsilon in events],
        calibration=Retry(decay=decay, weakenings=6),
        seed=seed,
        prior=AnyPrior(),
    )
    randomness = Randomness(seed)
    columns: list[Array] = []
    retried = False
    for true_cell in PATH:
        release = protector.release(true_cell)
        budget, attempts = 1.5, 0
        while True:
            attempts += 1
            if attempts > 7:  # after six weakenings: uniform
                budget, emission = 0.0, np.full((4, 4), 0.25)
            else:
                emission = dyadic(PlanarLaplace(GRID, budget).emission())
            output = randomness.draw(emission[true_cell])
            tried = [*columns, emission[:, output]]
            if attempts > 7 or all(loss_by_enumeration(e, tried) <= eps for e, eps in events):
                break
            budget *= decay
        columns = tried
        assert release.cell == output
        assert release.private.budget == pytest.approx(budget, rel=1e-15)
        assert release.private.attempts == attempts
        assert list(release.private.losses.values()) == pytest.approx(
            [loss_by_enumeration(e, columns) for e, _ in events], rel=1e-8, abs=1e-9
        )
        retried |= attempts > 1
    assert retried  # the loop is exercised, not only passed through


@pytest.mark.parametrize("seed", range(4))
def test_algorithm_3_follows_the_location_set(seed: int) -> None:
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    protector = Protector(
        MOBILITY,
        LocationSet(PlanarLaplace(GRID, 1.0), 0.25, prior),
        Protect(EVENT, 0.5),
        calibration=Retry(weakenings=5),
        seed=seed,
        prior=AnyPrior(),
    )
    belief = prior  # of step 0 itself: the mobility has not moved anybody yet
    for step, true_cell in enumerate(PATH):
        members = location_set(belief, 0.25)
        release = protector.release(true_cell)
        assert release.cell in members
        now = LocationSet(PlanarLaplace(GRID, release.private.budget or 1.0), 0.25, belief)
        mechanism = now if release.private.budget else now.uninformative()
        joint = belief * mechanism.emission()[:, release.cell]
        belief = joint / joint.sum() @ MOBILITY.transition(step)


def test_every_step_ends_and_the_accounted_loss_keeps_to_epsilon() -> None:
    protector = Protector(
        MOBILITY,
        Exponential(GRID, 8.0),
        Protect(EVENT, 0.01),
        calibration=Retry(),
        seed=1,
        prior=AnyPrior(),
    )
    releases = list(protector.stream(PATH * 5))
    assert len(releases) == 30
    assert {release.private.budget for release in releases} >= {0.0}
    assert (
        max(loss for release in releases for loss in release.private.losses.values()) <= 0.01 + 1e-9
    )


@pytest.mark.parametrize("schedule", [Retry(weakenings=1200), Retry(decay=1e-200)])
def test_a_budget_that_vanishes_is_the_uniform_output(schedule: Retry) -> None:
    protector = Protector(
        MOBILITY,
        Exponential(GRID, 8.0),
        Protect(EVENT, 1e-300),
        calibration=schedule,
        seed=1,
        prior=AnyPrior(),
    )
    assert protector.release(0).private.budget == 0.0


def test_uniform_on_the_set_is_the_last_resort_of_a_location_set() -> None:
    prior = np.array([0.5, 0.3, 0.2, 0.0])
    protector = Protector(
        MOBILITY,
        LocationSet(PlanarLaplace(GRID, 5.0), 0.1, prior),
        Protect(EVENT, 1e-6),
        prior=AnyPrior(),
        calibration=Retry(weakenings=0),
        seed=0,
    )
    release = protector.release(3)
    assert release.private.budget == 0.0
    assert release.private.attempts == 2
    assert release.cell in {0, 1, 2}


def test_the_loop_says_that_it_is_no_guarantee() -> None:
    loop = Protector(MOBILITY, Exponential(GRID, 8.0), Protect(EVENT, 0.3), calibration=Retry())
    (caveat,) = loop.release(0).caveats
    assert "Retry does not guarantee ε" in caveat
    assert Retry() == Retry(decay=0.5, weakenings=11)


@pytest.mark.parametrize("epsilon", [0.6, 1.3])
def test_outcomes_are_what_the_loop_does_with_every_ticket(epsilon: float) -> None:
    """Draw by draw: an output, or a further attempt where it fails; all of it enumerated."""
    now = (
        Protector(
            MOBILITY,
            Exponential(GRID, 2.0),
            Protect(EVENT, epsilon),
            calibration=Retry(0.5, 2),
            prior=AnyPrior(),
        )
        .beginning()
        .arrive()
        .situation()
    )
    matrices = [dyadic(Exponential(GRID, budget).emission()) for budget in (2.0, 1.0, 0.5)]
    matrices.append(np.full((4, 4), 0.25))
    reached, expected = np.ones(4), []
    for number, matrix in enumerate(matrices):
        failing = np.zeros(4)
        for output, column in enumerate(matrix.T):
            if number == 3 or loss_by_enumeration(EVENT, [column]) <= epsilon:
                expected.append((output, reached * column, column))  # if it gets this far
            else:
                failing += column
        reached = reached * failing
    expected = [(output, likely, column) for output, likely, column in expected if likely.any()]
    found = list(Retry(0.5, 2).plan(now).outcomes())
    assert [outcome.output for outcome in found] == [output for output, _, _ in expected]
    assert len(found) > 5
    for outcome, (_, likelihood, column) in zip(found, expected, strict=True):
        np.testing.assert_allclose(outcome.likelihood, likelihood, rtol=1e-12)
        np.testing.assert_allclose(outcome.column, column, rtol=1e-12)
    np.testing.assert_allclose(sum(o.likelihood for o in found), 1, rtol=1e-12)


def test_the_loop_ends_in_nothing_that_its_mechanism_never_gives() -> None:
    prior = np.array([0.5, 0.3, 0.2, 0.0])
    inside = LocationSet(PlanarLaplace(GRID, 2.0), 0.1, prior)
    state = Protector(
        MOBILITY, inside, Protect(EVENT, 1e-6), prior=AnyPrior(), calibration=Retry()
    ).beginning()
    outcomes = list(Retry().plan(state.arrive().situation()).outcomes())
    assert {outcome.output for outcome in outcomes} == {0, 1, 2}


def test_where_one_cell_needs_no_second_attempt_others_still_get_it() -> None:
    stays = np.array([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0, 1]])
    protect, retry = Protect(EVENT, 3.0), Retry(weakenings=0)
    guard = Protector(MOBILITY, EmissionMatrix(stays), protect, prior=AnyPrior(), calibration=retry)
    now = guard.beginning().arrive().situation()
    assert now.allowed(stays).tolist() == [False, True, True, False]
    total = sum(outcome.likelihood for outcome in retry.plan(now).outcomes())
    np.testing.assert_allclose(total, 1, rtol=1e-12)


@pytest.mark.parametrize("told", [[0.5, 0.5, 0.5, 0.5], [0.9, 0.1, 0.1, 0.001]])
def test_some_outcome_comes_from_every_cell_even_when_all_of_epsilon_is_gone(
    told: list[float],
) -> None:
    stays = np.array([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0, 1]])
    zeros = EmissionMatrix(stays)
    guard = Protector(
        MOBILITY, zeros, Protect(EVENT, 0.5), prior=AnyPrior(), calibration=Retry(weakenings=0)
    )
    state = guard.beginning().arrive().observe(np.array(told), None).arrive()
    outcomes = list(Retry(weakenings=0).plan(state.situation()).outcomes())
    np.testing.assert_allclose(sum(o.likelihood for o in outcomes), 1, rtol=1e-12)


@pytest.mark.parametrize("decay", [0, 1, 1.5, -0.5, float("nan")])
def test_a_wrong_decay_is_refused(decay: float) -> None:
    with pytest.raises(ProtectionError, match="decay must"):
        Retry(decay=decay)
    with pytest.raises(ProtectionError, match="weakenings must be a whole number of at least 0"):
        Retry(weakenings=-1)
