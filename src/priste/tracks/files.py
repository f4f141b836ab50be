"""Reading and writing: content tells what a file is, a suffix what is to be written."""

from collections.abc import Callable, Mapping
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd

from priste.checks import listing
from priste.errors import NoFixesError, TrackError
from priste.storage.atomic_files import atomic_file
from priste.storage.limits import MAX_JSON_BYTES, MAX_TRACK_BYTES, refusing, size_of
from priste.tracks.collection import read_folder, read_zip
from priste.tracks.columns import COLUMNS
from priste.tracks.formats import csv, fit, geojson, gpx, json_points, kml, parquet, tcx
from priste.tracks.formats.content import beginning_of, format_of
from priste.tracks.formats.geolife import holds_plt, read_geolife, read_plt, write_plt
from priste.tracks.table import track_table


def read(
    path: str | Path,
    *,
    columns: Mapping[str, str | int] | None = None,
    time_zone: str | None = None,
    time_format: str | None = None,
) -> pd.DataFrame:
    """Return the track table of a file, or of all the files in a folder or a ZIP file.

    What a file holds is told by its content: GPX, KML, TCX, FIT, GeoJSON, CSV and the like,
    Parquet, PLT, and the JSON of Google, OwnTracks, Overland, Dawarich, Traccar, Polarsteps and
    others. All fixes are kept, even those without a time or with impossible coordinates: `clean`
    removes and counts them. ``attrs["read as"]`` says what was recognised and, of many files,
    which were skipped. `columns`, `time_zone` and `time_format` are explained at `track_table`; of
    a CSV file without a header, `columns` gives numbers from 1.
    """
    named = {ours: str(theirs) for ours, theirs in (columns or {}).items()}
    return _read(Path(path), named, time_zone, time_format, 0)


def _read(
    path: Path, columns: dict[str, str], time_zone: str | None, time_format: str | None, depth: int
) -> pd.DataFrame:
    def inner(each: Path) -> pd.DataFrame:
        return _read(each, columns, time_zone, time_format, depth + 1)

    if path.is_dir():
        return read_geolife(path) if holds_plt(path) else read_folder(path, inner)
    head = beginning_of(path, MAX_JSON_BYTES)
    if not head.strip():
        raise TrackError(f"{path.name} is empty")
    kind = format_of(path, head)
    if kind is None:
        raise TrackError(
            f"{path.name} is no track that can be read; {listing(sorted(FORMATS), 20)} are, "
            f"and ZIP files and folders of them"
        )
    if kind == "zip":
        return read_zip(path, inner, depth)
    if kind in _JSON:
        frame = _JSON[kind](path, _zone(time_zone))
    elif kind == "csv":
        frame = csv.read(path, MAX_TRACK_BYTES, numbered=any(map(str.isdigit, columns.values())))
    else:
        size_of(path, MAX_TRACK_BYTES, TrackError)
        frame = _READERS[kind](path)
    if frame.empty:
        instead = frame.attrs.get("instead", "")
        raise NoFixesError(f"{path.name} holds no fixes of a track{instead}")
    names = columns if kind in ("csv", "geojson", "parquet") else {}
    return track_table(
        frame, columns=names, time_zone=time_zone, time_format=time_format, where=path.name
    )


def _zone(name: str | None) -> ZoneInfo | None:
    if name is None:
        return None
    with refusing(f"time_zone={name!r} is not a known time zone", TrackError):
        return ZoneInfo(name)


FORMATS = ("GPX", "KML", "TCX", "FIT", "CSV", "GeoJSON", "JSON", "Parquet", "PLT", "OwnTracks .rec")
"""What can be read, in words."""


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


def _write_csv(table: pd.DataFrame, path: Path) -> None:
    table.assign(time=table["time"].map(_iso, na_action="ignore")).to_csv(path, index=False)


def _iso(time: pd.Timestamp) -> str:
    return str(time.isoformat()).replace("+00:00", "Z")


_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    "gpx": gpx.read,
    "kml": kml.read,
    "tcx": tcx.read,
    "fit": fit.read,
    "geojson": geojson.read,
    "parquet": parquet.read,
    "plt": read_plt,
}

_JSON: dict[str, Callable[[Path, ZoneInfo | None], pd.DataFrame]] = {
    "json": json_points.read,
    "json lines": json_points.read_lines,
    "rec": json_points.read_recorded,
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

WRITTEN = tuple(_WRITERS)
"""The suffixes that can be written."""
