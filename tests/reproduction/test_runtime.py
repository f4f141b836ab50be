import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reproduction.runtime import naive

from priste import Mobility, joint_probability, pattern


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 3))
def test_one_trajectory_after_another_comes_to_the_same(seed: int, length: int, width: int) -> None:
    random = np.random.default_rng(seed)
    n = 5
    transition = random.dirichlet(np.ones(n), size=n)
    initial = random.dirichlet(np.ones(n))
    columns = random.uniform(0.1, 1, size=(length + 1, n))
    regions = np.array([random.choice(n, width, replace=False) for _ in range(length)])
    total = naive(transition, initial * columns[0], columns[1:], regions)
    with_event, _ = joint_probability(
        pattern(regions.tolist(), 1), Mobility(transition), initial, columns
    )
    assert total == pytest.approx(with_event, rel=1e-10)
