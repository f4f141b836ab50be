import numpy as np
import pytest

from priste import Grid, MechanismError, NoNoise

GRID = Grid(2, 3)


def test_it_releases_the_truth_and_weaker_versions_mix_it_with_anything() -> None:
    np.testing.assert_array_equal(NoNoise(GRID).emission(), np.eye(6))
    np.testing.assert_allclose(
        NoNoise(GRID).weaker(0.5).emission(), 0.5 * np.eye(6) + 0.5 / 6, rtol=1e-15
    )
    assert NoNoise(GRID).distances is not None
    assert NoNoise(GRID).uninformative().budget == 0


def test_a_share_above_one_is_refused() -> None:
    with pytest.raises(MechanismError, match="a share, at most 1; got 2"):
        NoNoise(GRID, 2.0)
