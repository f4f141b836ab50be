"""A valid file of each kind, the same each time."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from priste import Grid, Mobility
from priste.tracks import (
    Clock,
    LocalMap,
    Model,
    as_track,
    protect_track,
    save_model,
    save_stream,
    write,
)
from priste.tracks.certificate_file import to_json

EVENTS = """
time_zone = "Europe/Berlin"
[regions.clinic]
circle = { latitude = 52.52, longitude = 13.40, radius_km = 0.4 }
[regions.park]
polygon = [[13.40, 52.51], [13.42, 52.51], [13.41, 52.53]]
[regions.home]
cells = [3, 4]
[windows.morning]
from = "09:00"
to = "13:00"
days = ["mon", "tue", "wed"]
[windows.trip]
start = 2024-05-06T08:00:00
end = 2024-05-08T02:00:00+02:00
time_zone = "UTC"
[events.treatment]
kind = "presence"
region = "clinic"
window = "morning"
epsilon = 0.8
each_day = true
[events.often]
kind = "visits"
region = "home"
window = "trip"
at_least = 2
epsilon = 1
sides = "event"
[events.commute]
kind = "pattern"
regions = ["home", "park"]
start = 2024-05-07T08:00:00
[events.odd]
kind = "expression"
expression = "treatment and not (often or commute)"
epsilon = 1.5
"""

PLACE = LocalMap(Grid(5, 5, 1.0, elsewhere=True), latitude=52.52, longitude=13.40)
CLOCK = Clock(pd.Timestamp("2024-05-06", tz="Europe/Berlin"), pd.Timedelta("1h"))
STEPS = 48


@cache
def model() -> Model:
    """Return a model of a few cells, one matrix sparse and one dense."""
    near = Mobility.gaussian(PLACE.grid, sigma=1.2).transition(0)
    bare = np.where(near > 0.01, near, 0.0)
    some = sparse.csr_array(bare / bare.sum(axis=1, keepdims=True))
    habits = Mobility([some, near], repeat=True), Mobility(near)
    return Model(PLACE, CLOCK.length, habits, "Europe/Berlin", {"fixes": 24, "order": 1})


@cache
def track() -> pd.DataFrame:
    """Return a day of fixes."""
    cells = Mobility.gaussian(Grid(5, 5), sigma=1.2).sample(24, seed=1)
    return as_track(range(24), cells, PLACE, CLOCK, track="0 a walk")


@cache
def certificate() -> dict[str, Any]:
    """Return the certificate of a protected day."""
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events.toml"
        events.write_text(EVENTS.replace("each_day = true", ""))
        table = pd.concat([track(), track().assign(time=track()["time"] + pd.Timedelta(days=1))])
        protected = protect_track(table, model(), events, seed=1)
    return to_json(protected.certificate)


@cache
def written(suffix: str) -> bytes:
    """Return the track as a file of some kind."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"track{suffix}"
        write(track(), path)
        return path.read_bytes()


@cache
def stream_bytes() -> bytes:
    """Return a stream after its first day as a file."""
    with tempfile.TemporaryDirectory() as folder:
        events, file = Path(folder) / "events.toml", Path(folder) / "me.stream"
        events.write_text(
            EVENTS.split("[windows.trip]")[0] + "[events.visit]\n"
            'kind = "presence"\nregion = "clinic"\nwindow = "morning"\nepsilon = 1.0\n'
        )
        protected = protect_track(track(), model(), events, stream=file, seed=1)
        if protected.continued is None:
            raise TypeError("a day of a stream can be continued")
        save_stream(protected.continued, file)
        return file.read_bytes()


@cache
def model_bytes() -> bytes:
    """Return the model as a file."""
    with tempfile.TemporaryDirectory() as folder:
        save_model(model(), Path(folder) / "model.npz")
        return (Path(folder) / "model.npz").read_bytes()
