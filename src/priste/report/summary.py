"""The page about a run with many people: for whoever keeps their data, and nobody else."""

from html import escape
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from priste import __version__
from priste.report.figures import RELEASED, SECRET
from priste.report.html import as_svg, document, inline_svg, table
from priste.storage.atomic_files import atomic_file
from priste.tracks.many.run import Delivered
from priste.tracks.many.told import Spread

_WARNING = (
    "<p class=private>Private: this page names people and shows how far releases lie from where "
    "they were. Do not share it.</p>"
)


def write_summary(delivered: Delivered, path: str | Path) -> None:
    """Write the page: the whole file or none; only its owner can read it."""
    with atomic_file(path, private=True) as partial:
        partial.write_text(_page(delivered), encoding="utf-8")


def _page(delivered: Delivered) -> str:
    told = delivered.told
    sections = ["<h2>What was done</h2>", table(("", ""), delivered.rows())]
    if told.errors.count:
        svg = inline_svg(as_svg(draw_spreads(delivered)), "spreads")
        caption = (
            "Left, the price: how far each release lies from a fix on the map. Right, the promise: "
            "the largest loss about each event of each person, which never exceeds its ε."
        )
        sections.append(f"<figure>{svg}<figcaption>{caption}</figcaption></figure>")
    if told.n_refused:
        sections += [
            "<h2>Who was refused, and why</h2>",
            table(("", ""), list(told.refused.items())),
        ]
        if told.n_refused > len(told.refused):
            more = told.n_refused - len(told.refused)
            sections.append(f"<p>And {more:,} more: see told.json of each part.</p>")
    sections += ["<h2>Where the fixes went</h2>", table(("", ""), told.account.rows())]
    if delivered.notes:
        notes = "".join(f"<li>{escape(note)}</li>" for note in delivered.notes)
        sections.append(f"<h2>What was noticed in the files</h2><ul>{notes}</ul>")
    body = f"<p>PriSTE, run {delivered.run}</p>{_WARNING}{''.join(sections)}"
    title = "PriSTE: many people"
    return document(title, "Many people, protected", body, f"priste {__version__}")


def draw_spreads(delivered: Delivered) -> Figure:
    """Draw how large errors and losses were."""
    figure = Figure(figsize=(8.4, 3.0))
    figure.set_layout_engine("constrained")
    left, right = figure.subplots(1, 2)
    _bars(left, delivered.told.errors, RELEASED)
    left.set_xscale("log")
    left.set_xlabel("kilometres from the fix")
    left.set_title("Releases", loc="left", fontsize=10)
    _bars(right, delivered.told.shares, SECRET)
    right.set_xlim(0, 1.05)
    right.axvline(1, color=SECRET, lw=1, ls="--")
    right.set_xlabel("largest loss, as a share of ε")
    right.set_title("Events", loc="left", fontsize=10)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    return figure


def _bars(axes: Axes, spread: Spread, colour: str) -> None:
    """Draw a bar for each size that occurred."""
    sizes = sorted(spread.bins)
    edges = np.array([Spread.edges(size) for size in sizes])
    counts = [spread.bins[size] for size in sizes]
    axes.bar(edges[:, 0], counts, edges[:, 1] - edges[:, 0], align="edge", color=colour)
