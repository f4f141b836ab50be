"""Results in a folder, kept as they come: what is there is not computed again."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from priste.checks import Array
from priste.reproduce.settings import Setting
from priste.tracks.outputs import aside

FORMAT = 1
"""Results of another format are computed anew."""


@dataclass
class Record:
    """The runs of one setting, in the order of their seeds, and what an audit found."""

    runs: list[dict[str, Any]]
    audit: dict[str, Any] | None = None

    def __len__(self) -> int:
        return len(self.runs)

    def values(self, name: str) -> Array:
        """Return budgets, errors or accounted losses: a row per run, a column per step."""
        return np.array([run[name] for run in self.runs], dtype=float)

    def mean(self, name: str) -> tuple[float, float]:
        """Return the mean over steps and runs, and half the width of its 95 % interval."""
        by_run = self.values(name).mean(axis=1)
        spread = by_run.std(ddof=1) / np.sqrt(len(by_run)) if len(by_run) > 1 else np.inf
        return float(by_run.mean()), float(1.96 * spread)


class Kept:
    """What has been computed so far, by setting; other measurements by name."""

    def __init__(self, folder: Path, steps: int) -> None:
        self.folder, self.steps = folder / f"{steps} steps", steps
        self.folder.mkdir(parents=True, exist_ok=True)
        self._records: dict[Setting, Record] = {}

    def record(self, setting: Setting) -> Record:
        """Return the runs there are of a setting."""
        if setting not in self._records:
            known = self.measured(setting.key) or {"runs": []}
            self._records[setting] = Record(known["runs"], known.get("audit"))
        return self._records[setting]

    def add(self, setting: Setting, runs: list[dict[str, Any]]) -> None:
        """Keep more runs of a setting."""
        record = self.record(setting)
        known = {run["seed"]: run for run in [*record.runs, *runs]}
        record.runs = [known[seed] for seed in sorted(known)]
        self._write(setting)

    def add_audit(self, setting: Setting, found: dict[str, Any] | None) -> None:
        """Keep what an audit found."""
        self.record(setting).audit = found
        self._write(setting)

    def _write(self, setting: Setting) -> None:
        record = self.record(setting)
        content = {"setting": setting.to_json(), "runs": record.runs, "audit": record.audit}
        self.measure(setting.key, content)

    def measured(self, name: str) -> dict[str, Any] | None:
        """Return another measurement, if there is one."""
        path = self.folder / f"{name}.json"
        if not path.exists():
            return None
        content: dict[str, Any] = json.loads(path.read_text())
        return content if content.get("format") == FORMAT else None

    def measure(self, name: str, content: dict[str, Any]) -> None:
        """Keep a measurement, whole or not at all."""
        with aside(self.folder / f"{name}.json") as partial:
            partial.write_text(json.dumps({"format": FORMAT, **content}))
