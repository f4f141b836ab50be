"""What a track table is, and how other tables become one."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from priste.checks import listing, shown
from priste.errors import TrackError
from priste.storage.limits import MAX_COLUMNS, at_most, refusing
from priste.tracks.names import readable

COLUMNS = ("track", "time", "latitude", "longitude")

# older pandas reads the last digits of numbers inexactly unless told; newer ones warn if told
_EXACT_NUMBERS: dict[str, Any] = (
    {"float_precision": "round_trip"}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    else {}
)

_KNOWN_AS = {
    "time": ("time", "timestamp", "datetime", "date_time", "fixtime", "recorded_at", "tst"),
    "latitude": ("latitude", "lat", "y"),
    "longitude": ("longitude", "lon", "lng", "long", "x"),
    "track": ("track", "track_id", "trajectory", "trajectory_id", "trip", "trip_id"),
}


def lines(source: Path | IO[bytes], **options: Any) -> pd.DataFrame:
    """Parse lines of values between commas; a line longer than the first is refused.

    Left to itself pandas would take what is too much for an index, of any number of levels.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(source, index_col=False, **_EXACT_NUMBERS, **options)


def track_table(
    frame: pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    time_zone: str | None = None,
    where: str = "the frame",
) -> pd.DataFrame:
    """Return a track table made from any frame of fixes; the frame is not changed.

    `columns` names the frame's columns for ``time``, ``latitude``, ``longitude`` and ``track``
    where they cannot be guessed. Times without a zone are refused unless `time_zone` says which
    one they are in. Without a track column all fixes belong to one track.
    """
    remedy = "keep those that are needed"
    at_most(len(frame.columns), MAX_COLUMNS, f"the columns of {where}", remedy, TrackError)
    frame = frame.set_axis([readable(c, f"a column of {where}", TrackError) for c in frame], axis=1)
    names = {} if columns is None else dict(columns)
    unknown = set(names) - set(COLUMNS)
    if unknown:
        raise TrackError(f"columns= knows {listing(COLUMNS)}, not {listing(sorted(unknown))}")
    absent = [shown(theirs) for theirs in names.values() if theirs not in frame.columns]
    if absent:
        raise TrackError(
            f"{where} has no column {listing(absent)}; it has {listing(list(frame.columns), 12)}"
        )
    for ours, candidates in _KNOWN_AS.items():
        if ours not in names:
            found = [c for c in frame.columns if c.lower() in candidates]
            if len(found) == 1 or ours in found:
                names[ours] = ours if ours in found else found[0]
            elif ours != "track" or found:
                problem = "several columns" if found else "no column"
                raise TrackError(
                    f"{where} has {problem} for {ours} (it has "
                    f"{listing(list(frame.columns), 12)}); "
                    f"say which with columns={{'{ours}': ...}}"
                )
    table = frame.rename(columns={theirs: ours for ours, theirs in names.items()})
    twice = table.columns[table.columns.duplicated()].tolist()
    if twice:
        raise TrackError(f"{where} has two columns for {listing(twice)}; rename or remove one")
    if "track" not in table:
        table = table.assign(track="0")
    with refusing(f"the columns of {where} cannot be understood", TrackError):
        table = table.assign(
            time=utc(table["time"], time_zone, where),
            latitude=_degrees(table["latitude"], "latitude", where),
            longitude=_degrees(table["longitude"], "longitude", where),
            **{name: _names(table[name], where) for name in ("track", "user") if name in table},
        )
    others = [name for name in table.columns if name not in COLUMNS]
    return table[[*COLUMNS, *others]].reset_index(drop=True)


def utc(times: "pd.Series[Any]", time_zone: str | None, where: str) -> "pd.Series[Any]":
    """Return times in UTC to the microsecond; those without a zone need `time_zone`."""
    if pd.api.types.is_numeric_dtype(times):
        raise TrackError(
            f"the times of {where} are numbers; turn them into dates first, for example "
            f"pandas.to_datetime(frame['time'], unit='s', utc=True)"
        )
    if isinstance(times.dtype, pd.DatetimeTZDtype):
        return times.dt.tz_convert("UTC").astype("datetime64[us, UTC]")
    if pd.api.types.is_datetime64_dtype(times):
        return _localised(times, time_zone, where)
    text = times.astype("string")
    with_zone = text.str.contains(r"(?:Z|[+-]\d\d:?\d\d)\s*$", regex=True).fillna(value=False)
    parsed = pd.Series(pd.NaT, index=times.index, dtype="datetime64[us, UTC]")
    if with_zone.any():
        aware = pd.to_datetime(text[with_zone], format="ISO8601", utc=True, errors="coerce")
        parsed[with_zone] = aware.astype("datetime64[us, UTC]")
    bare = ~with_zone & text.notna()
    if bare.any():
        naive = pd.to_datetime(text[bare], format="ISO8601", errors="coerce")
        if naive.notna().any():
            parsed[bare] = _localised(naive, time_zone, where)
    return parsed


def _localised(times: "pd.Series[Any]", time_zone: str | None, where: str) -> "pd.Series[Any]":
    if time_zone is None:
        raise TrackError(
            f"{int(times.notna().sum())} times of {where} have no time zone; say which one they "
            f"are in, for example time_zone='UTC' or time_zone='Europe/Berlin'"
        )
    try:
        local = times.dt.tz_localize(time_zone, ambiguous=True, nonexistent="shift_forward")
    except Exception as error:
        raise TrackError(f"time_zone={time_zone!r} is not a known time zone") from error
    return local.dt.tz_convert("UTC").astype("datetime64[us, UTC]")


def _names(values: "pd.Series[Any]", where: str) -> "pd.Series[Any]":
    """Return names as printable text; the few different ones are looked at once each."""
    text = values.astype(str)
    printed = {name: readable(name, f"a track of {where}", TrackError) for name in text.unique()}
    return text if all(k == v for k, v in printed.items()) else text.map(printed).astype(str)


def _degrees(values: "pd.Series[Any]", what: str, where: str) -> "pd.Series[Any]":
    numbers = pd.to_numeric(values, errors="coerce").astype("float64")
    if values.notna().any() and not np.isfinite(numbers).any():
        raise TrackError(f"the {what} of {where} holds no numbers; degrees are expected")
    return numbers
