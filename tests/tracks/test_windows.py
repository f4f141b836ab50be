from datetime import time

import pandas as pd
import pytest

from priste.errors import TrackError
from priste.tracks import Clock, Window

HOURLY = Clock(pd.Timestamp("2024-03-30T00:00", tz="Europe/Berlin"), pd.Timedelta(hours=1))


def hours(window: Window, n_steps: int = 72) -> list[str]:
    moments = HOURLY.time_of(window.steps(HOURLY, n_steps)).tz_convert("Europe/Berlin")
    return [f"{moment:%d %H}" for moment in moments]


def test_hours_are_those_of_the_wall_clock_across_daylight_saving() -> None:
    # the clocks go forward in the night to the 31st
    early = Window("Europe/Berlin", opens=time(1), closes=time(5))
    assert hours(early) == ["30 01", "30 02", "30 03", "30 04", "31 01", "31 03", "31 04"] + [
        "01 01", "01 02", "01 03", "01 04",
    ]  # fmt: skip


def test_in_autumn_the_hour_that_comes_twice_counts_twice() -> None:
    clock = Clock(pd.Timestamp("2024-10-27T00:00", tz="Europe/Berlin"), pd.Timedelta(hours=1))
    assert Window("Europe/Berlin", opens=time(2), closes=time(3)).steps(clock, 24) == [2, 3]


def test_days_and_moments_restrict_too() -> None:
    sunday = Window("Europe/Berlin", days=("sun",), opens=time(22), closes=time(23))
    assert hours(sunday) == ["31 22"]
    start = pd.Timestamp("2024-03-31T20:00", tz="Europe/Berlin")
    evening = Window("Europe/Berlin", start=start, end=start + pd.Timedelta(hours=2))
    assert hours(evening) == ["31 20", "31 21"]


def test_hours_past_midnight_belong_to_the_day_they_begin_on() -> None:
    night = Window("Europe/Berlin", days=("sat",), opens=time(22), closes=time(2))
    assert hours(night) == ["30 22", "30 23", "31 00", "31 01"]


def test_steps_are_told_apart_by_the_day_they_belong_to() -> None:
    night = Window("Europe/Berlin", opens=time(22), closes=time(2))
    clock = Clock(pd.Timestamp("2024-05-06", tz="Europe/Berlin"), pd.Timedelta(hours=1))
    days = {str(day): steps for day, steps in night.by_day(clock, 48).items()}
    assert days == {
        "2024-05-05": [0, 1],
        "2024-05-06": [22, 23, 24, 25],
        "2024-05-07": [46, 47],
    }
    assert night.steps(clock, 48) == [0, 1, 22, 23, 24, 25, 46, 47]


def test_another_time_zone_is_another_clock() -> None:
    noon = Window("America/New_York", opens=time(12), closes=time(13))
    assert hours(noon, 24) == ["30 17"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time_zone": "Mars/Base"}, "time_zone 'Mars/Base' is not known"),
        ({"opens": time(9)}, "needs both"),
        ({"opens": time(9), "closes": time(9)}, "leaves no time"),
        ({"days": ("monday",)}, "days are mon, tue, wed, thu, fri, sat, sun, not .monday"),
        (
            {
                "start": pd.Timestamp("2024-02-01", tz="UTC"),
                "end": pd.Timestamp("2024-01-01", tz="UTC"),
            },
            "begins at .* and ends at",
        ),
    ],
)
def test_windows_that_cannot_be_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(TrackError, match=message):
        Window(**{"time_zone": "UTC", **arguments})  # type: ignore[arg-type]
