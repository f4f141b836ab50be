"""The results as plain tables, for the page and as CSV."""

import csv
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reproduction.claims import CLAIMS, audited
from reproduction.claims.registry import figures, percent
from reproduction.settings import METHODS, Setting
from reproduction.verdicts import VERDICTS, Results


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
        record = results.store.record(setting)
        audit = record.audit or {}
        error, half = record.mean("errors")
        rows.append(
            [
                *setting.to_json().values(),
                len(record),
                results.store.steps,
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
        record = results.store.record(setting)
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


def counts(verdicts: Table) -> Table:
    """One row per kind of claim: how many have which verdict."""
    kinds = {
        "evaluation": "of the evaluation",
        "elsewhere": "from elsewhere in the paper",
        "extended by us": "extended by us to other data",
    }
    counted = Counter((kind, verdict) for _, _, kind, verdict, *_ in verdicts.rows)
    rows = [
        [name, *(counted[kind, verdict] for verdict in VERDICTS)] for kind, name in kinds.items()
    ]
    return Table(["claims", *VERDICTS], rows)


def promises(results: Results) -> Table:
    """One row per method: what audits of released streams found, by settings."""
    rows: list[list[Any]] = []
    for method in METHODS:
        found = audited(results, method)
        worst = found.worst if math.isfinite(found.worst) else ""
        rows.append([method, *found[:-1], worst])
    head = ["method", "settings above ε", "of these by estimate"]
    head += ["within ε to the end of the event", "undecided"]
    return Table([*head, "largest audited loss over ε"], rows)


def choices(results: Results) -> Table:
    """One row per choice that the paper leaves open: budget and distance of the published loop."""
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
    return Table(["figure", "choice", f"budget left, {rising}", f"distance, {rising}"], rows)


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
