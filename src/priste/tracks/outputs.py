"""Files that appear when they are whole: written aside, then moved into place together."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self


class Together:
    """Several files that all appear when the block ends well, and none of them if it does not.

    What stood in their places before is put back on a failure.
    """

    def __init__(self) -> None:
        self._mark = secrets.token_hex(4)
        self._partials: dict[Path, Path] = {}

    def add(self, path: str | Path, *, private: bool = False) -> Path:
        """Return where to write what will stand at `path`.

        A `private` file can be read by its owner alone, from the moment it exists.
        """
        path = Path(path)
        partial = path.with_name(f".{path.name}.{self._mark}.partial")
        mode = 0o600 if private else 0o666
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        self._partials[path] = partial
        return partial

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._move()
        finally:
            for partial in self._partials.values():
                partial.unlink(missing_ok=True)

    def _move(self) -> None:
        before: dict[Path, Path] = {}
        moved: list[Path] = []
        for path in self._partials:
            if path.is_dir():
                raise IsADirectoryError(None, "a folder stands in the place of a file", path)
        if len(self._partials) == 1:  # in one go: at no moment is there neither
            for path, partial in self._partials.items():
                partial.replace(path)
            return
        try:
            for path, partial in self._partials.items():
                if path.exists():
                    before[path] = path.rename(path.with_name(f".{path.name}.{self._mark}.before"))
                partial.rename(path)
                moved.append(path)
        except BaseException:  # somebody's Ctrl-C too
            for path in moved:
                path.unlink()
            for path, kept in before.items():
                kept.rename(path)
            raise
        for kept in before.values():
            kept.unlink()


@contextmanager
def aside(path: str | Path, *, private: bool = False) -> Iterator[Path]:
    """Give a place beside `path` to write to; it is moved to `path` when the block ends well."""
    with Together() as files:
        yield files.add(path, private=private)
