"""Nothing is called zero that is not: errors are from the fix to what was released."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from pyproj import Geod

from priste import EmissionMatrix
from priste.tracks import LocalMap, Model, ProtectedTrack, fit_model, protect_track
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


ON_THE_BORDER = LocalMap(city.STREETS, city.PLACE.latitude, city.PLACE.longitude)


@cache
def without_elsewhere() -> Model:
    fixes = city.days(0, 10)
    return fit_model(fixes, step="1h", place=ON_THE_BORDER, time_zone=city.ZONE, habits=1)


def test_a_day_500_km_away_is_a_day_like_others_and_is_shown_as_away(tmp_path: Path) -> None:
    munich = city.days(10, 11).assign(latitude=48.14, longitude=11.58)
    result = protect_track(munich, city.traveller(), city.events_file(tmp_path), seed=0)
    assert len(result.releases) == 24
    away = result.released["away"].to_numpy()
    assert away.sum() == result.accuracy.known_away > 12
    assert np.isnan(result.errors[away]).all()
    assert (result.errors[~away] > 490).all()
    assert np.isnan(result.accuracy.released)
    assert result.accuracy.off_map == 24
    assert "mean error" not in repr(result.accuracy)
    assert "24 fixes off the map" in repr(result.accuracy)
    assert result.certificate.check(city.traveller()).kept


def test_without_a_cell_for_elsewhere_the_error_of_such_a_day_is_500_km(tmp_path: Path) -> None:
    munich = city.days(10, 11).assign(latitude=48.14, longitude=11.58)
    result = protect_track(munich, without_elsewhere(), city.events_file(tmp_path), seed=0)
    assert "away" not in result.released
    np.testing.assert_allclose(result.errors, away(result, 48.14, 11.58), rtol=1e-9)
    assert result.accuracy.beyond == pytest.approx(result.errors.mean())
    assert result.accuracy.beyond > 490
    assert "24 shown on it, on average 50" in repr(result.accuracy)


@pytest.mark.parametrize("model", [city.traveller, without_elsewhere])
def test_fixes_off_the_map_do_not_hide_among_those_on_it(
    model: Callable[[], Model], tmp_path: Path
) -> None:
    """A cab that drives off the map now and then: what happens there is told apart."""
    result = protect_track(city.travels(10, 11), model(), city.events_file(tmp_path), seed=0)
    found, gone = result.accuracy, np.isin(np.arange(24), [*range(4, 10), *range(18, 24)])
    assert (found.on_map, found.off_map) == (12, 12)
    assert found.released == pytest.approx(np.nanmean(result.errors[~gone]))
    assert np.isnan(result.errors[~gone]).sum() == found.shown_away
    assert not (result.errors[gone] < 100).any()
    assert "fixes off the map" in found.rows()[-1][0]
    assert "12 fixes off the map" in repr(found)
    assert "mean error" in repr(found)


def test_who_is_shown_as_away_is_counted_and_is_no_distance() -> None:
    place = city.PLACE
    fixes = np.array([[52.52, 13.40], [48.14, 11.58]])
    elsewhere = city.AWAY
    assert np.isnan(distances_to(place, fixes, [elsewhere, elsewhere])).all()
    noise = np.eye(place.grid.n_cells)
    shown = accuracy_of(
        place, fixes, [0, 1], [12, elsewhere], [elsewhere, 0], noise, city.model().mobility
    )
    assert (shown.shown_away, shown.known_away) == (1, 0)
    assert repr(shown).startswith("<Accuracy: 1 of 1 fixes on the map shown as away; 1 fix off")
    assert [what for what, _ in shown.rows()][-2:] == [
        "fixes on the map shown as away",
        "fixes off the map",
    ]


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
    between = place.grid.distances[true, : city.AWAY]
    assert found.constant == pytest.approx(between.mean(axis=0).min(), abs=1e-6)
    assert found.blind == pytest.approx(between.mean(), abs=1e-6)
    noise = result.protector.mechanism.emission()[true, : city.AWAY]
    away = noise.sum(axis=1)
    assert found.noise == pytest.approx(((noise * between).sum(axis=1) / away).mean(), abs=1e-6)
    mobility, belief = city.model().mobility, city.model().mobility.initial
    usual = []
    for cell in true:
        usual.append(
            place.grid.distances[int(np.argmin((belief @ place.grid.distances)[:-1])), cell]
        )
        belief = belief @ mobility.transition(0)
    assert found.usual == pytest.approx(np.mean(usual), abs=1e-6)
    assert "private" in repr(found)


def test_noise_that_gives_no_cells_is_left_out() -> None:
    fixes = np.array([city.PLACE.centres([3])]).reshape(1, 2)
    two = EmissionMatrix(np.full((city.PLACE.grid.n_cells, 2), 0.5)).emission()
    found = accuracy_of(city.PLACE, fixes, [0], [3], [3], two, city.model().mobility)
    assert not any("noise" in what for what, _ in found.rows())
    assert distances_to(city.PLACE, fixes, [3])[0] < 1e-6
