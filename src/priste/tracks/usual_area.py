"""Where a person's days are: the smallest square that most of the time is spent in."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from priste.checks import Array

STEP = "10min"
_CENTRES, _MOMENTS = 500, 20_000  # how many of each are looked at, spread over the time
_KM_PER_DEGREE = 111.2
_WORTH = 1.5  # how much larger than needed a map may be if more of the time is on it


class Rectangle(NamedTuple):
    """A rectangle in degrees."""

    south: float
    west: float
    north: float
    east: float


def usual_area(table: pd.DataFrame, share: float, comfortable: float) -> Rectangle:
    """Return a rectangle around `share` of the time, or more if that hardly enlarges it.

    Time is counted in steps of ten minutes with a fix. Up to a side of `comfortable` kilometres the
    square may be half as large again as it must be. A trip far away is left out so; where the
    person lives in two places, both are in it. A map is public, so the edges lie on hundredths of a
    degree around the fixes, not on them.
    """
    moments = one_a_step(table, pd.Timedelta(STEP))
    latitude, longitude = (moments[name].to_numpy(float) for name in ("latitude", "longitude"))
    some = _spread(len(moments), _MOMENTS)
    needed = int(np.ceil(share * len(some))) - 1
    centres = some[_spread(len(some), _CENTRES)]
    halves = np.array(
        [
            np.sort(_away(latitude[some], longitude[some], latitude[c], longitude[c]))
            for c in centres
        ]
    )
    least = float(halves[:, needed].min())
    half = max(least, min(_WORTH * least, comfortable / 2))
    held = (halves <= half).sum(axis=1)
    centre = centres[int(np.argmax(held))]
    inside = _away(latitude, longitude, latitude[centre], longitude[centre]) <= half
    south, north = _rounded(latitude[inside])
    west, east = _rounded(longitude[inside])
    return Rectangle(max(south, -90.0), max(west, -180.0), min(north, 90.0), min(east, 180.0))


def one_a_step(table: pd.DataFrame, step: pd.Timedelta) -> pd.DataFrame:
    """Return the first fix of each step, so that fixes count for the time they took."""
    return table.assign(_step=table["time"].dt.floor(step)).drop_duplicates("_step")


def _spread(count: int, most: int) -> NDArray[np.intp]:
    """Return at most so many of the numbers below `count`, evenly spread."""
    return np.linspace(0, count - 1, min(most, count)).astype(np.intp)


def _away(latitude: Array, longitude: Array, north: float, east: float) -> Array:
    """Return how far points are from a centre, east or north, whichever is more, in kilometres."""
    turn = np.abs((longitude - east + 180) % 360 - 180) * math.cos(math.radians(north))
    return np.asarray(np.maximum(np.abs(latitude - north), turn) * _KM_PER_DEGREE)


def _rounded(degrees: Array) -> tuple[float, float]:
    return math.floor(100 * degrees.min()) / 100, math.ceil(100 * degrees.max()) / 100
