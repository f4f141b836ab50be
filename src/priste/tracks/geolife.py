"""Geolife PLT: a file, a user's folder, or the whole data set."""

from pathlib import Path

import pandas as pd

from priste.errors import TrackError
from priste.tracks.table import track_table

_HEADER_LINES = 6
_FIELDS = ["latitude", "longitude", "zero", "altitude", "days", "date", "clock"]
_NO_ALTITUDE = -777


def read_plt(path: Path) -> pd.DataFrame:
    """Return the fixes of one PLT file; its clock is GMT, its altitude in feet."""
    try:
        lines = pd.read_csv(
            path,
            skiprows=_HEADER_LINES,
            header=None,
            names=_FIELDS,
            dtype={"date": "string", "clock": "string"},
        )
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise TrackError(f"{path.name} is not a PLT file that can be read: {error}") from error
    times = lines["date"] + "T" + lines["clock"] + "Z"
    altitude = lines["altitude"].where(lines["altitude"] != _NO_ALTITUDE)
    frame = lines[["latitude", "longitude"]].assign(time=times, track=path.stem, altitude=altitude)
    return frame[["track", "time", "latitude", "longitude", "altitude"]]


def read_geolife(folder: str | Path) -> pd.DataFrame:
    """Return the track table of a user's folder or of the whole data set, with a `user` column.

    A file that stands under two users is read under both: whose it is, the data set does not say.
    """
    folder = Path(folder)
    files = sorted(folder.rglob("*.plt"))
    if not files:
        raise TrackError(f"{folder} holds no PLT files; give a user's folder or the Data folder")
    frames = [read_plt(path).assign(user=_user(path, folder)) for path in files]
    table = pd.concat([frame for frame in frames if len(frame)], ignore_index=True)
    return track_table(table, where=str(folder))


def _user(path: Path, folder: Path) -> str:
    """Return the folder above Trajectory, or the given one where there is none."""
    return path.parent.parent.name if path.parent.name == "Trajectory" else folder.name


def write_plt(table: pd.DataFrame, path: Path) -> None:
    """Write one track in the data set's own format, to the second, as it has it."""
    if table["track"].nunique() > 1:
        raise TrackError("a PLT file holds one track; write each track to a file of its own")
    if (table["time"].dt.microsecond != 0).any() or table["time"].isna().any():
        raise TrackError("a PLT file holds times to the second; round them or use another format")
    days = (table["time"] - pd.Timestamp("1899-12-30", tz="UTC")) / pd.Timedelta(days=1)
    altitude = (
        table["altitude"] if "altitude" in table else pd.Series(index=table.index, dtype=float)
    )
    lines = pd.DataFrame(
        {
            "latitude": table["latitude"],
            "longitude": table["longitude"],
            "zero": 0,
            "altitude": altitude.fillna(_NO_ALTITUDE),
            "days": days.round(10),
            "date": table["time"].dt.strftime("%Y-%m-%d"),
            "clock": table["time"].dt.strftime("%H:%M:%S"),
        }
    )
    header = ["Geolife trajectory", "WGS 84", "Altitude is in Feet", "Reserved 3"]
    header += ["0,2,255,My Track,0,0,2,8421376", str(len(lines))]
    body = lines.to_csv(header=False, index=False, lineterminator="\r\n")
    path.write_text("\r\n".join(header) + "\r\n" + body, encoding="utf-8", newline="")
