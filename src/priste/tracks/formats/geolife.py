"""Geolife PLT: a file, a user's folder, or the whole data set."""

import io
from pathlib import Path

import numpy as np
import pandas as pd

from priste.errors import TrackError
from priste.storage.limits import MAX_COLUMNS, MAX_TRACK_BYTES, at_most, content_of, refusing
from priste.tracks.table import lines, track_table

_HEADER_LINES = 6
_FIELDS = ["latitude", "longitude", "zero", "altitude", "days", "date", "clock"]
_NO_ALTITUDE = -777
_COLUMNS = ["track", "time", "latitude", "longitude", "altitude"]


def read_plt(path: Path) -> pd.DataFrame:
    """Return the fixes of one PLT file; its clock is GMT, its altitude in feet."""
    body = _body(path)
    with refusing(f"{path.name} is not a PLT file that can be read", TrackError):
        return _fixes(body).assign(track=path.stem)[_COLUMNS]


def read_geolife(folder: str | Path) -> pd.DataFrame:
    """Return the track table of a user's folder or of the whole data set, with a `user` column.

    A file that stands under two users is read under both: whose it is, the data set does not say.
    """
    folder = Path(folder)
    files = sorted(folder.rglob("*.plt"))
    if not files:
        raise TrackError(f"{folder} holds no PLT files; give a user's folder or the Data folder")
    bodies = [_body(path) for path in files]
    rows = [body.count(b"\n") for body in bodies]
    try:  # all as one text: most of the time per file is not spent on its fixes
        table = _fixes(b"".join(bodies))
        whole = len(table) == sum(rows)
    except Exception:  # some file is not as it should be: see below
        whole = False
    if whole:
        names, users = [path.stem for path in files], [_user(path, folder) for path in files]
        table = table.assign(track=np.repeat(names, rows), user=np.repeat(users, rows))
        table = table[[*_COLUMNS, "user"]]
    else:  # one by one, and the error will name it
        frames = [read_plt(path).assign(user=_user(path, folder)) for path in files]
        frames = [frame for frame in frames if len(frame)]
        table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    if table.empty:
        raise TrackError(f"the {len(files)} PLT files of {folder} hold no fixes")
    return track_table(table, where=str(folder))


def holds_plt(folder: Path) -> bool:
    """Tell whether a folder, or one below it, holds a PLT file."""
    return next(folder.rglob("*.plt"), None) is not None


def _body(path: Path) -> bytes:
    """Return the lines of a file after its header, each with its end."""
    parts = content_of(path, MAX_TRACK_BYTES, TrackError).split(b"\n", _HEADER_LINES)
    body = parts[_HEADER_LINES] if len(parts) > _HEADER_LINES else b""
    return body if not body or body.endswith(b"\n") else body + b"\n"


def _fixes(body: bytes) -> pd.DataFrame:
    """Parse lines of fixes. There are few different days and clocks, so each is read once."""
    if not body:
        return pd.DataFrame({name: [] for name in _COLUMNS})
    widest = 1 + body[: body.index(b"\n")].count(b",")  # no later line may be wider
    at_most(widest, MAX_COLUMNS, "the number of columns", "take a PLT file", TrackError)
    fixes = lines(
        io.BytesIO(body),
        header=None,
        names=_FIELDS,
        dtype={"date": "category", "clock": "category"},
    )
    day, clock = fixes["date"].cat, fixes["clock"].cat
    days = pd.to_datetime(day.categories, format="%Y-%m-%d", utc=True, errors="coerce")
    clocks = pd.to_timedelta(clock.categories, errors="coerce")
    unknown = (day.codes < 0) | (clock.codes < 0)
    times = pd.Series(pd.NaT, index=fixes.index, dtype="datetime64[us, UTC]")
    if not unknown.all():
        times = pd.Series(days.take(day.codes) + clocks.take(clock.codes)).where(~unknown)
    altitude = fixes["altitude"].where(fixes["altitude"] != _NO_ALTITUDE)
    return fixes[["latitude", "longitude"]].assign(time=times, altitude=altitude)


def _user(path: Path, folder: Path) -> str:
    """Return the folder above Trajectory, or the given one where there is none."""
    return path.parent.parent.name if path.parent.name == "Trajectory" else folder.name


def write_plt(table: pd.DataFrame, path: Path) -> None:
    """Write one track in the format of the data set, with times to the second.

    A fix without coordinates cannot be written, and is left out.
    """
    table = table.dropna(subset=["latitude", "longitude"])
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
