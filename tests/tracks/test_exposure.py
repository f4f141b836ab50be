from pathlib import Path

import numpy as np

from priste import EmissionMatrix, KnownPrior, PlanarLaplace, privacy_loss
from priste.tracks import expose_track
from tests.tracks import city


def test_noise_alone_tells_what_its_columns_tell(tmp_path: Path) -> None:
    n = city.PLACE.grid.n_cells
    today = city.days(10, 11)
    truth = EmissionMatrix(np.eye(n))
    (exposure, _) = expose_track(
        today, city.model(), city.events_file(tmp_path), truth, adversary="known"
    )
    cells = city.PLACE.cell_at(today["latitude"], today["longitude"])
    event, mobility = exposure.protection.event, city.model().mobility
    expected = privacy_loss(
        event, mobility, list(np.eye(n)[cells]), prior=KnownPrior(mobility.initial)
    )
    np.testing.assert_array_equal(exposure.losses, expected)
    assert exposure.losses[-1] == np.inf  # the truth itself settles the question
    happened = event.holds(cells.tolist())
    assert exposure.after[-1] == (np.inf if happened else 0)
    assert exposure.crossed == int(np.argmax(expected > 0.8))
    assert exposure.losses[exposure.worst_step] == np.inf


def test_weak_noise_tells_little(tmp_path: Path) -> None:
    noise = PlanarLaplace(city.PLACE.grid, 1e-4)
    for exposure in expose_track(
        city.days(10, 11), city.model(), city.events_file(tmp_path), noise, seed=0
    ):
        assert exposure.losses.max() < 0.05
        assert exposure.crossed is None
