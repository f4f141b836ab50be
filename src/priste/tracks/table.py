"""What a track table is, and how other tables become one."""

import unicodedata
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import pandas as pd

from priste.checks import listing
from priste.errors import TrackError
from priste.storage.limits import MAX_COLUMNS, at_most, refusing
from priste.tracks.columns import COLUMNS, recognised
from priste.tracks.degrees import degrees
from priste.tracks.names import readable
from priste.tracks.times import utc, with_dates

NOTES = "read as"
"""Where a table keeps what was recognised in its source, among its `attrs`."""

# older pandas reads the last digits of numbers inexactly unless told; newer ones warn if told
_EXACT_NUMBERS: dict[str, Any] = (
    {"float_precision": "round_trip"}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    else {}
)


def lines(source: Path | IO[bytes], **options: Any) -> pd.DataFrame:
    """Parse lines of values; a line longer than the first is refused.

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
    time_format: str | None = None,
    where: str = "the frame",
) -> pd.DataFrame:
    """Return a track table made from any frame of fixes; the frame is not changed.

    `columns` names the frame's columns for ``time``, ``latitude``, ``longitude`` and ``track``
    where they cannot be guessed. Times without a zone are refused unless `time_zone` says which
    one they are in; numbers count from 1970; `time_format` (as in `datetime.strptime`) is for dates
    whose order cannot be told. Without a track column all fixes belong to one track. What was
    recognised is told in ``attrs["read as"]``.
    """
    remedy = "keep those that are needed"
    at_most(len(frame.columns), MAX_COLUMNS, f"the columns of {where}", remedy, TrackError)
    frame = frame.set_axis([readable(c, f"a column of {where}", TrackError) for c in frame], axis=1)
    names = recognised(list(frame.columns), columns or {}, where)
    notes: list[str] = list(frame.attrs.get(NOTES, []))
    date = names.pop("date", None)
    table = frame.rename(columns={theirs: ours for ours, theirs in names.items()})
    twice = table.columns[table.columns.duplicated()].tolist()
    if twice:
        raise TrackError(f"{where} has two columns for {listing(twice)}; rename or remove one")
    if "track" not in table:
        table = table.assign(track="0")
    with refusing(f"the columns of {where} cannot be understood", TrackError):
        times = frame[names["time"]]
        if date is not None:
            times = with_dates(times, frame[date], notes)
        table = table.assign(
            time=utc(times, time_zone, where, time_format=time_format, notes=notes),
            latitude=degrees(table["latitude"], "latitude", where, 90, notes),
            longitude=degrees(table["longitude"], "longitude", where, 180, notes),
            track=_names(table["track"], where),
            **({"user": people(table["user"], where)} if "user" in table else {}),
        )
    others = [name for name in table.columns if name not in COLUMNS]
    found = table[[*COLUMNS, *others]].reset_index(drop=True)
    found.attrs = {NOTES: notes} if notes else {}
    return found


def people(values: "pd.Series[Any]", where: str) -> "pd.Series[Any]":
    """Return who fixes belong to as text, the same for 7 and 7.0; nothing where nobody is named."""
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        text = values.map(_person, na_action="ignore")
    elif pd.api.types.is_float_dtype(values) and (values % 1 == 0)[values.notna()].all():
        text = values.astype("Int64").astype("string")
    else:
        text = values.astype("string")
    return _names(text.astype(object).where(values.notna().to_numpy(), ""), where)


def _person(name: object) -> str:
    return unicodedata.normalize("NFC", str(name)).strip()


def _names(values: "pd.Series[Any]", where: str) -> "pd.Series[Any]":
    """Return names as printable text; the few different ones are looked at once each."""
    text = values.astype(str)
    printed = {name: readable(name, f"a track of {where}", TrackError) for name in text.unique()}
    return text if all(k == v for k, v in printed.items()) else text.map(printed).astype(str)
