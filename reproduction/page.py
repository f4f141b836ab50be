"""The reproduction as one page: verdicts, figures, choices, and the data beside it."""

import platform
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from priste.report.html import as_svg, document, html_table, inline_svg, table
from reproduction import tables
from reproduction.experiments import Experiment, Mode
from reproduction.figures import draw, draw_runtime
from reproduction.settings import METHODS, Setting
from reproduction.tables import Table
from reproduction.verdicts import NOT, ONLY_IF, REPRODUCED, Results

CHOICES = (
    "The paper leaves some things open. These are our choices. The table below and the figures "
    "named “choices” show what some others would change, with the published loop.",
    "Moves: Gaussian with σ = 10 cells on the synthetic map (we also ran 1 and 3), cut off at its "
    "border. People start anywhere.",
    "Noise: planar Laplace in the plane, snapped to the nearest cell; what falls off the map goes "
    "to its border. Cells have side 1 and α is per cell, so the 0.2-PLM is off by ten cells on "
    "average; on Geolife α is per kilometre. PLMs over time: 0.1, 0.2, 0.5, 1; against ε: 0.5, 1, "
    "3, 5.",
    "The loop halves the budget up to 11 times and then releases a uniform cell. It bounds both "
    "sides of the loss, against an adversary who may believe anything about the start, as in the "
    "paper's Theorem IV.1.",
    "PATTERN: in cells 1–10 at each of the times 4–8. The paper refers to an appendix for these "
    "figures; the version we have does not contain them.",
    "Location sets: the paper gives no δ. Ours is 0.1 over time, and 0.1, 0.3 and 0.5 against ε, "
    "from a uniform π.",
    "Geolife: one person, a map of 20 × 20 cells of about one kilometre in north-west Beijing, one "
    "fix a minute, mobility fitted to all of the person's tracks, as in the paper, and smoothed by "
    "one uniform move per cell. Runs are windows of the same tracks and may overlap, so their "
    "intervals are somewhat too narrow.",
    "The optimal remap is searched to within 5 % of the optimum, in at most 40 rounds a step.",
    "Runtime: PATTERN events with random regions from time 2 on, one prior, the median of the "
    "measured times where the paper has the mean. The naive sum is timed on fewer events, and only "
    "where we expect it to finish.",
    "Our exact test decides every check. The paper gives CPLEX a second for each and releases "
    "nothing undecided; we do so only for its table of thresholds, on the synthetic map with the "
    "1-PLM and ε = 0.5 (the paper does not say which; its unit is km).",
    "Figures show 95 % intervals over runs, or a dash for each run where there are few.",
)


