"""The fixes of many people, read a piece at a time and laid out by part.

Parquet is read in pieces, whatever its size; of a folder of other tracks, one file or one person's
folder at a time. So memory does not grow with the data.
"""

import hashlib
import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from priste.checks import listing
from priste.errors import NoFixesError, TrackError
from priste.storage.limits import refusing
from priste.tracks.columns import plain
from priste.tracks.files import read
from priste.tracks.table import NOTES, people, track_table

ROWS = 2**16
"""How many fixes are read at a time from Parquet."""

FIXES_OF_A_PART = 2_000
"""About how many fixes one part has, unless the number of parts is given."""

FEWEST_PARTS, MOST_PARTS = 16, 32_768

_BYTES_OF_A_FIX = 60  # about, in files other than Parquet
_USERS = ("user", "userid", "uid", "person", "personid", "device", "deviceid", "individual")
_SCHEMA = pa.schema(
    [
        ("part", pa.int32()),
        ("row", pa.int64()),
        ("user", pa.string()),
        ("track", pa.string()),
        ("time", pa.timestamp("us", tz="UTC")),
        ("latitude", pa.float64()),
        ("longitude", pa.float64()),
    ]
)


class Reading(NamedTuple):
    """What the files do not say themselves; see `track_table`. `user` names the people's column."""

    columns: Mapping[str, str] | None = None
    time_zone: str | None = None
    time_format: str | None = None
    user: str | None = None


def identity(paths: Sequence[Path], reading: Reading) -> str:
    """Return what tells these files, read like this, from others: their names and content."""
    digest = hashlib.sha256(repr(reading).encode())
    for path in paths:
        for each in _files(path):
            with each.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            name = os.fsencode(each.relative_to(path.parent))
            digest.update(len(name).to_bytes(8) + name + content.encode())
    return digest.hexdigest()


