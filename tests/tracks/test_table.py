import pandas as pd
import pytest

from priste.errors import TrackError
from priste.tracks import track_table


def frame(**columns: object) -> pd.DataFrame:
    base: dict[str, object] = {
        "time": ["2024-07-01T12:00:00Z"] * 2,
        "lat": [1.0, 2.0],
        "lon": [3, 4],
    }
    return pd.DataFrame({**base, **columns})


def test_usual_column_names_are_understood_and_the_frame_is_left_alone() -> None:
    given = frame(speed=[5, 6])
    before = given.copy(deep=True)
    table = track_table(given)
    assert list(table.columns) == ["track", "time", "latitude", "longitude", "speed"]
    assert table["track"].tolist() == ["0", "0"]
    pd.testing.assert_frame_equal(given, before)


def test_columns_can_be_named() -> None:
    given = pd.DataFrame(
        {"when": ["2024-07-01T12:00:00Z"], "north": [1.0], "east": [2.0], "bus": [7]}
    )
    names = {"time": "when", "latitude": "north", "longitude": "east", "track": "bus"}
    assert track_table(given, columns=names)["track"].tolist() == ["7"]
    with pytest.raises(TrackError, match="has no column 'up'; it has when, north, east, bus"):
        track_table(given, columns={"latitude": "up"})
    with pytest.raises(
        TrackError, match="columns= knows track, time, latitude, longitude, not speed"
    ):
        track_table(given, columns={"speed": "bus"})


def test_times_without_a_zone_need_one_and_daylight_saving_is_right() -> None:
    given = frame(time=["2024-01-01T12:00:00", "2024-07-01T12:00:00"])
    with pytest.raises(TrackError, match="2 times of the frame have no time zone.*time_zone='UTC'"):
        track_table(given)
    table = track_table(given, time_zone="Europe/Berlin")
    assert table["time"].dt.hour.tolist() == [11, 10]
    naive = frame(time=pd.to_datetime(["2024-01-01T12:00:00", "2024-07-01T12:00:00"]))
    assert track_table(naive, time_zone="Europe/Berlin")["time"].equals(table["time"])
    with pytest.raises(TrackError, match="time_zone='Mars/Base' is not a known time zone"):
        track_table(given, time_zone="Mars/Base")


def test_zones_may_differ_within_a_column() -> None:
    given = frame(time=["2024-01-01T12:00:00+01:00", "2024-01-01T11:00:00Z"])
    assert track_table(given)["time"].nunique() == 1


def test_what_cannot_be_read_as_a_time_or_number_becomes_missing_for_the_account() -> None:
    table = track_table(frame(time=["2024-01-01T12:00:00Z", "yesterday"], lat=["1.5", "north"]))
    assert table["time"].isna().tolist() == [False, True]
    assert table["latitude"].isna().tolist() == [False, True]
