"""The released stream as a file to fetch: GeoJSON or GPX."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from priste.tracks.formats import geojson, gpx
from priste.tracks.places import LocalMap
from priste.tracks.steps import Clock, as_track


def geojson_feed(cells: Mapping[int, int], place: LocalMap, clock: Clock) -> bytes:
    """Return released cells as GeoJSON."""
    return _written(geojson.write, cells, place, clock)


def gpx_feed(cells: Mapping[int, int], place: LocalMap, clock: Clock) -> bytes:
    """Return released cells as GPX."""
    return _written(gpx.write, cells, place, clock)


def _written(
    write: Callable[[pd.DataFrame, Path], None],
    cells: Mapping[int, int],
    place: LocalMap,
    clock: Clock,
) -> bytes:
    table = as_track(list(cells), list(cells.values()), place, clock)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "feed"
        write(table, path)
        return path.read_bytes()
