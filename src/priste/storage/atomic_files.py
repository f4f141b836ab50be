"""Atomic output: all files or none.

Each file is written under another name beside its place. When all of them are complete they are
moved into place together; on a failure or a signal everything is as it was before.
"""

import os
import secrets
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
"""The signals that ask a process to end, as far as the system has them."""


class AtomicFiles:
    """Several files that all appear when the block ends well, and none of them if it does not."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(4)
        self._partials: dict[Path, Path] = {}
        self._unwanted: list[Path] = []
        self._folders: list[Path] = []

    def add(self, path: str | Path, *, private: bool = False) -> Path:
        """Return where to write what will stand at `path`.

        Only its owner can read a `private` file, from the moment it exists.
        """
        path = Path(path)
        partial = path.with_name(f".{path.name}.{self._mark}.partial")
        self._partials[path] = partial
        mode = 0o600 if private else 0o666
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        return partial

    def remove(self, path: Path) -> None:
        """Remove what stands at `path` when the other files appear, if anything does."""
        self._unwanted.append(path)

    def make_folder(self, path: Path, *, private: bool = False) -> None:
        """Make a folder and those above it; on a failure those that are new are removed."""
        missing = [each for each in (path, *path.parents) if not each.exists()]
        self._folders += missing
        for each in reversed(missing):
            each.mkdir(mode=0o700 if private and each == path else 0o777)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            with _undisturbed():
                if kind is None:
                    self._move()
                    self._folders.clear()  # they stay
                self._discard()
        except BaseException:
            self._discard()
            raise

    def _discard(self) -> None:
        """Remove what is not in its place; doing it again does no harm."""
        for partial in self._partials.values():
            with suppress(OSError):  # it could not be made in the first place
                partial.unlink(missing_ok=True)
        for folder in sorted(self._folders, reverse=True):  # the inner ones first
            with suppress(OSError):  # gone already, or somebody else put a file there
                folder.rmdir()

    def _move(self) -> None:
        before: dict[Path, Path] = {}
        moved: list[Path] = []
        unwanted = [path for path in self._unwanted if path.is_file()]
        for path in self._partials:
            if path.is_dir():
                raise IsADirectoryError(None, "a folder stands in the place of a file", path)
        if len(self._partials) == 1 and not unwanted:  # one step: at no moment is there neither
            for path, partial in self._partials.items():
                partial.replace(path)
            return
        try:
            for path in (*self._partials, *unwanted):
                if path.exists():
                    before[path] = path.rename(path.with_name(f".{path.name}.{self._mark}.before"))
            for path, partial in self._partials.items():
                partial.rename(path)
                moved.append(path)
        except BaseException:
            for path in moved:
                path.unlink()
            for path, kept in before.items():
                kept.rename(path)
            raise
        for kept in before.values():
            kept.unlink()


@contextmanager
def atomic_file(path: str | Path, *, private: bool = False) -> Iterator[Path]:
    """Give a place beside `path` to write to; it is moved to `path` when the block ends well."""
    with AtomicFiles() as files:
        yield files.add(path, private=private)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold back signals that ask the process to end until the block is done."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread only
        return
    held: list[int] = []
    usual = {each: signal.getsignal(each) for each in SIGNALS}
    for each in SIGNALS:
        signal.signal(each, lambda number, _: held.append(number))
    try:
        yield
    finally:
        for each, handler in usual.items():
            if handler is not None:  # None: it was not installed from Python
                signal.signal(each, handler)
        for number in dict.fromkeys(held):
            signal.raise_signal(number)
