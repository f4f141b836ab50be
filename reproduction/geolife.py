"""The maps of Geolife: one person's moves within Beijing, as cells and a learned mobility.

The paper names neither the map nor the length of a step nor how unseen moves were treated. Our
choices: a square of about 20 km around the north-west of the city, a fix a minute, and a mobility
smoothed by one uniform move per cell. `PLACES` has others, to see what depends on them.
"""

import hashlib
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from priste.errors import TrackError, UnobservedRowsWarning
from priste.mobility import Mobility
from priste.tracks import Clock, LocalMap, clean, discretise
from priste.tracks.formats.geolife import read_geolife
from priste.tracks.steps import unbroken
from reproduction.settings import Dataset


class Place(NamedTuple):
    """A rectangle in degrees (south, west, north, east), and how moves on it are learned.

    `smoothing` is counted in uniform moves per cell.
    """

    box: tuple[float, float, float, float] = (39.88, 116.25, 40.06, 116.49)
    step: str = "1min"
    smoothing: float = 1.0


PLACES = {
    "geolife": Place(),
    "geolife wide": Place(box=(39.70, 116.00, 40.20, 116.70)),
    "geolife slow": Place(step="5min"),
    "geolife rough": Place(smoothing=0.01),
    "geolife smooth": Place(smoothing=100.0),
}


def fingerprint(folder: Path) -> str:
    """Return a short name for what is in a person's folder: other files, another name."""
    files = sorted(folder.rglob("*.plt"))
    listed = "\n".join(f"{path.relative_to(folder)} {path.stat().st_size}" for path in files)
    return hashlib.sha256(listed.encode()).hexdigest()[:12]


def prepare(folder: Path, name: str, steps: int) -> Dataset:
    """Return the dataset of one person's folder, with windows of at least so many steps.

    All of the person's tracks on the map train the mobility; runs are cut out of the same tracks,
    as in the paper.
    """
    place = PLACES[name]
    table, _ = clean(read_geolife(folder))
    city = LocalMap.within(*place.box, cells=400, elsewhere=False)
    inside = city.covers(table["latitude"], table["longitude"])
    if not inside.any():
        raise TrackError(f"no fix of {folder.name} lies on the map of Beijing")
    table = table[inside]
    clock = Clock(table["time"].min().floor("D"), pd.Timedelta(place.step))
    runs = [run for _, run in unbroken(discretise(table, city, clock))]
    visits = np.bincount(np.concatenate(runs), minlength=city.grid.n_cells)
    with warnings.catch_warnings():  # most cells of a city one person never leaves
        warnings.simplefilter("ignore", UnobservedRowsWarning)
        mobility = Mobility.fit(runs, city.grid.n_cells, smoothing=place.smoothing)
    long = tuple(run for run in runs if len(run) >= steps)
    if not long:
        raise TrackError(
            f"{folder.name} has no {steps} steps of {place.step} in a row on the map of "
            f"Beijing; take another person's folder"
        )
    busiest = tuple(np.argsort(-visits, kind="stable")[:10].tolist())
    return Dataset(city.grid, mobility, long, busiest)
