"""Files that appear when they are whole: written aside, then moved into place."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def aside(path: str | Path, *, private: bool = False) -> Iterator[Path]:
    """Give a place beside `path` to write to; it is moved to `path` when the block ends well.

    If the block fails, nothing is left and what stood at `path` before stays. A `private` file can
    be read by its owner alone, from the moment it exists.
    """
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        if private:
            os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
