"""FIT, the files of sports watches."""

from pathlib import Path

import fitdecode
import pandas as pd

from priste.errors import TrackError
from priste.storage.limits import MAX_MARKUP_BYTES, refusing, size_of

_SEMICIRCLE = 180 / 2**31  # degrees


def read(path: Path) -> pd.DataFrame:
    """Return every record with a position."""
    size_of(path, MAX_MARKUP_BYTES, TrackError)
    rows = []
    with (
        refusing(f"{path.name} is not a FIT file that can be read", TrackError),
        fitdecode.FitReader(path) as file,
    ):
        for frame in file:
            if not isinstance(frame, fitdecode.FitDataMessage) or frame.name != "record":
                continue
            names = ("timestamp", "position_lat", "position_long")
            time, latitude, longitude = (frame.get_value(n, fallback=None) for n in names)
            if latitude is not None and longitude is not None:
                rows.append((time, latitude * _SEMICIRCLE, longitude * _SEMICIRCLE))
        table = pd.DataFrame(rows, columns=["time", "latitude", "longitude"])
        return table.assign(time=pd.to_datetime(table["time"], utc=True), track="0")