def parts_for(paths: Sequence[Path]) -> int:
    """Return into how many parts the people of these files are best divided."""
    rows = 0
    for path in paths:
        for each in _files(path):
            rows += (
                pq.read_metadata(each).num_rows
                if _is_parquet(each)
                else each.stat().st_size // _BYTES_OF_A_FIX
            )
    return min(max(rows // FIXES_OF_A_PART, FEWEST_PARTS), MOST_PARTS)


class LaidOut(NamedTuple):
    """How many fixes there are in each part, remarks on the files, and whose fixes they are."""

    rows: dict[int, int]
    notes: list[str]
    people: Set[str]


def lay_out_by_part(
    paths: Sequence[Path], reading: Reading, part_of: Callable[[str], int], target: Path
) -> LaidOut:
    """Write the fixes of all files to `target`, by part."""
    rows: Counter[int] = Counter()
    notes: dict[str, None] = {}
    known: dict[str, int] = {}

    def batches() -> Iterator[pa.RecordBatch]:
        first = 0
        for table in _tables(paths, reading):
            notes.update(dict.fromkeys(table.attrs.get(NOTES, [])))
            for user in table["user"].unique():
                if user not in known:
                    known[user] = part_of(user)
            numbered = table.assign(
                part=table["user"].map(known), row=range(first, first + len(table))
            )
            first += len(table)
            rows.update(numbered["part"].tolist())
            frame = numbered[_SCHEMA.names].astype({"time": "datetime64[us, UTC]"})
            yield from pa.Table.from_pandas(frame, _SCHEMA, preserve_index=False).to_batches()

    target.mkdir(mode=0o700)
    ds.write_dataset(
        batches(),
        target,
        schema=_SCHEMA,
        format="parquet",
        partitioning=ds.partitioning(pa.schema([_SCHEMA.field("part")]), flavor="hive"),
        max_partitions=MOST_PARTS,
        max_open_files=256,
        use_threads=False,
    )
    return LaidOut(dict(rows), list(notes), known.keys())


def laid_out(target: Path, part: int) -> pd.DataFrame:
    """Return the fixes of a part, in the order in which they were read."""
    files = sorted((target / f"part={part}").glob("*.parquet"))
    if not files:
        return pd.DataFrame({name: [] for name in _SCHEMA.names[2:]})
    table = pa.concat_tables([pq.read_table(each, partitioning=None) for each in files])
    return table.to_pandas().sort_values("row", ignore_index=True).drop(columns="row")


def _tables(paths: Sequence[Path], reading: Reading) -> Iterator[pd.DataFrame]:
    """Yield track tables with a column that says whose each fix is."""
    for path in paths:
        if not path.exists():
            raise TrackError(f"{path} does not exist")
        files = _files(path)
        if files and all(map(_is_parquet, files)) and _names_people(path, reading):
            yield from _pieces(path, reading)
        elif path.is_dir():
            entries = [each for each in sorted(path.iterdir()) if not each.name.startswith(".")]
            tables = (_or_skipped(each, reading) for each in entries)
            yield from (_checked(table, path.name) for table in tables if table is not None)
        else:
            yield _checked(_one(path, reading, person=None), path.name)


def _or_skipped(entry: Path, reading: Reading) -> pd.DataFrame | None:
    """Return what a file or folder of one person holds; None if it holds no fixes."""
    try:
        return _one(entry, reading, person=entry.stem if entry.is_file() else entry.name)
    except NoFixesError:
        return None


def _names_people(path: Path, reading: Reading) -> bool:
    """Tell whether Parquet has a column for the people; a single file must."""
    if not path.is_dir() or reading.user is not None:
        return True
    with refusing(f"{path.name} is not Parquet that can be read", TrackError):
        names = _dataset(path).schema.names
    return any(plain(name) in _USERS for name in names)


def _dataset(path: Path) -> ds.Dataset:
    """Return Parquet files, whose folders may name columns: these are text, whatever they say."""
    below = _files(path)[0].relative_to(path).parts[:-1] if path.is_dir() else ()
    fields = [(part.partition("=")[0], pa.string()) for part in below if "=" in part]
    hive = ds.partitioning(pa.schema(fields), flavor="hive") if fields else None
    return ds.dataset(path, format="parquet", partitioning=hive)


def _checked(table: pd.DataFrame, where: str) -> pd.DataFrame:
    """Refuse fixes that do not say whose they are."""
    unnamed = int((table["user"] == "").sum())
    if unnamed:
        raise TrackError(
            f"{unnamed:,} fixes of {where} do not say whose they are; remove them, or name the "
            f"column that does (--user)"
        )
    return table


def _pieces(path: Path, reading: Reading) -> Iterator[pd.DataFrame]:
    """Yield the fixes of a Parquet file, or of a folder of them, in pieces."""
    with refusing(f"{path.name} is not Parquet that can be read", TrackError):
        dataset = _dataset(path)
        if b"geo" in (dataset.schema.metadata or {}):
            raise TrackError(
                "it holds geometries; write latitude and longitude as columns of their own"
            )
        found = dataset.to_batches(batch_size=ROWS, batch_readahead=2, fragment_readahead=1)
    while True:
        with refusing(f"{path.name} is not Parquet that can be read", TrackError):
            batch = next(found, None)
            if batch is None:
                return
            frame = batch.to_pandas()
        if len(frame):
            yield _checked(_with_users(frame, reading, path.name), path.name)


def _one(path: Path, reading: Reading, person: str | None) -> pd.DataFrame:
    """Return the fixes of one file or of one person's folder."""
    table = read(
        path,
        columns=reading.columns,
        time_zone=reading.time_zone,
        time_format=reading.time_format,
    )
    if path.is_dir():
        return table.assign(user=unicodedata.normalize("NFC", str(person)))
    column = _user_column(table, reading)
    if column is not None:
        return table.assign(user=people(table[column], path.name))
    if person is None or reading.user is not None:
        raise _no_user(table, path.name)
    return table.assign(user=unicodedata.normalize("NFC", person))


def _with_users(frame: pd.DataFrame, reading: Reading, where: str) -> pd.DataFrame:
    column = _user_column(frame, reading)
    if column is None:
        raise _no_user(frame, where)
    kinds = {type(name) for name in frame[column].dropna()}
    odd = [kind.__name__ for kind in kinds if not issubclass(kind, str | int | float)]
    if odd or bool in kinds:
        raise TrackError(f"a person is named by text or a number; {where} has {odd or ['bool']}")
    others = frame.drop(columns=["user"] if column != "user" and "user" in frame else [])
    return track_table(
        others.rename(columns={column: "user"}),
        columns=reading.columns,
        time_zone=reading.time_zone,
        time_format=reading.time_format,
        where=where,
    )


def _user_column(frame: pd.DataFrame, reading: Reading) -> str | None:
    if reading.user is not None:
        return reading.user if reading.user in frame else None
    found = [name for name in map(str, frame.columns) if plain(name) in _USERS]
    if len(found) > 1 and "user" not in found:
        raise TrackError(f"{listing(found)} may all say whose a fix is; say which (--user)")
    return "user" if "user" in found else next(iter(found), None)


def _no_user(frame: pd.DataFrame, where: str) -> TrackError:
    return TrackError(
        f"{where} does not say whose each fix is: it has the columns "
        f"{listing(list(map(str, frame.columns)), 12)}; name the one that does (--user)"
    )


def _files(path: Path) -> list[Path]:
    """Return a file, or all files of a folder that are not hidden."""
    if not path.is_dir():
        return [path] if path.exists() else []
    return sorted(
        each for each in path.rglob("*") if each.is_file() and not each.name.startswith((".", "_"))
    )


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"
