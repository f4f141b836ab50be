"""Steps of the local day on real clocks."""

import numpy as np
import pandas as pd
import pytest

from priste import Grid, Mobility
from priste.storage.fingerprint import fingerprint
from priste.tracks import Clock, LocalMap, Model, as_track, fit_model
from priste.tracks.local_phase import LocalPhase

BERLIN = "Europe/Berlin"
HOUR = pd.Timedelta(hours=1)


def midnight(day: str, zone: str = BERLIN) -> pd.Timestamp:
    return pd.Timestamp(day, tz=zone)


@pytest.mark.parametrize(
    ("day", "zone"),
    [
        ("2024-03-30", BERLIN),
        ("2024-10-26", BERLIN),
        ("2024-05-06", "UTC"),
        ("2023-04-27", "Africa/Cairo"),
        ("2024-05-06", "Asia/Kolkata"),
    ],
)
def test_a_phase_is_the_hour_on_the_wall_clock(day: str, zone: str) -> None:
    clock = Clock(midnight(day, zone), HOUR)
    phase = LocalPhase.of(clock, zone)
    hours = clock.time_of(range(72)).tz_convert(zone).hour
    assert [phase(step) for step in range(72)] == hours.tolist()


def by_hour() -> Model:
    """A model whose matrix of hour h sends everybody to cell h of 24."""
    place = LocalMap(Grid(4, 6), 52.5, 13.4)
    matrices = [np.tile(np.eye(24)[h], (24, 1)) for h in range(24)]
    return Model(place, HOUR, (Mobility(matrices, repeat=True),), BERLIN, {})


def test_a_long_stream_follows_daylight_saving() -> None:
    mobility = by_hour().mobilities_from(midnight("2024-03-30"))[0]
    clock = Clock(midnight("2024-03-30"), HOUR)
    steps = [*range(72), 24 * 250]
    for step, hour in zip(steps, clock.time_of(steps).tz_convert(BERLIN).hour, strict=True):
        assert mobility.transition(step)[0].argmax() == hour


def test_streams_that_begin_at_other_hours_are_told_apart() -> None:
    model = by_hour()
    first, second = (model.mobilities_from(midnight(d))[0] for d in ("2024-03-30", "2024-03-31"))
    assert fingerprint(first) != fingerprint(second)
    assert fingerprint(first) == fingerprint(model.mobilities_from(midnight("2024-03-30"))[0])


def test_habits_are_learned_by_the_wall_clock_over_a_change() -> None:
    """One long track over the end of March; at eight by the wall clock people go to work."""
    place = LocalMap(Grid(3, 3), 52.5, 13.4)
    clock = Clock(midnight("2024-03-25"), HOUR)
    steps = range(14 * 24 - 1)
    hours = clock.time_of(steps).tz_convert(BERLIN).hour
    track = as_track(steps, [8 if 8 <= hour < 16 else 0 for hour in hours], place, clock)
    model = fit_model(
        track, step="1h", place=place, time_zone=BERLIN, time_of_day=True, smoothing=0
    )
    assert model.provenance["moves"] == len(steps) - 1
    to_work, home_again = (model.mobility.transition(hour) for hour in (7, 15))
    assert to_work[0, 8] == home_again[8, 0] == 1
    assert model.mobility.transition(6)[0, 8] == model.mobility.transition(14)[8, 0] == 0
