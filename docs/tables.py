"""Writes the tables of the documentation from measurements: `make tables` (some minutes).

`python docs/tables.py kept` writes those alone whose numbers are in data/, where the benchmarks,
the verification and the reproduction keep them.
"""

import json
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
import peers_table
import reproduction_table
from scaling_table import scaling_lines
from verification_table import verification_lines

from priste import (
    AnyPrior,
    EveryOutput,
    Grid,
    KnownPrior,
    Mobility,
    PlanarLaplace,
    Protect,
    Protector,
    Retry,
    presence,
)
from priste.cli.prices import prices_of_adversaries
from priste.priors import Prior

DOCS = Path(__file__).parent
DATA = DOCS / "data"
CITY = Grid(20, 20)
EVENT = presence(range(10), range(3, 8))
STEPS, STREAMS, BUDGET = 50, 4, 1.0
SIGMAS, EPSILONS = (0.5, 1.0, 3.0, 10.0), (0.1, 0.5, 1.0, 2.0)
CALIBRATIONS = {"every output": EveryOutput(), "refined": EveryOutput(refine=6), "retry": Retry()}
LARGE = {"95 %": "95 %", "worst": "worst"}
LOSSES = {"median": "median", "95 %": "95 %", "99 %": "99 %", "worst": "worst"}
ERRORS = {
    "never visited": "error, place never visited",
    "visited rarely": "visited rarely",
    "most visited": "most visited",
}
IN_SHORT = ("a set of habits", "a set of habits, five other days of each", "one model")
PRIORS: dict[str, Prior] = {"any": AnyPrior(), "known": KnownPrior(np.full(400, 1 / 400))}


def mean_error(job: tuple[str, str, float, float]) -> float:
    """The mean distance between true and released cell, in cells, over some streams."""
    prior, calibration, sigma, epsilon = job
    mobility = Mobility.gaussian(CITY, sigma)
    mechanism = PlanarLaplace(CITY, BUDGET)
    errors = []
    for seed in range(STREAMS):
        guard = Protector(
            mobility,
            mechanism,
            Protect(EVENT, epsilon),
            prior=PRIORS[prior],
            calibration=CALIBRATIONS[calibration],
            seed=seed,
        )
        path = mobility.sample(STEPS, seed=seed).tolist()
        errors += [CITY.distances[r.private.true_cell, r.cell] for r in guard.stream(path)]
    return float(np.mean(errors))


def main() -> None:
    jobs = list(product(PRIORS, CALIBRATIONS, SIGMAS, EPSILONS))
    with ProcessPoolExecutor(2) as pool:
        found = dict(zip(jobs, pool.map(mean_error, jobs), strict=True))
    noise = float((CITY.distances * PlanarLaplace(CITY, BUDGET).emission()).sum(axis=1).mean())
    anywhere = float(CITY.distances.mean())
    lines = [
        f"Planar Laplace noise of budget {BUDGET:g} alone: {noise:.1f} cells. "
        f"Any cell, whatever the truth: {anywhere:.1f} cells.",
    ]
    for prior, title in (("any", "Any belief (`AnyPrior`)"), ("known", "One known belief")):
        lines += ["", f"**{title}**", "", "| σ | ε | `Retry` (not a guarantee) | `EveryOutput` | "]
        lines[-1] += "`EveryOutput(refine=6)` |"
        lines.append("|---|---|---|---|---|")
        for sigma, epsilon in product(SIGMAS, EPSILONS):
            cells = [found[prior, c, sigma, epsilon] for c in ("retry", "every output", "refined")]
            shown = " | ".join(f"{cell:.1f}" for cell in cells)
            lines.append(f"| {sigma:g} | {epsilon:g} | {shown} |")
    fill(DOCS / "guarantee.md", "measured", lines)
    kept()


def kept() -> None:
    """All tables whose numbers are in data/."""
    remap()
    blocks = {**peers_table.blocks(), "scaling": scaling_lines()}
    for page, of_page in (
        ("benchmarks", blocks),
        ("verification", {"verification": verification_lines()}),
        ("habits", {"held_out": held_out_lines(LOSSES | ERRORS)}),
        ("guarantee", {"held_out": (short := held_out_lines(LARGE | ERRORS, IN_SHORT))}),
        ("../README", {"held_out": short}),
        ("reproduction", reproduction_table.blocks()),
    ):
        for name, lines in of_page.items():
            fill(DOCS / f"{page}.md", name, lines)


