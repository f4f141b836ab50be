"""One HTML page that needs nothing else, and its figures as files."""

import io
import math
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from priste.odds import as_factor, as_odds
from priste.report.figures import draw
from priste.report.findings import EventFinding, Findings
from priste.tracks.outputs import Together

_STYLE = """
:root { color-scheme: light; --ink: #333; --line: #e3e3e3; --soft: #f6f6f4; --secret: #c9403a }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); max-width: 54rem;
       margin: 2rem auto; padding: 0 1.2rem }
h1 { font-size: 1.7rem; margin-bottom: .2rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
.private { background: var(--secret); color: white; padding: .5rem .9rem; border-radius: .4rem }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line) }
td.n, th.n { text-align: right } figure { margin: 1rem 0 } svg { max-width: 100%; height: auto }
ul { background: var(--soft); padding: 1rem 1rem 1rem 2.2rem; border-radius: .4rem }
footer { color: #777; font-size: .85rem; margin-top: 3rem }
"""

_CAPTIONS = {
    "map": "What was released, and the places the events are about.",
    "odds": "The band is the promise. No line may leave it, and none can.",
    "remap": "How the event stays secret: what would have been reported from two places.",
    "error": "The price: how far what was released lies from the truth.",
}


def write_report(findings: Findings, path: str | Path, files: Together | None = None) -> list[Path]:
    """Write the page to `path` and its figures beside it; return all files.

    All of them appear together, or none; with `files`, together with others that were added there.
    Those of a private report can be read by their owner only.
    """
    if files is None:
        with Together() as own:
            return write_report(findings, path, own)
    figures = draw(findings)
    pages, pictures = _paths(Path(path), list(figures))
    svgs = {name: as_svg(figure) for name, figure in figures.items()}
    private = findings.is_private
    files.add(pages, private=private).write_text(_page(findings, svgs), encoding="utf-8")
    for (name, ending), target in pictures.items():
        partial = files.add(target, private=private)
        if ending == "svg":
            partial.write_text(svgs[name], encoding="utf-8")
        else:
            figures[name].savefig(partial, format="png", dpi=120)
    return [pages, *pictures.values()]


def report_files(path: Path) -> list[Path]:
    """Return every file that a report at `path` may consist of."""
    page, pictures = _paths(path, list(_CAPTIONS))
    return [page, *pictures.values()]


def _paths(path: Path, names: list[str]) -> tuple[Path, dict[tuple[str, str], Path]]:
    pictures = {
        (name, ending): path.with_name(f"{path.stem}-{name}.{ending}")
        for name in names
        for ending in ("svg", "png")
    }
    return path, pictures


def as_svg(figure: Figure) -> str:
    """Return a figure as SVG, the same text each time."""
    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "priste"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def _page(findings: Findings, figures: dict[str, str]) -> str:
    certificate = findings.certificate
    drawn = "".join(
        f"<figure>{_inline(svg, name)}<figcaption>{_CAPTIONS[name]}</figcaption></figure>"
        for name, svg in figures.items()
    )
    kind = "a private report" if findings.is_private else "a public report"
    warning = (
        "<p class=private>Private: this page shows where the person was. Do not share it.</p>"
        if findings.is_private
        else ""
    )
    sections = [
        "<h2>What is promised</h2>",
        "<ul>" + "".join(f"<li>{escape(s)}</li>" for s in certificate.sentences()) + "</ul>",
        *(["<h2>What this track tells</h2>", _events_table(findings)] if findings.events else []),
        drawn,
    ]
    if findings.is_private:
        sections += ["<h2>What it cost</h2>", _error_table(findings)]
    if findings.account is not None:
        sections += ["<h2>Where the fixes went</h2>", _account_table(findings)]
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<title>PriSTE: {kind}</title><style>{_STYLE}</style></head><body>"
        f"<h1>A protected track</h1><p>PriSTE, {kind}</p>{warning}{''.join(sections)}"
        f"<footer>{escape(certificate.made_by)}, {escape(certificate.created)}. "
        "This page needs no network.</footer></body></html>\n"
    )


def _inline(svg: str, name: str) -> str:
    """Return the SVG element alone, its names made unique so that figures do not mix on a page."""
    element = svg[svg.index("<svg") :]
    element = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', element)
    return re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{name}-", element)


def _events_table(findings: Findings) -> str:
    head = ["event", "ε", "odds change at most by", "largest loss of anybody (at most ε)"]
    rows = [
        [e.name, f"{e.epsilon:g}", f"a factor {as_factor(e.epsilon)}", f"{e.worst:.4f}"]
        for e in findings.events
    ]
    note = "The largest loss is the worst over everybody the promise is about, at the worst moment."
    if findings.is_private:
        head += ["odds before", "promised to stay within", "odds after all releases"]
        for event, row in zip(findings.events, rows, strict=True):
            row += _odds(event)
        note += " Odds are those of an observer who believes the model: they tell your habits."
    return _table(head, rows) + f"<p>{note}</p>"


def _odds(event: EventFinding) -> list[str]:
    if event.before is None or event.after is None:
        return []
    low = as_odds(event.before * math.exp(-event.epsilon), "down")
    high = as_odds(event.before * math.exp(event.epsilon), "up")
    band = f"{low} to {high}" if event.promise.sides == "both" else f"at most {high}"
    return [as_odds(event.before), band, as_odds(float(event.after[-1]))]


def _error_table(findings: Findings) -> str:
    errors = findings.errors
    if errors is None:
        return ""
    distances = findings.model.place.grid.distances
    rows = [
        ("releases", f"{len(errors)}"),
        ("mean distance", f"{errors.mean():.2f} km"),
        ("median", f"{np.median(errors):.2f} km"),
        ("95 of 100 are below", f"{np.quantile(errors, 0.95):.2f} km"),
        ("a cell drawn blindly would be off by", f"{distances.mean():.2f} km"),
    ]
    return _table(("", ""), rows)


def _account_table(findings: Findings) -> str:
    account = findings.account
    if account is None:
        return ""
    rows = [("fixes read", f"{account.read:,}")]
    rows += [(f"dropped: {why}", f"{count:,}") for why, count in account.dropped.items()]
    rows += [
        ("kept", f"{account.kept:,}"),
        ("of these put into order of time", f"{account.moved:,}"),
    ]
    return _table(("", ""), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head) if any(head) else ""
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{top}</tr>{body}</table>"
