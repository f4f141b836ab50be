"""XML from anywhere: checked before anything is made of it."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from priste.errors import TrackError
from priste.storage.limits import MAX_MARKUP_BYTES, MAX_NESTING, at_most, content_of, refusing


def checked(path: Path, what: str) -> bytes:
    """Return the content of an XML file, from its first element or declaration on.

    XML that defines entities, which can expand without end, or is nested deeply is refused.
    """
    content = content_of(path, MAX_MARKUP_BYTES, TrackError)
    if content.startswith((b"\xef\xbb\xbf", b"\r", b"\n", b" ", b"\t")):  # as some apps write
        content = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    with refusing(f"{path.name} is not a {what} file that can be read", TrackError):
        _check(content)
    return content


def _check(content: bytes) -> None:
    depth = 0

    def opened(*_: object) -> None:
        nonlocal depth
        depth += 1
        at_most(depth, MAX_NESTING, "the nesting of its elements", "make it flat", TrackError)

    def closed(*_: object) -> None:
        nonlocal depth
        depth -= 1

    def refuse(*_: object) -> None:
        raise TrackError("it has a document type, which no track needs; remove <!DOCTYPE …>")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = opened, closed
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(content, True)


def local(element: ElementTree.Element) -> str:
    """Return the name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def every(root: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    """Yield the elements of a name, in the order of the file."""
    return (element for element in root.iter() if local(element) == name)


def text_of(element: ElementTree.Element, *path: str) -> str | None:
    """Return the text of the element that a path of names leads to, if there is one."""
    for name in path:
        found = next((child for child in element if local(child) == name), None)
        if found is None:
            return None
        element = found
    return (element.text or "").strip() or None
