from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from priste import Grid
from priste.errors import TrackError
from priste.tracks import track_table
from priste.tracks.places import LocalMap
from priste.tracks.steps import Clock, as_track, discretise, runs, unbroken

PLACE = LocalMap(Grid(4, 4, cell_size=1.0), 52.5, 13.4)
CLOCK = Clock(pd.Timestamp("2024-05-01T08:00:00+02:00"), pd.Timedelta(minutes=10))


def fixes(minutes: Sequence[float], cells: list[int]) -> pd.DataFrame:
    latitude, longitude = PLACE.centres(cells)
    times = CLOCK.start + pd.to_timedelta(minutes, unit="min")
    return track_table(pd.DataFrame({"time": times, "latitude": latitude, "longitude": longitude}))


def test_a_step_takes_its_first_fix_and_a_gap_is_none() -> None:
    table = fixes([1, 5, 12, 41, 49.9, 50], [0, 9, 1, 2, 9, 3])
    assert discretise(table, PLACE, CLOCK) == [0, 1, None, None, 2, 3]


def test_the_order_of_rows_does_not_matter_and_the_table_is_left_alone() -> None:
    table = fixes([41, 1, 12, 5], [2, 0, 1, 9])
    before = table.copy(deep=True)
    assert discretise(table, PLACE, CLOCK) == [0, 1, None, None, 2]
    pd.testing.assert_frame_equal(table, before)


def test_fixes_outside_the_clock_are_left_out() -> None:
    table = fixes([-5, 3, 95], [5, 6, 7])
    assert discretise(table, PLACE, CLOCK, steps=3) == [6, None, None]


def test_gaps_do_not_depend_on_where_the_person_is() -> None:
    minutes = [0, 11, 35]
    gaps = {
        tuple(cell is None for cell in discretise(fixes(minutes, cells), PLACE, CLOCK))
        for cells in ([0, 0, 0], [15, 3, 7], [1, 2, 3])
    }
    assert len(gaps) == 1


def test_off_the_map_is_refused_clamped_or_dropped() -> None:
    table = fixes([0, 10], [5, 5])
    table.loc[1, "latitude"] = 60.0
    with pytest.raises(ValueError, match="off the map"):
        discretise(table, PLACE, CLOCK)
    assert discretise(table, PLACE, CLOCK, outside="drop") == [5, None]
    assert discretise(table, PLACE, CLOCK, outside="clamp")[1] in {12, 13, 14, 15}


def test_elsewhere_is_a_cell_of_the_stream_and_a_row_without_coordinates_of_the_track() -> None:
    place = LocalMap(replace(PLACE.grid, elsewhere=True), PLACE.latitude, PLACE.longitude)
    away = place.grid.n_squares
    table = fixes([0, 10, 20], [5, 6, 7])
    table.loc[1, "latitude"] += 3.0
    assert discretise(table, place, CLOCK) == [5, away, 7]
    assert runs(table, place, CLOCK) == [(0, [5, away, 7])]
    assert runs(table, PLACE, CLOCK) == [(0, [5]), (2, [7])]
    track = as_track([0, 1, 2], [5, away, 7], place, CLOCK)
    assert track["away"].tolist() == [False, True, False]
    assert track["latitude"].isna().tolist() == track["longitude"].isna().tolist()
    assert track["latitude"].isna().tolist() == [False, True, False]
    assert "away" not in as_track([0], [5], PLACE, CLOCK)


def test_released_cells_become_a_track_and_back() -> None:
    steps, cells = [0, 1, 4], [3, 7, 12]
    track = as_track(steps, cells, PLACE, CLOCK)
    assert discretise(track, PLACE, CLOCK) == [3, 7, None, None, 12]
    assert track["time"].iloc[2] == CLOCK.start + pd.Timedelta(minutes=40)


def test_runs_without_a_gap_keep_the_step_they_begin_at() -> None:
    assert unbroken([None, 4, 5, None, None, 6]) == [(1, [4, 5]), (5, [6])]
    assert unbroken([]) == []


def test_daylight_saving_does_not_bend_the_clock() -> None:
    night = Clock(pd.Timestamp("2024-03-31T00:00", tz="Europe/Berlin"), pd.Timedelta(hours=1))
    assert night.time_of([3])[0].tz_convert("Europe/Berlin").hour == 4


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(TrackError, match="needs a time zone"):
        Clock(pd.Timestamp("2024-05-01"), pd.Timedelta(minutes=1))
    with pytest.raises(TrackError, match="longer than zero"):
        Clock(pd.Timestamp("2024-05-01", tz="UTC"), pd.Timedelta(0))
    table = fixes([0], [5])
    table.loc[0, "time"] = pd.NaT
    with pytest.raises(TrackError, match="clean the table first"):
        discretise(table, PLACE, CLOCK)
    assert np.isfinite(PLACE.centres([0])[0]).all()
