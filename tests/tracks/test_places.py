import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Geod

from priste import Grid, GridError, PlanarLaplace
from priste.errors import TrackError
from priste.tracks import clean, read_geolife
from priste.tracks.places import OFF_THE_MAP, LocalMap, Outside
from tests.tracks.tables import random_table, shared_data

BEIJING = LocalMap(Grid(20, 20, cell_size=1.9), 39.925, 116.4)


@settings(max_examples=40)
@given(st.floats(-65, 65), st.floats(-179.5, 179.5), st.floats(0.1, 3), st.integers(1, 25))
def test_a_cell_s_centre_lies_in_the_cell(lat: float, lon: float, size: float, n: int) -> None:
    place = LocalMap(Grid(n, n + 1, size), lat, lon)
    cells = np.arange(place.grid.n_cells)
    np.testing.assert_array_equal(place.cell_at(*place.centres(cells)), cells)


def test_distances_are_those_on_the_ground() -> None:
    latitude, longitude = BEIJING.centres([0, 399, 210])
    ground = Geod(ellps="WGS84")
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        metres = ground.inv(longitude[i], latitude[i], longitude[j], latitude[j])[2]
        cells = [0, 399, 210]
        assert BEIJING.grid.distances[cells[i], cells[j]] == pytest.approx(metres / 1e3, rel=1e-4)


@pytest.mark.parametrize(("latitude", "longitude"), [(0.0, 0.0), (39.9, 116.4), (65.0, 25.5)])
def test_distances_hold_across_a_map_of_50_km_anywhere(latitude: float, longitude: float) -> None:
    place = LocalMap(Grid(20, 20, cell_size=2.5), latitude, longitude)
    lat, lon = place.centres(range(400))
    first, second = np.random.default_rng(0).integers(400, size=(2, 2000))
    apart = first != second
    first, second = first[apart], second[apart]
    ground = Geod(ellps="WGS84").inv(lon[first], lat[first], lon[second], lat[second])[2] / 1e3
    np.testing.assert_allclose(place.grid.distances[first, second], ground, rtol=1e-3, atol=0)


@pytest.mark.parametrize(("latitude", "longitude"), [(0.0, 0.0), (39.9, 116.4), (65.0, 25.5)])
def test_noise_spreads_alike_in_all_directions_on_the_ground(
    latitude: float, longitude: float
) -> None:
    place = LocalMap(Grid(41, 41, cell_size=0.5), latitude, longitude)
    middle = 20 * 41 + 20
    weights = PlanarLaplace(place.grid, budget=1.0).emission()[middle]
    lat, lon = place.centres(range(41 * 41))
    others = np.arange(41 * 41) != middle
    azimuth, _, metres = Geod(ellps="WGS84").inv(
        np.full(others.sum(), lon[middle]),
        np.full(others.sum(), lat[middle]),
        lon[others],
        lat[others],
    )
    east, north = metres * np.sin(np.radians(azimuth)), metres * np.cos(np.radians(azimuth))
    spread = [weights[others] @ along**2 for along in (east, north, (east + north) / np.sqrt(2))]
    np.testing.assert_allclose(spread, spread[0], rtol=2e-3)


def test_rows_go_north_and_columns_go_east() -> None:
    latitude, longitude = BEIJING.centres([0, 1, 20])
    assert longitude[1] > longitude[0]
    assert latitude[2] > latitude[0]


def test_a_map_around_fixes_has_about_the_cells_asked_for() -> None:
    table = random_table(3000, seed=0)
    place = LocalMap.around(table, cells=400)
    assert 350 <= place.grid.n_squares <= 400
    inside = place.covers(table["latitude"], table["longitude"])
    assert 0.9 < inside.mean() <= 1
    with pytest.raises(TrackError, match="no fixes"):
        LocalMap.around(table.iloc[:0])


