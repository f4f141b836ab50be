"""Raw results in a folder, saved as they come: what is there is not computed again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from priste.checks import Array
from priste.storage.atomic_files import atomic_file
from reproduction.findings import Estimate, student
from reproduction.settings import Setting

FORMAT = 2
"""Results in another format are computed again."""


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

    def mean(self, name: str) -> Estimate:
        """Return the mean over steps and runs, with its 95 % interval."""
        return student(self.values(name).mean(axis=1))


class ResultsStore:
    """The runs of each setting, and other measurements by name, as JSON files.

    Results on real tracks have a folder for each of the `people`, named by the fingerprint of
    their data, so that they are never confused.
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
        """Return the runs of a setting so far."""
        if setting not in self._records:
            known = self.load(self._name(setting)) or {"runs": []}
            self._records[setting] = Record(known["runs"], known.get("audit"))
        return self._records[setting]

    def add_runs(self, setting: Setting, runs: list[dict[str, Any]]) -> None:
        """Save more runs of a setting."""
        record = self.record(setting)
        known = {run["seed"]: run for run in [*record.runs, *runs]}
        record.runs = [known[seed] for seed in sorted(known)]
        self._write(setting)

    def add_audit(self, setting: Setting, found: dict[str, Any] | None) -> None:
        """Save what an audit found."""
        self.record(setting).audit = found
        self._write(setting)

    def _write(self, setting: Setting) -> None:
        record = self.record(setting)
        content = {"setting": setting.to_json(), "runs": record.runs, "audit": record.audit}
        self.save(self._name(setting), content)

    def load(self, name: str) -> dict[str, Any] | None:
        """Return a measurement, or None if there is none in this format."""
        try:
            content = json.loads((self.folder / f"{name}.json").read_text())
        except (FileNotFoundError, ValueError):
            return None
        usable = isinstance(content, dict) and content.get("format") == FORMAT
        return content if usable else None

    def save(self, name: str, content: dict[str, Any]) -> None:
        """Write a measurement, whole or not at all."""
        with atomic_file(self.folder / f"{name}.json") as partial:
            partial.write_text(json.dumps({"format": FORMAT, **content}))
