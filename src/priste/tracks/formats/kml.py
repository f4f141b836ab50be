"""KML: places with a time or a span of it, and the tracks of Google's extension."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd

from priste.errors import TrackError
from priste.storage.limits import refusing
from priste.tracks.formats.markup import checked, every, local, text_of

Fix = tuple[str, str | None, float, float]


def read(path: Path) -> pd.DataFrame:
    """Return every dated point: of tracks, of places, and both ends of a line with a span."""
    content = checked(path, "KML")
    with refusing(f"{path.name} is not a KML file that can be read", TrackError):
        root = ElementTree.fromstring(content)
        rows = [
            fix
            for number, placemark in enumerate(every(root, "Placemark"))
            for fix in _fixes(placemark, text_of(placemark, "name") or str(number))
        ]
    frame = pd.DataFrame(rows, columns=["track", "time", "latitude", "longitude"])
    if len(frame) and frame["time"].isna().all():
        raise TrackError(f"{path.name} has {len(frame)} places but no times; export it with times")
    return frame


def _fixes(placemark: ElementTree.Element, name: str) -> Iterator[Fix]:
    tracks = list(every(placemark, "Track"))
    for track in tracks:
        times = [child.text for child in track if local(child) == "when"]
        places = [child.text or "" for child in track if local(child) == "coord"]
        for time, place in zip(times, places, strict=True):
            longitude, latitude = (float(value) for value in place.split()[:2])
            yield name, (time or "").strip() or None, latitude, longitude
    if tracks:
        return
    moment = text_of(placemark, "TimeStamp", "when")
    begin, end = (text_of(placemark, "TimeSpan", which) for which in ("begin", "end"))
    for element in every(placemark, "coordinates"):
        corners = [_place(text) for text in (element.text or "").split()]
        ends = [(moment or begin, corners[0]), (end, corners[-1])] if corners else []
        for time, (latitude, longitude) in ends[: 1 if end is None else 2]:
            yield name, time, latitude, longitude


def _place(text: str) -> tuple[float, float]:
    longitude, latitude = (float(value) for value in text.split(",")[:2])
    return latitude, longitude
