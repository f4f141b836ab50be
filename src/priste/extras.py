"""Parts of the package that need more than its core dependencies."""

from collections.abc import Iterator
from contextlib import contextmanager

from priste.errors import MissingExtraError


@contextmanager
def needs_extra(part: str, extra: str) -> Iterator[None]:
    """Import what `part` needs inside; a missing package becomes the command that installs it."""
    try:
        yield
    except (ModuleNotFoundError, MissingExtraError) as error:
        package = (error.name or "").partition(".")[0]
        if package == "priste":  # a defect of ours: no installation mends it
            raise
        raise MissingExtraError(
            f"{part} needs {package}, which is not installed: pip install 'priste[{extra}]'",
            name=package,
        ) from error
