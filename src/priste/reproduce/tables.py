"""What was measured, as plain tables: for the page, and as CSV for everybody else."""

import csv
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from priste.reproduce.claims import CLAIMS, audited
from priste.reproduce.claims.registry import figures, percent
from priste.reproduce.settings import METHODS, Setting
from priste.reproduce.verdicts import Results


class Table(NamedTuple):
    """A head and rows of plain values."""

    head: Sequence[str]
    rows: list[list[Any]]

    def write(self, path: Path) -> None:
        """Write it as CSV."""
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.head)
            writer.writerows(self.rows)


_SETTING = [field.name for field in fields(Setting)]


def averages(results: Results) -> Table:
    """One row per setting: means over runs and steps, and the audit."""
    head = [*_SETTING, "runs", "steps", "mean budget", "mean distance", "± (95 %)"]
    head += ["largest accounted loss", "audited loss", "audited streams", "audited releases"]
    head += ["to the end of the event", "estimated loss", "± (99 %) of it"]
    rows = []
    for setting in results.settings:
        record = results.kept.record(setting)
        audit = record.audit or {}
        error, half = record.mean("errors")
        rows.append(
            [
                *setting.to_json().values(),
                len(record),
                results.kept.steps,
                record.mean("budgets")[0],
                error,
                half if math.isfinite(half) else "",
                record.values("accounted").max(),
                *(audit.get(k, "") for k in ("realised", "streams", "releases", "to the end")),
                *(audit.get("estimate") or ("", "")),
            ]
        )
    return Table(head, rows)


def courses(results: Results) -> Table:
    """One row per setting and step: mean and deviation of budget and distance over the runs."""
    head = [*_SETTING, "time", "mean budget", "deviation of budget"]
    rows = []
    for setting in results.settings:
        record = results.kept.record(setting)
        budgets, errors = record.values("budgets"), record.values("errors")
        columns = (budgets.mean(0), budgets.std(0), errors.mean(0), errors.std(0))
        for step, values in enumerate(np.transpose(columns), start=1):
            rows.append([*setting.to_json().values(), step, *values.tolist()])
    return Table([*head, "mean distance", "deviation of distance"], rows)


def verdicts(results: Results) -> Table:
    """One row per claim of the paper."""
    rows = []
    for claim in CLAIMS:
        verdict = claim.judge(results)
        rows.append([claim.where, claim.text, claim.kind, *verdict])
    head = ["where in the paper", "claim", "kind", "verdict", "numbers", "condition"]
    return Table(head, rows)


def counted(kinds_and_verdicts: Iterable[tuple[str, str]]) -> str:
    """Return in words how many claims of each kind have which verdict."""
    names = {
        "evaluation": "claims of the evaluation",
        "elsewhere": "claims from elsewhere in the paper",
        "extended by us": "claims that we extended to other data",
    }
    counts = Counter(kinds_and_verdicts)
    words = []
    for kind, name in names.items():
        verdicts = {v: n for (k, v), n in counts.most_common() if k == kind}
        listed = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.items())
        words.append(f"Of {sum(verdicts.values())} {name}: {listed}.")
    return " ".join(words)


def promises(results: Results) -> Table:
    """One row per method: what audits of released streams found, by settings."""
    rows: list[list[Any]] = []
    for method in METHODS:
        found = audited(results, method)
        worst = found.worst if math.isfinite(found.worst) else ""
        rows.append([method, *found[:-1], worst])
    head = ["method", "settings above ε", "of these by estimate"]
    head += ["within ε to the end of the event", "not decided"]
    return Table([*head, "largest audited loss over ε"], rows)


def choices(results: Results) -> Table:
    """One row per thing that the paper leaves open: what the published loop keeps and is off by."""
    rows: list[list[Any]] = []
    epsilons: tuple[float, ...] = ()
    for experiment in results.experiments:
        if not experiment.name.startswith("choices"):
            continue
        for curve in experiment.panels[0].curves:
            known = [s for s in curve.settings if s in results.settings]
            epsilons = tuple(s.epsilon for s in known) or epsilons
            shares = percent(*(results.share(s) for s in known))
            distances = figures(*(float(results.errors(s).mean()) for s in known))
            rows.append([experiment.shows, curve.label, shares, distances])
    rising = f"for ε = {figures(*epsilons)}"
    return Table(["figure", "choice", f"budget kept, {rising}", f"distance, {rising}"], rows)


def runtimes(measured: dict[str, Any]) -> Table:
    """One row per event length and per event width."""
    rows = [
        [kind, point[kind], point["trajectories"], point["ours"], point["naive"]]
        for kind, points in measured["points"].items()
        for point in points
    ]
    return Table(["varied", "size", "trajectories", "seconds, two worlds", "seconds, naive"], rows)


def thresholds(measured: dict[str, Any]) -> Table:
    """One row per threshold of the solver, the last for our exact test."""
    longest = measured["never"]
    names = {None: "exact test, none needed", longest: f"none (at most {longest:g} s)"}
    rows = [
        [
            names.get(row["threshold"], row["threshold"]),
            *(float(np.mean(row[n])) for n in ("seconds", "undecided", "budget", "error")),
        ]
        for row in measured["rows"]
    ]
    head = ["threshold (s)", "seconds a run", "steps with a conservative release", "mean budget"]
    return Table([*head, "mean distance (cells)"], rows)


def small_maps(measured: dict[str, Any]) -> Table:
    """One row per small map and method: the worst loss after each release, over all sequences."""
    rows = [
        [
            row["map"],
            row["method"],
            measured["epsilon"],
            ", ".join(f"{loss:.4f}" for loss in row["realised"]),
            row["sequences"],
        ]
        for row in measured["rows"]
    ]
    return Table(["map", "method", "promised ε", "audited after 1, 2, … releases", "seen"], rows)
