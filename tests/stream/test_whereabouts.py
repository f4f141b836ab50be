"""Where the user is as far as everybody can tell, under several models."""

import numpy as np

from priste import Mobility
from priste.stream.whereabouts import Whereabouts

STAY, SWAP = Mobility(np.eye(2), [0.75, 0.25]), Mobility([[0.0, 1.0], [1.0, 0.0]], [0.75, 0.25])
MODELS = (STAY, SWAP)


def test_it_is_the_mean_over_the_models() -> None:
    start = Whereabouts.start(MODELS, None)
    np.testing.assert_allclose(start.cells(MODELS), [0.75, 0.25])
    moved = start.arrive(MODELS, 0)
    np.testing.assert_allclose(moved.cells(MODELS), [0.5, 0.5])
    seen = moved.observe(MODELS, np.array([1.0, 0.2]))
    first = 0.75 / (0.75 + 0.05)
    second = 0.25 / (0.25 + 0.15)
    np.testing.assert_allclose(seen.cells(MODELS)[0], (first + second) / 2)


def test_a_model_under_which_a_release_is_impossible_learns_nothing() -> None:
    start = Whereabouts.start(MODELS, np.array([1.0, 0.0]))
    there = start.arrive(MODELS, 0)  # one model says cell 0, the other cell 1
    only_zero = np.array([1.0, 0.0])
    np.testing.assert_array_equal(there.observe(MODELS, only_zero).by_model, there.by_model)
    assert there.deem_possible(MODELS, only_zero)
    assert not start.deem_possible(MODELS, np.array([0.0, 1.0]))