def write_page(folder: Path, results: Results, mode: Mode, version: str) -> list[Path]:
    """Write the page, its figures as PNG and its data as CSV; return the files.

    This replaces the figures and data of an earlier page in the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tables_folder, figures_folder = folder / "data", folder / "figures"
    for subfolder, ending in ((tables_folder, "csv"), (figures_folder, "png")):
        subfolder.mkdir(exist_ok=True)
        for old in subfolder.glob(f"*.{ending}"):
            old.unlink()
    verdicts = tables.verdicts(results)
    data: dict[str, Table] = {
        "counts": tables.counts(verdicts),
        "verdicts": verdicts,
        "promises": tables.promises(results),
        "choices": tables.choices(results),
        "averages": tables.averages(results),
        "over-time": tables.courses(results),
    }
    figures: dict[str, Figure] = {}
    for experiment in results.experiments:
        if any(s in results.settings for s in experiment.settings()):
            figures[experiment.name] = draw(experiment, results)
    measured = {
        name: None if name in results.why_missing else results.store.load(name)
        for name in ("runtime", "thresholds", "small-maps")
    }
    if measured["runtime"]:
        data["runtime"] = tables.runtimes(measured["runtime"])
        figures["runtime"] = draw_runtime(measured["runtime"])
    if measured["thresholds"]:
        data["thresholds"] = tables.thresholds(measured["thresholds"])
    if measured["small-maps"]:
        data["small-maps"] = tables.small_maps(measured["small-maps"])
    written = []
    for name, content in data.items():
        written.append(tables_folder / f"{name}.csv")
        content.write(written[-1])
    for name, figure in figures.items():
        written.append(figures_folder / f"{name.replace(' ', '-')}.png")
        figure.savefig(written[-1], dpi=130)
    page = folder / "report.html"
    body = _body(results, mode, data, figures)
    provenance = (
        f"priste {version}, {datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}"
    )
    page.write_text(
        document("PriSTE: the paper reproduced", "The paper reproduced", body, provenance),
        encoding="utf-8",
    )
    return [page, *written]


def _body(results: Results, mode: Mode, data: dict[str, Table], figures: dict[str, Figure]) -> str:
    drawn = {name: _figure(name, figure) for name, figure in figures.items()}
    parts = [
        "<p>The evaluation of Cao, Xiao, Xiong and Bai, <i>PriSTE: From Location Privacy to "
        "Spatiotemporal Event Privacy</i> (ICDE 2019), regenerated: with its published loop, and "
        "with two calibrations whose ε holds against an adversary who knows the algorithm.</p>",
        _scope(results, mode),
        "<h2>Claims</h2>",
        _VERDICTS,
        table(data["counts"].head, _texts(data["counts"])),
        _verdicts(data["verdicts"]),
        "<h2>Guarantee</h2>",
        table(data["promises"].head, _texts(data["promises"])),
        _AUDITS,
    ]
    if "small-maps" in data:
        small = data["small-maps"]
        parts += [
            "<p>On maps so small that every sequence of releases can be followed, exactly:</p>",
            table(small.head, _texts(small)),
        ]
    parts.append("<h2>Choices</h2><ul>")
    parts += [f"<li>{escape(choice)}</li>" for choice in CHOICES]
    parts.append("</ul>")
    parts.append(table(data["choices"].head, _texts(data["choices"])))
    for experiment in results.experiments:
        if experiment.name in drawn:
            parts += [f"<h2>{escape(_title(experiment))}</h2>", drawn[experiment.name]]
            parts.append(_details(experiment, results))
    if "runtime" in data:
        parts += ["<h2>Runtime against event length and width</h2>", drawn["runtime"]]
        parts.append(_collapsed(data["runtime"]))
    if "thresholds" in data:
        solver = data["thresholds"]
        found = results.measured("thresholds")
        parts += [
            "<h2>Runtime against the solver's threshold</h2>",
            f"<p>CPLEX on a map of {found['side']} × {found['side']} cells, 1-PLM, ε = 0.5, "
            f"{found['steps']} steps, {found['runs']} runs; “none” is {found['never']:g} s a "
            "solve. A check undecided by then counts as failed.</p>",
            table(solver.head, _texts(solver)),
        ]
    return "".join(parts)


def _scope(results: Results, mode: Mode) -> str:
    words = [
        f"{what} {', '.join(f'{n} of {m}' for n, m in zip(runs, METHODS, strict=True) if n)}"
        for what, runs in (
            ("for curves over time", mode.over_time),
            ("for averages", mode.over_epsilon),
            ("for averages on Geolife", mode.on_geolife),
            ("for our choices", mode.choices),
        )
    ]
    lines = [f"Runs of {mode.steps} steps for each setting: {'; '.join(words)}."]
    if mode.is_fast:
        lines.append("This is the fast mode. Its few runs leave many claims undecided.")
    lines += [f"Missing: {why}." for why in results.why_missing.values()]
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _verdicts(verdicts: Table) -> str:
    colours = {REPRODUCED: "good", ONLY_IF: "partly", NOT: "bad"}  # others stay plain
    rows = []
    for row in verdicts.rows:
        where, claim, _, verdict, numbers, condition = (escape(text) for text in row)
        judged = f"<b class={colours.get(row[3], 'open')}>{verdict}</b>"
        why = f": {condition}" if condition else ""
        shown = f"{judged}{why}" + (f"<br><small>{numbers}</small>" if numbers else "")
        rows.append([f"{claim}<br><small>{where}</small>", shown])
    return html_table(["claim, and its place in the paper", "verdict and numbers"], rows)


_VERDICTS = (
    "<p>Each claim is about a quantity, such as the difference between runs with the same seeds, "
    "and a verdict follows from its 95 % interval. <b class=good>Reproduced</b>: the interval lies "
    "where the claim says. <b class=bad>Not reproduced</b>: it lies where the claim excludes. "
    "<b class=open>Undecided</b>: chance could explain the results; more runs may decide it.</p>"
)

_AUDITS = (
    "<p>An audit follows drawn streams to the end of their event and adds up all hidden ways to "
    "each: the loss to an adversary who knows the algorithm. It is a lower bound, since other "
    "streams may be worse. The published loop has so many hidden ways that after some steps the "
    "loss can only be estimated, several times, from ways drawn at random, for one prior at one "
    "step. An estimate counts as above ε if its whole 99 % interval is; otherwise it decides "
    "nothing.</p>"
)


def _title(experiment: Experiment) -> str:
    return f"{experiment.name.capitalize()}: {experiment.shows}"


def _details(experiment: Experiment, results: Results) -> str:
    """Return the table of an experiment: budget, distance and audit for each method."""
    head = ["setting", "ε"]
    for method in experiment.methods:
        head += [f"{method}: budget", "distance", "audited / ε", "runs"]
    rows = []
    for panel in experiment.panels:
        for curve in panel.curves:
            for setting in curve.settings:
                row = [curve.label, f"{setting.epsilon:g}"]
                for method in experiment.methods:
                    row += _cells(setting.but(method=method), results)
                rows.append(row)
    return _collapsed(Table(head, rows))


def _cells(setting: Setting, results: Results) -> list[str]:
    record = results.store.record(setting)
    if not record.runs:
        return ["–"] * 4
    error, half = record.mean("errors")
    distance = f"{error:.2f} ± {half:.2f}" if np.isfinite(half) else f"{error:.2f}"
    audited = _audited(record.audit, setting.epsilon) if record.audit else "–"
    return [f"{record.mean('budgets')[0]:.3g}", distance, audited, str(len(record))]


def _audited(audit: dict[str, Any], epsilon: float) -> str:
    exact = f"{audit['realised'] / epsilon:.2f}"
    if not audit.get("estimate"):
        return exact
    mean, half = (value / epsilon for value in audit["estimate"])
    return f"{exact}, then {mean:.2f} ± {half:.2f}"


def _collapsed(content: Table) -> str:
    inner = table(content.head, _texts(content))
    return f"<details><summary>numbers</summary>{inner}</details>"


def _texts(content: Table) -> list[list[str]]:
    def text(value: object) -> str:
        if value is None or value == "":
            return "–"
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    return [[text(value) for value in row] for row in content.rows]


def _figure(name: str, figure: Figure) -> str:
    return f"<figure>{inline_svg(as_svg(figure), name.replace(' ', '-'))}</figure>"
