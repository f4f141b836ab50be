"""A small table for notebooks."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table of texts as HTML."""
    top = f"<caption>{escape(caption)}</caption>" if caption else ""
    lines = [_row("th", head)] if any(head) else []
    lines += [_row("td", row) for row in rows]
    return f"<table>{top}{''.join(lines)}</table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
