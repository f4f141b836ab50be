"""Reading and writing: the suffix of a file gives its format."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from priste.checks import listing
from priste.errors import TrackError
from priste.storage.atomic_files import atomic_file
from priste.storage.limits import MAX_COLUMNS, MAX_TRACK_BYTES, MIB, at_most, refusing, size_of
from priste.tracks import geojson, gpx, parquet
from priste.tracks.geolife import read_plt, write_plt
from priste.tracks.table import COLUMNS, lines, track_table


def read(
    path: str | Path, *, columns: Mapping[str, str] | None = None, time_zone: str | None = None
) -> pd.DataFrame:
    """Return the track table of a GPX, CSV, GeoJSON, Parquet, GeoParquet or PLT file.

    All fixes are kept, even those without a time or with impossible coordinates: `clean` removes
    and counts them. `columns` and `time_zone` are explained at `track_table`.
    """
    path = Path(path)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise TrackError(
            f"{path.name}: a name ending in {listing(sorted(_READERS), 9)} is expected; "
            f"a folder of Geolife tracks is read by read_geolife"
        )
    size_of(path, MAX_TRACK_BYTES, TrackError)
    frame = reader(path)
    if frame.empty:
        raise TrackError(f"{path.name} holds no fixes of a track{frame.attrs.get('instead', '')}")
    return track_table(frame, columns=columns, time_zone=time_zone, where=path.name)


def write(table: pd.DataFrame, path: str | Path) -> None:
    """Write a track table in the format that the suffix asks for.

    Output is atomic: the complete file or none.
    """
    path = Path(path)
    suffix = checked_suffix(path)
    with atomic_file(path) as partial:
        write_as(table, partial, suffix)


def write_as(table: pd.DataFrame, path: Path, suffix: str) -> None:
    """Write a track table to `path` in the format of `suffix`, whatever the name."""
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise TrackError(f"a track table has a column {listing(missing)}; see track_table")
    _WRITERS[suffix.lower()](table, path)


def checked_suffix(path: Path) -> str:
    """Return the suffix of a file to write; refuse one that is not a known format."""
    if path.suffix.lower() not in _WRITERS:
        raise TrackError(
            f"{path.name}: a name ending in {listing(sorted(_WRITERS), 9)} is expected"
        )
    return path.suffix


def _read_csv(path: Path) -> pd.DataFrame:
    with refusing(f"{path.name} is not a CSV file that can be read", TrackError):
        with path.open("rb") as file:
            head = file.readline(MIB)
        remedy = "keep time, latitude, longitude and what else is needed"
        at_most(head.count(b",") + 1, MAX_COLUMNS, "the number of columns", remedy, TrackError)
        return lines(path, dtype=_TEXT, encoding="utf-8-sig")


_TEXT: dict[str, type[str]] = {"track": str, "track_id": str, "trip": str, "trip_id": str}


def _write_csv(table: pd.DataFrame, path: Path) -> None:
    table.assign(time=table["time"].map(_iso, na_action="ignore")).to_csv(path, index=False)


def _iso(time: pd.Timestamp) -> str:
    return str(time.isoformat()).replace("+00:00", "Z")


_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": _read_csv,
    ".gpx": gpx.read,
    ".geojson": geojson.read,
    ".json": geojson.read,
    ".parquet": parquet.read,
    ".geoparquet": parquet.read,
    ".plt": read_plt,
}

_WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    ".csv": _write_csv,
    ".gpx": gpx.write,
    ".geojson": geojson.write,
    ".json": geojson.write,
    ".parquet": parquet.write,
    ".geoparquet": parquet.write_geo,
    ".plt": write_plt,
}
