"""GPX 1.0 and 1.1: the points of tracks."""

from pathlib import Path
from xml.etree import ElementTree

import gpxpy
import gpxpy.gpx
import numpy as np
import pandas as pd

from priste.errors import TrackError
from priste.storage.limits import refusing
from priste.tracks.formats.markup import checked

_NAMESPACE = "http://www.topografix.com/GPX/1/1"


def read(path: Path) -> pd.DataFrame:
    """Return every point of every track; a track is named by its number and its name, if any."""
    content = checked(path, "GPX")
    with refusing(f"{path.name} is not a GPX file that can be read", TrackError):
        parsed = gpxpy.parse(content)
    rows = [
        (_name(number, track), _iso(point), point.latitude, point.longitude, point.elevation)
        for number, track in enumerate(parsed.tracks)
        for segment in track.segments
        for point in segment.points
    ]
    frame = pd.DataFrame(rows, columns=["track", "time", "latitude", "longitude", "elevation"])
    frame = frame.astype({"latitude": float, "longitude": float, "elevation": float})
    if frame["elevation"].isna().all():
        frame = frame.drop(columns="elevation")
    frame.attrs["instead"] = (
        f"; it has {len(parsed.waypoints)} waypoints and {len(parsed.routes)} routes"
    )
    return frame


def write(table: pd.DataFrame, path: Path) -> None:
    """Write one track per name; of other columns, GPX holds the elevation only.

    A fix without coordinates cannot be written: it ends a segment of its track.
    """
    ElementTree.register_namespace("", _NAMESPACE)
    root = ElementTree.Element(_tag("gpx"), {"version": "1.1", "creator": "priste"})
    for name, fixes in table.groupby("track", sort=False):
        track = ElementTree.SubElement(root, _tag("trk"))
        number, _, title = str(name).partition(" ")
        if title or not number.isdigit():
            ElementTree.SubElement(track, _tag("name")).text = title or number
        segment = ElementTree.SubElement(track, _tag("trkseg"))
        for fix in fixes.itertuples():
            if not (np.isfinite(fix.latitude) and np.isfinite(fix.longitude)):
                if len(segment):
                    segment = ElementTree.SubElement(track, _tag("trkseg"))
                continue
            place = {"lat": _decimal(fix.latitude), "lon": _decimal(fix.longitude)}
            point = ElementTree.SubElement(segment, _tag("trkpt"), place)
            elevation = getattr(fix, "elevation", np.nan)
            if np.isfinite(elevation):
                ElementTree.SubElement(point, _tag("ele")).text = _decimal(elevation)
            if not pd.isna(fix.time):
                text = fix.time.isoformat().replace("+00:00", "Z")
                ElementTree.SubElement(point, _tag("time")).text = text
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _name(number: int, track: gpxpy.gpx.GPXTrack) -> str:
    return f"{number} {track.name}" if track.name else str(number)


def _iso(point: gpxpy.gpx.GPXTrackPoint) -> str | None:
    return None if point.time is None else point.time.isoformat()


def _decimal(value: float) -> str:
    """Return the shortest decimal that reads back as the same number; GPX knows no exponents."""
    return np.format_float_positional(value, trim="-")


def _tag(name: str) -> str:
    return f"{{{_NAMESPACE}}}{name}"