def days_of_somebody(away: float) -> pd.DataFrame:
    """Two months between a home and an office 8 km apart, and a share of the time 9,000 km away."""
    random = np.random.default_rng(0)
    times = pd.Timestamp("2024-03-01", tz="UTC") + pd.to_timedelta(
        np.arange(8_640) * 10, unit="min"
    )
    at_work = (np.arange(8_640) // 72) % 2 == 1
    latitude = np.where(at_work, 52.55, 52.48) + random.normal(0, 0.002, 8_640)
    longitude = 13.4 + random.normal(0, 0.003, 8_640)
    gone = np.arange(8_640) < away * 8_640
    return pd.DataFrame(
        {
            "track": "0",
            "time": times,
            "latitude": np.where(gone, 35.68, latitude),
            "longitude": np.where(gone, 139.77, longitude),
        }
    )


@pytest.mark.parametrize("away", [0.0, 0.03, 0.09])
def test_a_trip_does_not_make_the_map_coarse(away: float) -> None:
    table = days_of_somebody(away)
    place = LocalMap.around(table)
    assert place.grid.cell_size < 1.0
    inside = place.covers(table["latitude"], table["longitude"])
    assert inside.mean() == pytest.approx(1 - away, abs=0.001)


def test_who_lives_in_two_places_has_both_on_the_map() -> None:
    table = days_of_somebody(0.3)
    table = table.where(table["latitude"] > 40, table.assign(latitude=53.55, longitude=9.99))
    place = LocalMap.around(table)
    assert place.covers(table["latitude"], table["longitude"]).all()


def test_bursts_of_fixes_count_for_the_time_they_took() -> None:
    table = days_of_somebody(0.03)
    burst = table.loc[table.index[:1].repeat(100_000)].assign(
        time=table["time"].iloc[0] + pd.to_timedelta(np.arange(100_000) * 5, unit="ms")
    )
    both = pd.concat([table, burst])
    assert LocalMap.around(both) == LocalMap.around(table)


def test_points_off_the_map_are_handled_as_chosen() -> None:
    with pytest.raises(GridError, match="1 of 2 points lie off the map"):
        BEIJING.cell_at([39.925, 50.0], [116.4, 116.4])
    clamped = BEIJING.cell_at([39.925, 50.0], [116.4, 116.4], outside="clamp")
    assert clamped[1] // 20 == 19
    assert BEIJING.cell_at([50.0], [116.4], outside="drop").tolist() == [OFF_THE_MAP]
    assert BEIJING.covers([39.925, 50.0], [116.4, 116.4]).tolist() == [True, False]


def test_the_border_belongs_to_the_map() -> None:
    """To the last digit, as it does for the cells."""
    x, y = np.array([0.0, 38.0, 0.0, 38.0]), np.array([0.0, 38.0, 38.0, 0.0])
    assert BEIJING._holds(x, y).all()
    assert not BEIJING._holds(np.nextafter(x, [-1, 99, -1, 99]), y).any()
    assert (BEIJING.grid.cell_at(x, y) >= 0).all()


@pytest.mark.parametrize("outside", ["refuse", "clamp", "drop"])
def test_points_off_the_map_are_elsewhere_where_there_is_such_a_cell(outside: Outside) -> None:
    place = LocalMap(replace(BEIJING.grid, elsewhere=True), BEIJING.latitude, BEIJING.longitude)
    cells = place.cell_at([39.925, 50.0], [116.4, 116.4], outside=outside)
    assert cells[1] == place.grid.elsewhere_cell == BEIJING.grid.n_cells
    assert place.corners == BEIJING.corners
    latitude, longitude = place.centres([0, cells[1]])
    assert np.isnan([latitude[1], longitude[1]]).all()
    assert (latitude[0], longitude[0]) == tuple(np.ravel(BEIJING.centres([0])))
    assert repr(place).endswith(", and elsewhere>")


def test_a_map_has_a_cell_for_elsewhere_unless_told_otherwise() -> None:
    table = days_of_somebody(0.05)
    assert LocalMap.around(table).grid.elsewhere
    assert LocalMap.within(39.0, 116.0, 40.0, 117.0).grid.elsewhere
    assert not LocalMap.around(table, elsewhere=False).grid.elsewhere
    assert not LocalMap.within(39.0, 116.0, 40.0, 117.0, elsewhere=False).grid.elsewhere


def test_regions_cover_what_they_overlap() -> None:
    tiny = BEIJING.circle(39.925, 116.4, radius=0.01)
    assert len(tiny) == 4  # the centre of the map is a corner of four cells
    corners = [(116.39, 39.92), (116.41, 39.92), (116.41, 39.93), (116.39, 39.93)]
    assert set(tiny) <= set(BEIJING.polygon(corners))


def test_a_centre_that_cannot_be_is_refused() -> None:
    with pytest.raises(TrackError, match="latitude within 90"):
        LocalMap(Grid(2, 2), 400.17, 0.0)


def test_default_maps_of_real_people_hold_their_days_and_are_fine(tmp_path: Path) -> None:
    """Of the people of Geolife, some who live in one city and were also far away from it."""
    with tarfile.open(shared_data("geolife-8-users.tar.xz")) as tar:
        names = ("Data/000/", "Data/092/", "Data/112/")
        members = [m for m in tar.getmembers() if m.name.startswith(names)]
        tar.extractall(tmp_path, members=members, filter="data")
    for name in ("000", "092", "112"):
        table = clean(read_geolife(tmp_path / "Data" / name))[0]
        place = LocalMap.around(table)
        steps = table.assign(step=table["time"].dt.floor("10min")).drop_duplicates("step")
        assert place.covers(steps["latitude"], steps["longitude"]).mean() >= 0.9
        assert place.grid.cell_size < 3
        assert np.ptp(table["latitude"]) > 3  # degrees: hundreds of kilometres
