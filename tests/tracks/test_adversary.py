from pathlib import Path

import numpy as np
import pytest

from priste import AnyPrior, KnownPrior, NearPrior, PlanarLaplace, PriorError, Protector
from priste.tracks import Adversary, protect_track
from tests.tracks import city


def test_each_adversary_has_its_beliefs() -> None:
    mobility = city.model().mobility
    known, near, anyone = (
        Adversary(kind, 0.3).prior(mobility) for kind in ("known", "near", "any")
    )
    assert isinstance(known, KnownPrior)
    assert isinstance(near, NearPrior)
    assert near.rho == 0.3
    assert isinstance(anyone, AnyPrior)
    np.testing.assert_array_equal(known.belief, mobility.initial)
    np.testing.assert_array_equal(near.belief, mobility.initial)


def test_a_track_is_protected_against_whom_a_bare_protector_protects(tmp_path: Path) -> None:
    model = city.model()
    track = protect_track(city.days(10, 11).head(1), model, city.events_file(tmp_path))
    bare = Protector(
        model.mobilities_from(track.stream.clock.start)[0],
        PlanarLaplace(model.place.grid, 1.0),
        track.protections,
    )
    assert isinstance(track.protector.prior, NearPrior)
    assert isinstance(bare.prior, NearPrior)
    assert track.protector.prior.rho == bare.prior.rho == Adversary().rho
    np.testing.assert_array_equal(track.protector.prior.belief, bare.prior.belief)
    assert type(track.protector.calibration) is type(bare.calibration)
    assert vars(track.protector.calibration) == vars(bare.calibration)


@pytest.mark.parametrize("rho", [-0.1, 1.5, float("nan")])
def test_a_share_that_is_none_is_refused(rho: float) -> None:
    with pytest.raises(PriorError, match="rho must lie in"):
        Adversary("near", rho)


def test_words_say_who_it_is() -> None:
    assert str(Adversary("any")).startswith("any observer")
    assert "exactly what the model says" in str(Adversary("known"))
    assert "0.75 of the belief is the model's, the other 0.25 may be" in str(
        Adversary("near", 0.25)
    )