def held_out_lines(columns: dict[str, str], ways: tuple[str, ...] = ()) -> list[str]:
    """What observers with other habits in mind learn: all ways to protect, or those named."""
    found = json.loads((DATA / "held_out.json").read_text())
    lines = [f"| protected with | cases | within ε | {' | '.join(columns.values())} |"]
    lines.append("|---" * (3 + len(columns)) + "|")
    for way in ways or found:
        figures = found[way]
        numbers = " | ".join(f"{figures[name]:.2f}" for name in columns)
        lines.append(f"| {way} | {figures['cases']} | {figures['within']:.0%} | {numbers} |")
    return lines


def remap() -> None:
    """The tables of the remap, from what the benchmarks kept in data/."""
    page = DOCS / "remap.md"
    fill(page, "utility", utility_lines())
    prices, constant = prices_of_adversaries()
    lines = ["| adversary | least mean error of a first release, in cells |", "|---|---|"]
    lines += [f"| {price.adversary} | {price.error:.2f} |" for price in prices]
    lines += [f"| one answer for everybody | {constant:.2f} |", ""]
    fill(page, "prices", [*lines, "On a map of 6 × 6 cells, σ = 1, ε = 0.5."])
    fill(page, "spending", spending_lines())
    fill(page, "geolife", geolife_lines())


def utility_lines() -> list[str]:
    found = json.loads((DATA / "utility.json").read_text())
    methods = ("remap alone", "remap over noise", "every output", "retry")
    lines = []
    for prior, title in (("known", "One known belief"), ("any", "Any belief")):
        if not any(key.split("|")[1] == prior for key in found):
            lines += [f"**{title}**: not measured yet.", ""]
            continue
        lines += [f"**{title}**", "", "| σ | ε | " + " | ".join(methods) + " |"]
        lines.append("|---" * 6 + "|")
        for sigma, epsilon in product((1.0, 3.0, 10.0), EPSILONS):
            cells = []
            for method in methods:
                kept = found.get(f"{method}|{prior}|{sigma}|{epsilon}")
                mean, half = kept[:2] if kept else (0, 0)
                cells.append(f"{mean:.2f} ± {half:.2f}" if kept else "–")
            lines.append(f"| {sigma:g} | {epsilon:g} | {' | '.join(cells)} |")
        lines.append("")
    return lines[:-1]


def spending_lines() -> list[str]:
    found = json.loads((DATA / "spending.json").read_text())
    ways = ("all", "proportional", "rolling")
    lines = ["| belief | σ | ε | streams | " + " | ".join(ways) + " |", "|---" * 7 + "|"]
    for key in dict.fromkeys(key.rpartition("|")[0] for key in found):
        mean, half, streams, *_ = found[f"{key}|all"]
        cells = [f"{mean:.2f} ± {half:.2f}"]
        for way in ways[1:]:
            mean, _, _, more, around = found[f"{key}|{way}"]
            cells.append(f"{mean:.2f} ({more:+.2f} ± {around:.2f})")
        lines.append(f"| {key.replace('|', ' | ')} | {streams} | {' | '.join(cells)} |")
    return lines


def geolife_lines() -> list[str]:
    found = json.loads((DATA / "geolife.json").read_text())
    methods = ("remap alone", "remap over noise", "every output")
    lines = ["| adversary | " + " | ".join(methods) + " |", "|---" * 4 + "|"]
    for who in ("known", "near", "any"):
        cells = [found[f"{who}|{method}"] for method in methods]
        shown = " | ".join(f"{m:.1f} ± {half:.1f} ({s:.2f} s)" for m, half, s in cells)
        lines.append(f"| {who} | {shown} |")
    return [*lines, "", f"A cell drawn blindly: {found['blind'][0]:.1f} km."]


def fill(page: Path, name: str, lines: list[str]) -> None:
    """Put lines between the marks of that name."""
    text, block = page.read_text(), "\n".join(lines)
    marked = rf"(<!-- {name} by tables.py -->\n).*?(<!-- end -->)"
    page.write_text(re.sub(marked, lambda m: f"{m[1]}\n{block}\n\n{m[2]}", text, flags=re.DOTALL))


if __name__ == "__main__":
    kept() if sys.argv[1:] == ["kept"] else main()
