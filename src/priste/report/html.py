"""Self-contained pages: style, tables and drawings in one file."""

import io
import re
from collections.abc import Sequence
from html import escape

import matplotlib as mpl
from matplotlib.figure import Figure

_STYLE = """
:root { color-scheme: light; --ink: #333; --line: #e3e3e3; --soft: #f6f6f4; --secret: #b3261e;
        --faint: #5c6168; --paper: #fff }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 60rem; margin: 2rem auto; padding: 0 1.2rem }
h1 { font-size: 1.7rem; margin-bottom: .2rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
.private { background: var(--secret); color: var(--paper); padding: .5rem .9rem;
           border-radius: .4rem }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line) }
td.n, th.n { text-align: right } figure { margin: 1rem 0 }
figure svg { max-width: 100%; height: auto }
td { vertical-align: top } small, summary { color: var(--faint) } summary { cursor: pointer }
b.good { color: #2e7d4f } b.partly { color: #a86a00 } b.bad { color: var(--secret) }
ul { background: var(--soft); padding: 1rem 1rem 1rem 2.2rem; border-radius: .4rem }
@media (max-width: 40rem) { table { font-size: .85rem } th, td { overflow-wrap: anywhere } }
footer { color: var(--faint); font-size: .85rem; margin-top: 3rem }
"""


def document(title: str, heading: str, body: str, footer: str, head: str = "") -> str:
    """Return a whole page; `body` and what is added to its `head` are HTML, the others are text."""
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>{head}</head><body>"
        f"<h1>{escape(heading)}</h1>{body}"
        f"<footer>{escape(footer)}. This page needs no network.</footer></body></html>\n"
    )


def as_svg(figure: Figure) -> str:
    """Return a figure as SVG, the same text each time."""
    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "priste"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def inline_svg(svg: str, name: str) -> str:
    """Return the SVG element alone, with ids that are unique on a page of several."""
    element = svg[svg.index("<svg") :]
    element = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', element)
    return re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{name}-", element)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts."""
    return html_table(head, [[escape(cell) for cell in row] for row in rows])


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose cells are HTML; the head is text."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head) if any(head) else ""
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{body}</table>"
