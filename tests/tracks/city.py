"""A small city with a person's days in it, for tests of the whole job."""

from functools import cache
from pathlib import Path

import pandas as pd

from priste import Grid, Mobility, Protect
from priste.tracks import Clock, LocalMap, Model, as_track, fit_model, read_events

ZONE = "Europe/Berlin"
STREETS = Grid(rows=5, columns=5, cell_size=1.0)
PLACE = LocalMap(Grid(5, 5, 1.0, elsewhere=True), latitude=52.52, longitude=13.40)
AWAY = PLACE.grid.n_squares
DAYS = [pd.Timestamp("2024-05-06", tz=ZONE) + pd.Timedelta(days=d) for d in range(12)]

EVENTS = """
time_zone = "Europe/Berlin"
[regions.clinic]
circle = { latitude = 52.52, longitude = 13.40, radius_km = 0.4 }
[windows.morning]
from = "09:00"
to = "13:00"
[events.treatment]
kind = "presence"
region = "clinic"
window = "morning"
epsilon = 0.8
[events.quiet]
kind = "visits"
region = "clinic"
window = "morning"
at_least = 2
[events.odd]
kind = "expression"
expression = "treatment and not quiet"
epsilon = 1.5
sides = "event"
"""


def days(first: int, last: int) -> pd.DataFrame:
    """Fixes of an hour each of some of the days."""
    habits = Mobility.gaussian(STREETS, sigma=1.2)
    tracks = [
        as_track(range(24), habits.sample(24, seed=d), PLACE, Clock(DAYS[d], pd.Timedelta("1h")))
        for d in range(first, last)
    ]
    return pd.concat(
        (track.assign(track=f"day {d}") for d, track in enumerate(tracks)), ignore_index=True
    )


def travels(first: int, last: int) -> pd.DataFrame:
    """Days of which mornings and evenings are spent 111 km to the north."""
    table = days(first, last)
    hour = table["time"].dt.tz_convert(ZONE).dt.hour
    gone = hour.between(4, 9) | (hour >= 18)
    return table.assign(latitude=table["latitude"] + gone)


@cache
def model() -> Model:
    """One habit, learned as simply as can be."""
    return fit_model(
        days(0, 10),
        step="1h",
        place=PLACE,
        time_zone=ZONE,
        time_of_day=False,
        order=1,
        smoothing=1.0,
        base="uniform",
        habits=1,
    )


@cache
def habits() -> Model:
    """A set of habits, as they are by default."""
    return fit_model(days(0, 10), step="1h", place=PLACE, time_zone=ZONE)


@cache
def traveller() -> Model:
    """One habit of somebody who is often off the map."""
    return fit_model(travels(0, 10), step="1h", place=PLACE, time_zone=ZONE, habits=1)


def events_file(folder: Path, text: str = EVENTS) -> Path:
    path = folder / "events.toml"
    path.write_text(text)
    return path


def events_of_day(folder: Path) -> list[Protect]:
    return read_events(events_file(folder), PLACE, Clock(DAYS[10], pd.Timedelta("1h")), 24)
