"""TCX, as sports watches and their portals write it."""

from pathlib import Path
from xml.etree import ElementTree

import pandas as pd

from priste.errors import TrackError
from priste.storage.limits import refusing
from priste.tracks.formats.markup import checked, every, text_of


def read(path: Path) -> pd.DataFrame:
    """Return every trackpoint with a position; a track is an activity or a course."""
    content = checked(path, "TCX")
    with refusing(f"{path.name} is not a TCX file that can be read", TrackError):
        root = ElementTree.fromstring(content)
        outings = [*every(root, "Activity"), *every(root, "Course")]
        rows = [
            (
                str(number),
                text_of(point, "Time"),
                text_of(point, "Position", "LatitudeDegrees"),
                text_of(point, "Position", "LongitudeDegrees"),
            )
            for number, outing in enumerate(outings)
            for point in every(outing, "Trackpoint")
            if text_of(point, "Position", "LatitudeDegrees") is not None
        ]
    return pd.DataFrame(rows, columns=["track", "time", "latitude", "longitude"])
