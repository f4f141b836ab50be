"""Time and memory against cells, steps, worlds and events, beside what the cost model says.

`python -m benchmarks scaling` takes three sizes of every curve; `scaling=FILE.json` takes all of
them and keeps the numbers. A point that is in FILE already is not measured again.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.scaling.curves import CURVES, Curve
from benchmarks.scaling.fit import MARGIN, Fit, fitted, verdict

QUICK = slice(2, 5)  # the sizes of each curve in a run that keeps nothing


def main() -> None:
    words = [word.partition("=")[2] for word in sys.argv if word.startswith("scaling=")]
    file = Path(words[0]) if words else None
    kept: dict[str, Any] = json.loads(file.read_text()) if file and file.exists() else {}
    print("Scaling: seconds of processor time and megabytes, fitted exponent (model)")
    for name, curve in CURVES.items():
        known = {point[0]: point for point in kept.get(name, {}).get("points", [])}
        sizes = curve.sizes if file else curve.sizes[QUICK]
        for size in sizes:
            if size not in known:
                known[size] = [size, *measured(name, size)]
            kept[name] = summary(curve, [known[s] for s in sizes if s in known])
            if file:
                file.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
        show(name, kept[name])


def measured(name: str, size: int) -> list[float]:
    """Seconds and megabytes of one point, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scaling.point", name, str(size)]
    one_core = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    found: list[float] = json.loads(subprocess.check_output(command, env=one_core, text=True))
    return found


def summary(curve: Curve, points: list[list[float]]) -> dict[str, Any]:
    """What is kept of a curve: all that its table and its picture need."""
    sizes, seconds, megabytes = zip(*points, strict=True)
    return {
        "axis": curve.axis,
        "setting": curve.setting,
        "cost": curve.cost,
        "limit": curve.limit,
        "worse": curve.worse,
        "better": curve.better,
        "points": points,
        "time": described(fitted(sizes, seconds), curve.time),
        "memory": described(fitted(sizes, megabytes, visible=VISIBLE), curve.memory),
    }


VISIBLE = 1.0  # megabytes; less is lost in what the allocator keeps for itself


def described(fit: Fit | None, model: float) -> dict[str, Any]:
    known = fit._asdict() if fit else {}
    return {"model": model, "margin": MARGIN, **known, "verdict": verdict(fit, model)}


def show(name: str, curve: dict[str, Any]) -> None:
    print(f"  {name} ({curve['setting']}; {curve['cost']})")
    for size, seconds, megabytes in curve["points"]:
        print(f"    {size:6d} {curve['axis']}: {seconds:10.3g} s {megabytes:10.1f} MB")
    for part in ("time", "memory"):
        found = curve[part]
        shown = f"{found['exponent']:.2f}" if "exponent" in found else "-"
        print(f"    {part}: {shown} (model {found['model']:g}), {found['verdict']}", flush=True)
