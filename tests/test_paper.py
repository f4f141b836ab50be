"""Cao, Xiao, Xiong, Bai (ICDE 2019): its examples, its figure of events, and its errata."""

import numpy as np
import pytest

from priste import (
    AnyPrior,
    EventError,
    Exponential,
    Grid,
    LocationSet,
    Mobility,
    Protect,
    Protector,
    Retry,
    at,
    pattern,
    presence,
    prior_probability,
    within,
)
from priste.events import Event
from priste.mechanisms.location_set import location_set
from priste.worlds import compile_event
from tests.cplex_oracle import needs_cplex, smallest_value, theorem_checks
from tests.oracles import joint_by_enumeration, two_world_prior
from tests.strategies import random_stochastic

M = np.array([[0.1, 0.2, 0.7], [0.4, 0.1, 0.5], [0.0, 0.1, 0.9]])


def test_the_worked_example_of_the_appendix() -> None:
    event = presence({0, 1}, [2, 3])
    found = [prior_probability(event, Mobility(M), start) for start in np.eye(3)]
    np.testing.assert_allclose(found, [0.28, 0.298, 0.226], rtol=1e-14)


FIGURE_1: dict[str, tuple[Event, str]] = {
    "b: a sensitive area": (at(0, 0) | at(1, 0), "u0 in (0, 1)"),
    "c: a trajectory": (at(0, 0) & at(0, 1), "u0 == 0 and u1 == 0"),
    "d: one place, either time": (at(0, 0) | at(0, 1), "u0 == 0 or u1 == 0"),
    "e: a pattern": (pattern([{0, 1}, {0, 1}], start=0), "u0 in (0, 1) and u1 in (0, 1)"),
    "f: presence": (presence({0, 1}, [0, 1]), "u0 in (0, 1) or u1 in (0, 1)"),
}


@pytest.mark.parametrize("case", FIGURE_1)
def test_the_events_of_figure_1(case: str) -> None:
    event, meaning = FIGURE_1[case]
    initial = np.array([0.2, 0.5, 0.3])
    expected = sum(
        initial[u0] * M[u0, u1]
        for u0 in range(3)
        for u1 in range(3)
        if eval(meaning, {"u0": u0, "u1": u1})
    )
    assert prior_probability(event, Mobility(M), initial) == pytest.approx(expected, rel=1e-14)
    assert compile_event(event, 3).width == 2


def test_event_a_of_figure_1_is_always_false() -> None:
    with pytest.raises(EventError, match="cannot happen"):
        prior_probability(at(0, 0) & at(1, 0), Mobility(M))


TABLE_2: dict[str, tuple[Event, Event]] = {
    "single location": (presence({1}, [2]), at(1, 2)),
    "presence at a location during T": (presence({1}, [0, 1, 2]), at(1, 0) | at(1, 1) | at(1, 2)),
    "presence in a region at t": (presence({0, 1}, [2]), at(0, 2) | at(1, 2)),
    "single trajectory": (pattern([0, 2, 1], start=0), at(0, 0) & at(2, 1) & at(1, 2)),
    "pattern of trajectories": (
        pattern([{0, 1}, {1, 2}], start=1),
        (at(0, 1) | at(1, 1)) & (at(1, 2) | at(2, 2)),
    ),
}


@pytest.mark.parametrize("row", TABLE_2)
def test_the_rows_of_table_2(row: str) -> None:
    named, spelled_out = TABLE_2[row]
    initial = np.array([0.2, 0.5, 0.3])
    found = prior_probability(named, Mobility(M), initial)
    assert found == pytest.approx(prior_probability(spelled_out, Mobility(M), initial), rel=1e-14)
    expected, _ = joint_by_enumeration(spelled_out, [M] * 3, initial, [])
    assert found == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_presence_is_the_paper_s_two_worlds(seed: int) -> None:
    random = np.random.default_rng(seed)
    transition = random_stochastic(random, (4, 4), zeros=0.2)
    initial = random_stochastic(random, (4,))
    regions = {t: [0, 2] for t in (3, 4, 5)}
    expected = two_world_prior(transition, initial, regions, kind="presence", literal=False)
    found = prior_probability(presence({0, 2}, [2, 3, 4]), Mobility(transition), initial)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_erratum_pattern_matrices_need_the_region_of_the_arrival_step(seed: int) -> None:
    random = np.random.default_rng(seed)
    transition = random_stochastic(random, (4, 4))
    initial = random_stochastic(random, (4,))
    regions = {2: [0, 1], 3: [1, 2], 4: [3]}
    event = pattern([regions[t] for t in (2, 3, 4)], start=1)
    truth, _ = joint_by_enumeration(event, [transition] * 4, initial, [])
    literal = two_world_prior(transition, initial, regions, kind="pattern", literal=True)
    mended = two_world_prior(transition, initial, regions, kind="pattern", literal=False)
    assert literal != pytest.approx(truth, rel=1e-3)
    assert mended == pytest.approx(truth, rel=1e-12)
    assert prior_probability(event, Mobility(transition), initial) == pytest.approx(
        truth, rel=1e-12
    )


@needs_cplex
def test_erratum_beliefs_must_sum_to_one() -> None:
    # a release that tells nothing: b = Pr(o) a, c = Pr(o)
    a = np.array([0.3, 0.6, 0.1])
    b, c = 0.25 * a, np.full(3, 0.25)
    for quadratic, linear in theorem_checks(a, b, c, epsilon=0.5):
        assert (
            smallest_value(quadratic, linear) >= -1e-9
        )  # over distributions it passes, as it must
    quadratic, linear = theorem_checks(a, b, c, epsilon=0.5)[0]
    in_the_box = np.array([0.0, 0.1, 0.0])  # 0 ≤ p ≤ 1 is all that the paper asks for
    assert in_the_box @ quadratic @ in_the_box + linear @ in_the_box < -0.01
    assert within(a, 1 - a, b, c - b, 0.5)


def test_erratum_the_first_location_set_is_that_of_the_prior_itself() -> None:
    prior = np.array([0.9, 0.1, 0.0])
    shift = np.roll(np.eye(3), 1, axis=1)  # everybody moves one cell on
    grid = Grid(1, 3)
    assert location_set(prior, 0.05).tolist() == [0, 1]
    assert location_set(prior @ shift, 0.05).tolist() == [1, 2]  # the paper's p_1 = π M
    released = set()
    for seed in range(60):
        protector = Protector(
            Mobility(shift),
            LocationSet(Exponential(grid, 1.0), 0.05, prior),
            Protect(at(0, 4), 5.0),
            calibration=Retry(),
            seed=seed,
            prior=AnyPrior(),
        )
        released.add(protector.release(0).cell)
    assert released == {0, 1}  # under the literal reading it would be {1, 2}
