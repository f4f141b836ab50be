"""How much a file may ask for. Anything beyond is refused before it costs time or memory.

Files come from anywhere. What a reader needs is in proportion to the size of the file, and a file
that claims more than it holds (a map of a billion cells, a stream of a billion steps, an archive
that unfolds without end) is refused with the value, the limit and what to do.
"""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from priste.errors import PristeError

MIB = 2**20

MAX_TRACK_BYTES = 1024 * MIB
"""The size of a CSV, PLT or Parquet file."""

MAX_MARKUP_BYTES = 256 * MIB
"""The size of a GPX file, a GeoJSON file or a certificate; in memory they take many times that."""

MAX_JSON_BYTES = 8 * 1024 * MIB
"""The size of an app's export as JSON, which is read a piece at a time; and of a ZIP, unpacked."""

MAX_LINE_BYTES = 1 * MIB
"""The length of one line of JSON."""

MAX_FILES = 20_000
"""The files of a folder or a ZIP file."""

MAX_EVENTS_BYTES = 1 * MIB
"""The size of an events file; large polygons belong in a GeoJSON file beside it."""

MAX_HABITS = 32
"""How many mobilities one model holds."""
MAX_MODEL_BYTES = 256 * MIB
"""The size of all the arrays of a model, unfolded: a map of 400 cells and a matrix for every ten
minutes of the day have 176 MiB."""

MAX_STREAM_BYTES = 1024 * MIB
"""The size of all the arrays of a stream: its models, and the evidence about what is live."""

MAX_STREAM_ARRAYS = 8_000
"""How many arrays the file of a stream may hold."""

MAX_UNFOLDED = 100
"""How many times its own size a Parquet file may unpack to, if that exceeds `FREE_BYTES`."""

FREE_BYTES = 16 * MIB
"""What any Parquet file may unpack to, however small it is."""

MAX_COLUMNS = 256
"""The columns of a table, among them all the different properties of GeoJSON features."""

MAX_CELLS = 10_000
"""The cells of a map over a real place: distances and noise take its square."""

MAX_EXTENT_KM = 20_000.0
"""The side of a map: its projection shows half a great circle."""

MAX_STEPS = 100_000
"""The steps of a stream: almost two years of ten minutes."""

MAX_PHASES = 1_440
"""The steps of a day that may each have a matrix of their own: one a minute."""

MAX_NAMED = 1_000
"""How many regions, windows and events a file may name, and how many protections it may have."""

MAX_DAY_RANGES = 10_000
"""The stretches of days that a model may have been learned from."""

MAX_CONDITIONS = 1_000_000
"""The conditions of all events of a file together, one for each step of each."""

MAX_EXPRESSION = 10_000
"""The characters of an expression in an events file."""

MAX_CORNERS = 10_000
"""The corners of all polygons of a region."""

MAX_NESTING = 64
"""How deeply lists and tables may be nested, and how many parts a dotted key may have."""

MAX_BUDGET = 1e6
"""The budget of noise per kilometre: its mean is then two millimetres."""

EARLIEST, LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
"""When a stream, a window or a pattern may begin and end."""

LONGEST_STEP = timedelta(days=366)
"""How long one step may be."""


def at_most(value: float, limit: float, what: str, remedy: str, error: type[PristeError]) -> None:
    """Refuse a number above its limit."""
    if not value <= limit:
        shown = f"{value:,}" if abs(value) < 10**18 else "a number of more than 18 digits"
        raise error(f"{what}: {shown}, the limit is {limit:,}; {remedy}")


def moment_within(moment: datetime, what: str, error: type[PristeError]) -> None:
    """Refuse a moment beyond the years that clocks here cover."""
    if not EARLIEST <= moment <= LATEST:  # nor is that true of no moment at all
        raise error(
            f"{what} is {moment}, which does not lie between {EARLIEST:%Y} and {LATEST:%Y}; "
            f"correct the year"
        )


def content_of(path: Path, most: int, error: type[PristeError]) -> bytes:
    """Return the content of a regular file of at most `most` bytes."""
    size = size_of(path, most, error)
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        raise error(f"{path} cannot be read") from None


def size_of(path: Path, most: int, error: type[PristeError]) -> int:
    """Return the size of a regular file of at most `most` bytes; refuse pipes and devices."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # of a name that no file can have
        raise error(f"{str(path)[:500]!r} cannot be read: there is no such file") from None
    if not stat.S_ISREG(status.st_mode):
        raise error(
            f"{path} cannot be read: it is a folder, a pipe or a device; "
            f"write what it gives to a file first"
        )
    what = f"the size of {path.name} in bytes"
    at_most(status.st_size, most, what, "split it, or take less of it", error)
    return status.st_size


@contextmanager
def refusing(what: str, error: type[PristeError]) -> Iterator[None]:
    """Turn whatever a parser raises into an error that says `what` is wrong."""
    try:
        yield
    except PristeError as problem:
        raise error(f"{what}: {_cut(str(problem), 1000)}") from problem
    except Exception as problem:  # parsers raise almost anything
        raise error(f"{what}: {reason(problem)}") from problem


def reason(problem: Exception) -> str:
    """Return why something could not be read, as one line of at most 300 printable characters."""
    if isinstance(problem, RecursionError):
        return f"it is nested too deeply; {MAX_NESTING} levels are enough"
    if isinstance(problem, MemoryError):
        return "it would need more memory than there is"
    text = " ".join(f"{problem}".split()) or type(problem).__name__
    return "".join(c for c in text if c.isprintable())[:300]


def _cut(text: str, most: int) -> str:
    """Return a message that may quote a hostile file, no longer than anybody reads."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
