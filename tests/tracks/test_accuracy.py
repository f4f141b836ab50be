"""Nothing is called zero that is not: errors are from the fix to what was released."""

from pathlib import Path

import numpy as np
import pytest
from pyproj import Geod

from priste import EmissionMatrix
from priste.tracks import Certificate, ProtectedTrack, protect_track
from priste.tracks.accuracy import accuracy_of, distances_to
from tests.tracks import city

GEOD = Geod(ellps="WGS84")


def away(table: ProtectedTrack, latitude: float, longitude: float) -> np.ndarray:
    """The way from one place to each release, by the geodesic."""
    released = table.released
    return np.array(
        [
            GEOD.inv(longitude, latitude, x, y)[2] / 1000
            for x, y in zip(released["longitude"], released["latitude"], strict=True)
        ]
    )


def test_a_day_500_km_away_is_a_day_like_others_and_its_error_is_500_km(tmp_path: Path) -> None:
    munich = city.days(10, 11).assign(latitude=48.14, longitude=11.58)
    result = protect_track(munich, city.model(), city.events_file(tmp_path), seed=0)
    assert isinstance(result.certificate, Certificate)
    assert len(result.releases) == 24
    np.testing.assert_allclose(result.errors, away(result, 48.14, 11.58), rtol=1e-9)
    assert result.errors.min() > 490
    assert result.accuracy.off_map == 24
    assert result.accuracy.beyond > 490
    assert any("off the map" in what for what, _ in result.accuracy.rows())


def test_some_fixes_off_the_map_are_counted_with_the_whole_way(tmp_path: Path) -> None:
    table = city.days(10, 11)
    table.loc[table.index[:6], "latitude"] += 1.0  # 111 km north
    result = protect_track(table, city.model(), city.events_file(tmp_path), seed=0)
    assert result.accuracy.off_map == 6
    assert (result.errors[:6] > 100).all()
    assert (result.errors[6:] < 20).all()
    assert result.accuracy.released == pytest.approx(result.errors.mean())
    assert "fixes off the map" in result.accuracy.rows()[-1][0]


def test_the_size_of_cells_is_part_of_the_error() -> None:
    """Whoever releases the very cell of a fix is still off by the way to its centre."""
    latitude, longitude = city.PLACE.centres([7])
    fixes = np.array([[latitude[0] + 0.003, longitude[0]], [latitude[0], longitude[0]]])
    mobility = city.model().mobility
    found = accuracy_of(
        city.PLACE, fixes, [0, 1], [7, 7], [7, 7], np.eye(city.PLACE.grid.n_cells), mobility
    )
    metres = GEOD.inv(longitude[0], latitude[0], longitude[0], latitude[0] + 0.003)[2]
    assert found.released == found.in_cell == found.noise == pytest.approx(metres / 2000)
    assert found.constant == found.released
    assert found.off_map == 0


def test_answers_that_took_no_track_are_what_they_say(tmp_path: Path) -> None:
    result = protect_track(city.days(10, 11), city.model(), city.events_file(tmp_path), seed=0)
    place, found = city.PLACE, result.accuracy
    true = [r.private.true_cell for r in result.releases]
    between = place.grid.distances[true]
    assert found.constant == pytest.approx(between.mean(axis=0).min(), abs=1e-6)
    assert found.blind == pytest.approx(between.mean(), abs=1e-6)
    noise = result.protector.mechanism.emission()[true]
    assert found.noise == pytest.approx((noise * between).sum(axis=1).mean(), abs=1e-6)
    mobility, belief = city.model().mobility, city.model().mobility.initial
    usual = []
    for cell in true:
        usual.append(place.grid.distances[int(np.argmin(belief @ place.grid.distances)), cell])
        belief = belief @ mobility.transition(0)
    assert found.usual == pytest.approx(np.mean(usual), abs=1e-6)
    assert "private" in repr(found)


def test_noise_that_gives_no_cells_is_left_out() -> None:
    fixes = np.array([city.PLACE.centres([3])]).reshape(1, 2)
    two = EmissionMatrix(np.full((city.PLACE.grid.n_cells, 2), 0.5)).emission()
    found = accuracy_of(city.PLACE, fixes, [0], [3], [3], two, city.model().mobility)
    assert not any("noise" in what for what, _ in found.rows())
    assert distances_to(city.PLACE, fixes, [3])[0] < 1e-6
