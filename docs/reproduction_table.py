"""The tables and pictures of reproduction.md, from a report that `make reproduce` wrote.

`python docs/reproduction_table.py FOLDER` takes over the data and the figures of a report; the
page is then written from them.
"""

import csv
import math
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
DATA, IMAGES = DOCS / "data" / "reproduction", DOCS / "images" / "reproduction"
TABLES = (
    "counts",
    "verdicts",
    "promises",
    "choices",
    "averages",
    "runtime",
    "thresholds",
    "small-maps",
)


def take_over(report: Path) -> None:
    """Copy what the page shows, if all of it is there."""
    missing = [name for name in TABLES if not (report / "data" / f"{name}.csv").exists()]
    if missing:
        raise SystemExit(f"the report in {report} has no {', '.join(missing)}")
    for folder in (DATA, IMAGES):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for name in TABLES:
        shutil.copy(report / "data" / f"{name}.csv", DATA)
    for picture in sorted((report / "figures").glob("*.png")):
        shutil.copy(picture, IMAGES)


def rows(name: str) -> list[dict[str, str]]:
    with (DATA / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def blocks() -> dict[str, list[str]]:
    """Return the lines of each block of the page by the name of its marks."""
    return {
        "runs": run_lines(),
        "verdicts": verdict_lines(),
        "promises": table_lines("promises"),
        "choices": table_lines("choices"),
        "small": table_lines("small-maps"),
        "thresholds": table_lines("thresholds"),
    }


def run_lines() -> list[str]:
    found = rows("averages")
    counts = Counter((row["method"], row["place"] != "synthetic") for row in found)
    lines = ["| method | settings | of these on Geolife | runs of a setting | steps |"]
    lines.append("|---|---|---|---|---|")
    for method in dict.fromkeys(row["method"] for row in found):
        runs = [int(row["runs"]) for row in found if row["method"] == method]
        real, synthetic = counts[method, True], counts[method, False]
        steps = found[0]["steps"]
        lines.append(
            f"| {method} | {synthetic + real} | {real} | {min(runs)} to {max(runs)} | {steps} |"
        )
    return lines


def verdict_lines() -> list[str]:
    found = rows("verdicts")
    lines = [*table_lines("counts"), ""]
    lines += ["| claim | where | verdict | numbers |", "|---|---|---|---|"]
    for row in found:
        verdict = f"**{row['verdict']}**"
        verdict += f": {row['condition']}" if row["condition"] else ""
        cells = (row["claim"], row["where in the paper"], verdict, row["numbers"])
        lines.append("| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |")
    return lines


def table_lines(name: str) -> list[str]:
    found = rows(name)
    lines = ["| " + " | ".join(found[0]) + " |", "|---" * len(found[0]) + "|"]
    lines += ["| " + " | ".join(_short(cell) for cell in row.values()) + " |" for row in found]
    return lines


def _short(text: str) -> str:
    """A number with three digits, anything else as it is."""
    try:
        value: Any = float(text)
    except ValueError:
        return text or "–"
    return f"{value:.3g}" if math.isfinite(value) else text


if __name__ == "__main__":
    take_over(Path(sys.argv[1]))
