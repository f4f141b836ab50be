"""Where the user is as far as everybody can tell, under several models."""

from dataclasses import replace

import numpy as np

from priste import Mobility
from priste.stream.whereabouts import Whereabouts

STAY, SWAP = Mobility(np.eye(2), [0.75, 0.25]), Mobility([[0.0, 1.0], [1.0, 0.0]], [0.75, 0.25])
MODELS = (STAY, SWAP)


def test_models_are_trusted_alike_before_anything_is_released() -> None:
    for count in (1, 2, 4):
        assert Whereabouts.start([STAY] * count, None).trust.tolist() == [1 / count] * count


def test_models_count_as_far_as_they_foretold_the_releases() -> None:
    start = Whereabouts.start(MODELS, None)
    np.testing.assert_allclose(start.cells(MODELS), [0.75, 0.25])
    moved = start.arrive(MODELS, 0)
    np.testing.assert_allclose(moved.cells(MODELS), [0.5, 0.5])
    seen = moved.observe(MODELS, np.array([1.0, 0.2]))
    joint = np.array([[0.75, 0.05], [0.25, 0.15]]) / 2  # of a model and a cell, and the release
    np.testing.assert_allclose(seen.trust, joint.sum(axis=1) / joint.sum())
    np.testing.assert_allclose(seen.cells(MODELS), joint.sum(axis=0) / joint.sum())


def test_trust_is_carried_from_release_to_release() -> None:
    columns = np.array([[1.0, 0.2], [0.9, 0.3]])
    seen = Whereabouts.start(MODELS, None)
    for column in columns:
        seen = seen.observe(MODELS, column)
    np.testing.assert_allclose(seen.trust, [0.5, 0.5])  # both said the same so far
    expected = 0.98 * seen.trust + 0.01
    seen = seen.arrive(MODELS, 0)
    for column in columns:
        expected = expected * [belief @ column for belief in seen.by_model]
        seen = seen.observe(MODELS, column)
    np.testing.assert_allclose(seen.trust, expected / expected.sum())


def test_trust_that_was_lost_comes_back() -> None:
    start = Whereabouts.start(MODELS, np.array([1.0, 0.0]))
    there = start.arrive(MODELS, 0)  # one model says cell 0, the other cell 1
    seen = there.observe(MODELS, np.array([1.0, 0.0]))
    assert seen.trust.tolist() == [1.0, 0.0]
    for step in range(1, 3):
        seen = seen.arrive(MODELS, step)
    back = 0.5 * (1 - 0.98**2)
    np.testing.assert_allclose(seen.trust, [1 - back, back])
    np.testing.assert_allclose(seen.cells(MODELS), [seen.trust[0], seen.trust[1]])


def test_trust_is_evened_out_over_any_number_of_models() -> None:
    for trust in ([1.0], [0.6, 0.2, 0.2], [1.0, 0.0, 0.0, 0.0]):
        models = [STAY] * len(trust)
        start = replace(Whereabouts.start(models, None), trust=np.array(trust))
        expected = 0.98 * np.array(trust) + 0.02 / len(trust)
        np.testing.assert_allclose(start.arrive(models, 0).trust, expected, rtol=1e-12, atol=0)


def test_a_release_that_no_model_allows_changes_nothing() -> None:
    start = Whereabouts.start(MODELS, np.array([1.0, 0.0]))
    there = replace(start, trust=np.array([0.9, 0.1]))
    seen = there.observe(MODELS, np.array([0.0, 1.0]))
    np.testing.assert_array_equal(seen.trust, there.trust)
    np.testing.assert_array_equal(seen.by_model, there.by_model)


def test_a_model_under_which_a_release_is_impossible_learns_nothing() -> None:
    start = Whereabouts.start(MODELS, np.array([1.0, 0.0]))
    there = start.arrive(MODELS, 0)  # one model says cell 0, the other cell 1
    only_zero = np.array([1.0, 0.0])
    np.testing.assert_array_equal(there.observe(MODELS, only_zero).by_model, there.by_model)
    assert there.deem_possible(MODELS, only_zero)
    assert not start.deem_possible(MODELS, np.array([0.0, 1.0]))
