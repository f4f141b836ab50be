"""Results in a folder, kept as they come: what is there is not computed again."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from priste.checks import Array
from priste.reproduce.settings import Setting
from priste.tracks.outputs import aside

FORMAT = 2
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
        return interval(self.values(name).mean(axis=1))


def interval(values: Array, comparisons: int = 1, level: float = 0.95) -> tuple[float, float]:
    """Return the mean, and half the width of its interval of this confidence (Student's).

    Of so many `comparisons` at once, all intervals hold together with it.
    """
    n = len(values)
    if n < 2:
        return float(np.mean(values)), math.inf
    spread = values.std(ddof=1) / math.sqrt(n)
    tail = (1 - level) / 2 / comparisons
    return float(values.mean()), float(stats.t.ppf(1 - tail, n - 1) * spread)


class Kept:
    """What has been computed so far, by setting; other measurements by name.

    Results on real moves stand apart for each of the `people`, by the fingerprints of their data,
    so that nobody's are taken for another's.
    """

    def __init__(self, folder: Path, steps: int, people: Sequence[str] = ()) -> None:
        self.folder, self.steps, self.people = folder / f"{steps} steps", steps, people
        for subfolder in ("", *people):
            (self.folder / subfolder).mkdir(parents=True, exist_ok=True)
        self._records: dict[Setting, Record] = {}

    def _name(self, setting: Setting) -> str:
        if not setting.is_geolife:
            return setting.key
        return f"{self.people[setting.person]}/{setting.but(person=0).key}"

    def record(self, setting: Setting) -> Record:
        """Return the runs there are of a setting."""
        if setting not in self._records:
            known = self.measured(self._name(setting)) or {"runs": []}
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
        self.measure(self._name(setting), content)

    def measured(self, name: str) -> dict[str, Any] | None:
        """Return another measurement, if there is one that can be read."""
        try:
            content = json.loads((self.folder / f"{name}.json").read_text())
        except (FileNotFoundError, ValueError):
            return None
        usable = isinstance(content, dict) and content.get("format") == FORMAT
        return content if usable else None

    def measure(self, name: str, content: dict[str, Any]) -> None:
        """Keep a measurement, whole or not at all."""
        with aside(self.folder / f"{name}.json") as partial:
            partial.write_text(json.dumps({"format": FORMAT, **content}))
