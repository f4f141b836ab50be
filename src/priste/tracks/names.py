"""What a name may be: short and printable, safe for pages, figures, files and terminals."""

from priste.checks import shown
from priste.errors import PristeError

MAX_NAME = 200
"""The characters of a name of a track, a column, an event, a region, a window or a promise."""


def checked(name: object, what: str, error: type[PristeError]) -> str:
    """Return a chosen name; refuse one that is long, empty or not printable."""
    if not isinstance(name, str) or not name.strip():
        raise error(f"{what} needs a name, got {shown(name)}")
    if len(name) > MAX_NAME:
        raise error(
            f"the name of {what} has {len(name):,} characters, the limit is {MAX_NAME}; "
            f"shorten it: {shown(name)}"
        )
    if not name.isprintable():
        raise error(
            f"the name of {what} contains an unprintable character; "
            f"remove it: {shown(escaped(name))}"
        )
    return name


def short(text: str, most: int = 60) -> str:
    """Return text cut to at most so many characters, for a repr of one line."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def readable(name: object, what: str, error: type[PristeError]) -> str:
    r"""Return a name from data, with escapes such as ``\x07`` for unprintable characters."""
    text = str(name)
    if len(text) > MAX_NAME:
        raise error(
            f"{what} has a name of {len(text):,} characters, the limit is {MAX_NAME}; "
            f"shorten it: {shown(escaped(text))}"
        )
    return text if text.isprintable() else escaped(text)


def escaped(text: str) -> str:
    r"""Return text with escapes such as ``\n`` and ``\x07`` for unprintable characters."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
