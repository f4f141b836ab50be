"""What a stream runs with unless told otherwise."""

import numpy as np
import pytest

from priste import EmissionMatrix, Grid, OptimalRemap, PlanarLaplace
from priste.mechanisms.mechanism import Mechanism
from priste.stream.parts import default_calibration

NOISE = PlanarLaplace(Grid(2, 2), 1.0)


def default(mechanism: Mechanism, n_models: int, **options: float | bool) -> OptimalRemap:
    found = default_calibration(mechanism, n_models, **options)  # type: ignore[arg-type]
    assert isinstance(found, OptimalRemap)
    return found


def test_one_model_spends_all_of_epsilon_at_once_on_all_that_gains() -> None:
    one = default(NOISE, 1)
    assert (one.loss, one.spending, one.avoid_secret) == ("distance", "all", False)
    assert (one.margin, one.focus, one.thrift) == (0.0, 1.0, 0.0)


def test_several_models_hold_back_a_share_and_tell_what_is_worth_it() -> None:
    several = default(NOISE, 3)
    assert (several.loss, several.spending, several.avoid_secret) == (
        "distance",
        "proportional",
        False,
    )
    assert (several.margin, several.focus, several.thrift) == (0.65, 1.5, 0.5)


@pytest.mark.parametrize("n_models", [1, 3])
@pytest.mark.parametrize("margin", [0.0, 0.2])
def test_a_margin_of_ones_own_is_kept(n_models: int, margin: float) -> None:
    assert default(NOISE, n_models, margin=margin).margin == margin
    assert default(NOISE, n_models, avoid_secret=True).avoid_secret


@pytest.mark.parametrize("n_models", [1, 3])
def test_where_no_distance_is_known_cells_are_the_same_or_not(n_models: int) -> None:
    found = default(EmissionMatrix(np.eye(4)), n_models)
    assert found.loss == "same cell"
    assert found.thrift == 0.0
