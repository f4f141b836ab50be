"""Folders and ZIP files of tracks, whatever formats they mix."""

import shutil
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import pandas as pd

from priste.checks import listing, shown
from priste.errors import TrackError
from priste.storage.limits import (
    FREE_BYTES,
    MAX_FILES,
    MAX_JSON_BYTES,
    MAX_UNFOLDED,
    at_most,
    refusing,
)
from priste.tracks.names import readable
from priste.tracks.table import NOTES

_DEEPEST = 2  # a KMZ in a ZIP


def read_folder(folder: Path, read: Callable[[Path], pd.DataFrame]) -> pd.DataFrame:
    """Return the fixes of every file in a folder and those below it; `read` reads one."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("."))
    at_most(len(files), MAX_FILES, f"the files of {folder}", "split it", TrackError)
    named = ((str(path.relative_to(folder)), path) for path in files)
    return _joined(str(folder), named, read)


def read_zip(path: Path, read: Callable[[Path], pd.DataFrame], depth: int) -> pd.DataFrame:
    """Return the fixes of every file in a ZIP file; one that unfolds without end is refused."""
    if depth >= _DEEPEST:
        raise TrackError(f"{path.name} is packed more than {_DEEPEST} times; unpack it first")
    with (
        refusing(f"{path.name} is not a ZIP file that can be read", TrackError),
        zipfile.ZipFile(path) as archive,
    ):
        files = [each for each in archive.infolist() if not each.is_dir()]
        at_most(len(files), MAX_FILES, "its files", "split it", TrackError)
        if any(each.flag_bits & 1 for each in files):
            raise TrackError("it is encrypted; unpack it first")
        size = sum(each.file_size for each in files)
        most = min(MAX_JSON_BYTES, max(FREE_BYTES, MAX_UNFOLDED * path.stat().st_size))
        at_most(size, most, "what it unfolds to, in bytes", "unpack it first", TrackError)
    return _joined(path.name, _unpacked(path, files), read)


def _unpacked(path: Path, files: list[zipfile.ZipInfo]) -> Iterator[tuple[str, Path]]:
    """Yield each file of an archive, with the path of a copy that is removed afterwards."""
    with zipfile.ZipFile(path) as archive:
        for each in files:
            name = PurePosixPath(each.filename.replace("\\", "/")).name
            if name.startswith(".") or stat.S_ISLNK(each.external_attr >> 16):
                continue
            with _copy(archive, each, readable(name, "a file", TrackError)) as copy:
                yield each.filename, copy


@contextmanager
def _copy(archive: zipfile.ZipFile, each: zipfile.ZipInfo, name: str) -> Iterator[Path]:
    with TemporaryDirectory(prefix="priste-") as folder:  # only its owner can look into it
        copy = Path(folder) / name.encode()[:200].decode(errors="ignore").replace("/", "_")
        with (
            refusing(f"{name} cannot be unpacked", TrackError),
            archive.open(each) as packed,
            copy.open("wb") as file,
        ):
            shutil.copyfileobj(packed, file)
        yield copy


def _joined(
    where: str, files: Iterator[tuple[str, Path]], read: Callable[[Path], pd.DataFrame]
) -> pd.DataFrame:
    """Return the fixes of all files that hold any, and note which hold none, and why."""
    tables, skipped, notes = [], [], {}
    for number, (name, path) in enumerate(files):
        try:
            table = read(path)
        except TrackError as error:
            skipped.append(f"{shown(name)[1:-1]} ({str(error)[:200]})")
            continue
        notes.update(dict.fromkeys(table.attrs.pop(NOTES, [])))
        tables.append(table.assign(track=f"{number}/" + table["track"]))
    if not tables:
        reasons = f": {listing(skipped, 3)}" if skipped else ""
        raise TrackError(f"{where} holds no track that can be read{reasons}")
    joined = pd.concat(tables, ignore_index=True)
    said = [f"read {len(tables)} of {len(tables) + len(skipped)} files of {where}", *notes]
    joined.attrs[NOTES] = [*said, *(f"skipped {each}" for each in skipped)]
    return joined
