"""Arrays from an untrusted archive (.npz), checked as a whole before any is read.

An archive says how large each array is. These claims are held against each other, against the
file and against the limits, first; then nothing is allocated that is not there. Arrays are plain
numbers: an array of objects would be a program to run.
"""

import hashlib
import io
import math
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from priste.errors import ModelFileError, PristeError
from priste.storage.limits import MAX_MODEL_BYTES, MAX_PHASES, MIB, at_most, content_of

MAX_ARRAYS = 3 * MAX_PHASES + 4
"""Three arrays for each sparse matrix, and four others."""

_FEWER = "fit a model with fewer cells or longer steps"
_END, _END_SIZE, _LARGE_END = b"PK\x05\x06", 22, b"PK\x06\x07"
_DIRECTORY_BYTES = 1 * MIB
_HEADER_BYTES = 10_000


class Claim(NamedTuple):
    """What an archive says an array is."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class Archive:
    """The arrays of a file: what each claims to be, and its content on request."""

    def __init__(
        self, content: bytes, *, most_bytes: int = MAX_MODEL_BYTES, most_arrays: int = MAX_ARRAYS
    ) -> None:
        _check_directory(content)
        self._zip = zipfile.ZipFile(io.BytesIO(content))
        entries = self._zip.infolist()
        at_most(len(entries), most_arrays, "the number of arrays", _FEWER, ModelFileError)
        total = sum(entry.file_size for entry in entries)
        at_most(total, most_bytes, "the size of its arrays in bytes", _FEWER, ModelFileError)
        self._entries = {entry.filename.removesuffix(".npy"): entry for entry in entries}
        if len(self._entries) < len(entries):
            raise ModelFileError("it holds two arrays with the same name")
        self.claims = {name: self._claim(name) for name in self._entries}

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the arrays of a file."""
        return cls(content_of(path, MAX_MODEL_BYTES, ModelFileError))

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return an array, read-only."""
        dtype, shape = self.claims[name]
        with self._zip.open(self._entries[name]) as file:
            _claimed(file)
            content = file.read()  # to its end, where the archive's own checksum is verified
        return np.frombuffer(content, dtype=dtype).reshape(shape)

    def content(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        return {name: self[name] for name in self.claims}

    def needs(self, *names: str) -> None:
        """Refuse an archive without a checksum, or without one of the arrays."""
        if not {"checksum", *names} <= set(self.claims):
            raise ModelFileError("it has no checksum or no description")

    def _claim(self, name: str) -> Claim:
        entry = self._entries[name]
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ModelFileError("it uses a compression that numpy does not write")
        with self._zip.open(entry) as file:
            claim = _claimed(file)
            header = file.tell()
        if claim.dtype.kind not in "fiu" or claim.dtype.itemsize > 8 or not claim.dtype.isnative:
            raise ModelFileError(f"{name[:80]!r} holds {claim.dtype}, not plain numbers")
        if math.prod(claim.shape) * claim.dtype.itemsize != entry.file_size - header:
            raise ModelFileError(f"{name[:80]!r} claims a size that it does not have")
        return claim


def write_archive(file: IO[bytes], content: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays, in row order, with the checksum of them all."""
    digest = np.frombuffer(checksum(content), dtype=np.uint8)
    rows = {name: np.asarray(array, order="C") for name, array in content.items()}
    np.savez_compressed(file, checksum=digest, **rows)  # type: ignore[arg-type]


def verified(
    content: Mapping[str, NDArray[Any]], name: str, error: type[PristeError]
) -> dict[str, NDArray[Any]]:
    """Return the arrays of the file `name` but their checksum, which must be theirs."""
    others = {each: array for each, array in content.items() if each != "checksum"}
    if content["checksum"].tobytes() != checksum(others):
        raise error(
            f"{name} has been changed or damaged since it was written: its checksum differs"
        )
    return others


def checksum(content: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the SHA-256 of all arrays with their names, kinds and shapes."""
    digest = hashlib.sha256()
    for name in sorted(content):
        array = np.ascontiguousarray(content[name])
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(array.tobytes())
    return digest.digest()


def _check_directory(content: bytes) -> None:
    """Refuse an oversized table of contents before reading it."""
    end = content[-_END_SIZE:]
    before = content[-_END_SIZE - 20 : -_END_SIZE]  # where an archive of a larger format says so
    if len(end) < _END_SIZE or end[:4] != _END or before[:4] == _LARGE_END:
        raise ModelFileError("it is not an archive written by numpy, or it is truncated")
    size = struct.unpack("<L", end[12:16])[0]
    at_most(size, _DIRECTORY_BYTES, "the size of its table of contents", _FEWER, ModelFileError)


def _claimed(file: IO[bytes]) -> Claim:
    """Read the header of an array."""
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ModelFileError(f"it holds an array of format {version}")
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran_order, dtype = header(file, max_header_size=_HEADER_BYTES)
    if fortran_order and len(shape) > 1:
        raise ModelFileError("it holds an array in column order; row order is expected")
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ModelFileError("it holds an array with an invalid shape")
    return Claim(dtype, shape)
