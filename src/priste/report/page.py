"""One self-contained HTML page, and its figures as files."""

import math
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from priste.report.component import data, head_with
from priste.report.figures import draw
from priste.report.findings import EventFinding, Findings
from priste.report.html import as_svg, document, inline_svg, table
from priste.report.picture import released_views
from priste.storage.atomic_files import AtomicFiles
from priste.tracks.other_habits import in_words
from priste.wording import as_factor, as_odds

_CAPTIONS = {
    "map": "What was released, and the places that the events are about.",
    "odds": "The band is the promise: no line leaves it.",
    "remap": "How the event stays secret: what two places would have reported.",
    "error": "The price: the distance from where the person was to what was released.",
}

_LIVE = ("map", "odds", "error")
"""The figures that a page with scripts shows as views."""

_GUIDE = (
    "The same day, shared in four ways. An observer who knows your habits, and how each way of "
    "sharing works, draws conclusions. Move the slider through the day: the shading shows where "
    "they think you are, the curves what odds they give each secret. The shaded band is what the "
    "protected track promises: only there does the curve stay inside it, whatever happened."
)

_START = (
    'new PristeViews.{shown}(document.getElementById("day"))'
    '.show(JSON.parse(document.getElementById("data").textContent))'
)


def write_report(
    findings: Findings, path: str | Path, files: AtomicFiles | None = None
) -> list[Path]:
    """Write the page to `path` and its figures beside it; return all files.

    Output is atomic: all files or none; with `files`, together with those added there. Only the
    owner can read the files of a private report.
    """
    if files is None:
        with AtomicFiles() as own:
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
            figures[name].set_layout_engine("none")  # as it is laid out by now
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


def _page(findings: Findings, figures: dict[str, str]) -> str:
    certificate, private = findings.certificate, findings.is_private
    kind = "a private report" if private else "a public report"
    warning = (
        "<p class=private>Private: this page shows where the person was. Do not share it.</p>"
        if private
        else ""
    )
    views = findings.views if private else _released(findings)
    drawn = {name: _figure(svg, name) for name, svg in figures.items()}
    live = "".join(drawn.pop(name, "") for name in (_LIVE if private else ("map",)))
    sections = []
    if views is not None:
        told = f"<h2>What an observer concludes</h2><p>{_GUIDE}</p>"
        sections.append(told if private else "<h2>What was released</h2>")
        sections.append(f"<div id=day></div><noscript>{live}</noscript>{data('data', views)}")
    else:
        sections.append(live)
    sections += [
        "<h2>What is promised</h2>",
        "<ul>" + "".join(f"<li>{escape(s)}</li>" for s in certificate.sentences()) + "</ul>",
    ]
    if findings.events:
        sections += ["<h2>What this track reveals</h2>", _events_table(findings)]
    sections += drawn.values()
    if private:
        sections += ["<h2>What it cost</h2>", _error_table(findings)]
    if findings.account is not None:
        sections += ["<h2>Where the fixes went</h2>", _account_table(findings)]
    body = f"<p>PriSTE, {kind}</p>{warning}{''.join(sections)}"
    made = f"{certificate.made_by}, {certificate.created}"
    shown = "Day" if private else "Released"
    head = "" if views is None else head_with(_START.format(shown=shown))
    return document(f"PriSTE: {kind}", "A protected track", body, made, head)


def _released(findings: Findings) -> dict[str, Any]:
    secret = sorted({cell for event in findings.events for cell in event.cells})
    return released_views(findings.model.place, list(findings.released.values()), secret)


def _figure(svg: str, name: str) -> str:
    return f"<figure>{inline_svg(svg, name)}<figcaption>{_CAPTIONS[name]}</figcaption></figure>"


def _events_table(findings: Findings) -> str:
    head = ["event", "ε", "odds change at most by", "largest loss for any observer (at most ε)"]
    rows = [
        [e.name, f"{e.epsilon:g}", f"a factor {as_factor(e.epsilon)}", f"{e.worst:.4f}"]
        for e in findings.events
    ]
    note = (
        "The largest loss is the worst over all observers the promise covers, at the worst step, "
        "also before and after the event was tracked."
    )
    if findings.is_private:
        head += ["odds before", "promised band", "odds after all releases"]
        for event, row in zip(findings.events, rows, strict=True):
            row += _odds(event)
        note += " The odds of an observer who believes the model reveal your habits."
    return table(head, rows) + f"<p>{note}</p>" + _others(findings)


def _others(findings: Findings) -> str:
    """Say what an observer concludes about whom nothing is promised."""
    others = findings.against_itself()
    if not others:
        return ""
    lines = "".join(f"<li>{escape(in_words(verdict))}</li>" for verdict in others)
    return (
        "<p>Nobody has exactly this model. Nothing is promised about observers with other habits "
        "in mind. One who had learned this person from these very days would conclude:</p>"
        f"<ul>{lines}</ul>"
    )


def _odds(event: EventFinding) -> list[str]:
    if event.before is None or event.after is None:
        return []
    low = as_odds(event.before * math.exp(-event.epsilon), "down")
    high = as_odds(event.before * math.exp(event.epsilon), "up")
    band = f"{low} to {high}" if event.protection.sides == "both" else f"at most {high}"
    return [as_odds(event.before), band, as_odds(float(event.after[-1]))]


def _error_table(findings: Findings) -> str:
    errors, accuracy = findings.errors, findings.accuracy
    if errors is None or accuracy is None:
        return ""
    known = errors[np.isfinite(errors)]
    spread = []
    if len(known):
        spread.append(("median of all distances", f"{np.median(known):.2f} km"))
        spread.append(("95th percentile", f"{np.quantile(known, 0.95):.2f} km"))
    return table(("", ""), [("releases", f"{len(errors)}"), *accuracy.rows(), *spread])


def _account_table(findings: Findings) -> str:
    account = findings.account
    if account is None:
        return ""
    return table(("", ""), account.rows())
