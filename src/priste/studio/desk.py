"""What lies on the table: tracks, and models of them. It is in memory alone, gone at the end."""

import tempfile
from collections import OrderedDict
from datetime import date
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd

from priste.errors import StudioError
from priste.progress import Progress
from priste.storage.limits import MAX_MODEL_BYTES
from priste.studio.levels import HABITS, level
from priste.studio.setting import SIMULATED, Setting
from priste.tracks import Account, LocalMap, Model, as_track, clean, fit_model, load_model, read
from priste.tracks.model_file import write_model
from priste.tracks.seen import days_seen
from priste.tracks.steps import duration
from priste.tracks.usual_area import Rectangle
from priste.tracks.windows import day_start, zone

MAX_SHOWN = 20_000
"""How many points of the tracks the page draws."""

MAX_MODELS = 3
"""How many models are remembered: one may have 200 MB."""

WIDEST = 3.0
"""How many times larger than the tracks a map may be, to have all places on it."""

FEW_STEPS = 48
"""With more steps a day, a first look does not learn each step of the day by itself."""


class Desk:
    """The tracks and the models of one person."""

    def __init__(self) -> None:
        self._lock, self._adding = Lock(), Lock()
        self._sources: list[tuple[str, pd.DataFrame]] = []
        self._table: pd.DataFrame | None = None
        self.account: Account | None = None
        self.given: Model | None = None
        self._models: OrderedDict[tuple[Any, ...], Model] = OrderedDict()
        self.edition = 0

    # tracks

    def add_file(self, name: str, path: Path, time_zone: str | None) -> None:
        """Read one more track; times without a zone are in that one."""
        self.add(name, read(path, time_zone=time_zone))

    def add(self, name: str, table: pd.DataFrame) -> None:
        """Put a table beside the others; if it cannot be used, nothing has changed."""
        with self._adding:
            sources = [*self._sources, (name, table)]
            tables = [
                each.assign(track=f"{i}/" + each["track"]) for i, (_, each) in enumerate(sources)
            ]
            kept, account = clean(pd.concat(tables, ignore_index=True))
            if kept.empty:
                raise StudioError(f"no fix of {name!r} can be used:\n{account}")
            if "user" in kept and kept["user"].nunique() > 1:
                raise StudioError("these are tracks of several people; load one person's at a time")
            with self._lock:
                self._sources, self._table, self.account = sources, kept, account
                self._forget()

    def clear(self) -> None:
        """Take everything off the table."""
        with self._lock:
            self._sources, self._table, self.account, self.given = [], None, None, None
            self._forget()

    def open_model(self, path: Path) -> None:
        """Use a model from a file instead of fitting one."""
        self._use(load_model(path))

    def forget_model(self) -> None:
        """Fit models again."""
        self._use(None)

    def _use(self, model: Model | None) -> None:
        with self._lock:
            self.given = model
            self._forget()

    def _forget(self) -> None:
        self._models.clear()
        self.edition += 1

    @property
    def table(self) -> pd.DataFrame:
        """All fixes."""
        if self._table is None:
            raise StudioError("there is no track yet; drop one on the page, or open the example")
        return self._table

    def summary(self, time_zone: str) -> dict[str, Any]:
        """Return what lies on the table, for the page."""
        found: dict[str, Any] = {"edition": self.edition, "sources": [], "days": [], "track": []}
        if self.given is not None:
            grid = self.given.place.grid
            found["model"] = {
                "words": f"{grid.rows} × {grid.columns} cells of {grid.cell_size:.2g} km, steps of "
                f"{duration(self.given.step)}, {self.given.time_zone}",
                "zone": self.given.time_zone,
            }
        if self._table is None or self.account is None:
            return found
        days = self._days(time_zone).value_counts().sort_index()
        return found | {
            "sources": [
                {"name": name, "fixes": len(table), "read": str(table.attrs.get("read as", ""))}
                for name, table in self._sources
            ],
            "account": self.account.rows(),
            "days": [{"day": str(day), "fixes": int(n)} for day, n in days.items()],
            "step": self.usual_step(),
            "track": _thinned(self._table),
        }

    def _days(self, time_zone: str) -> "pd.Series[date]":
        return self.table["time"].dt.tz_convert(zone(time_zone)).dt.date

    def usual_step(self) -> int:
        """Return the length of a step, in minutes, that most fixes allow."""
        gaps = self.table["time"].diff().dt.total_seconds().to_numpy()
        gaps = gaps[(gaps > 0) & (gaps < 6 * 3600)]
        typical = float(np.median(gaps)) / 60 if len(gaps) else 10.0
        return next((step for step in (10, 15, 30) if typical <= 1.2 * step), 60)

    # days and models

    def day(self, setting: Setting, model: Model) -> pd.DataFrame:
        """Return the fixes of the day to look at: one that was, or one as they might be."""
        if setting.day != SIMULATED:
            return self.table[self._days(setting.time_zone).astype(str) == setting.day]
        last = self.table["time"].max() if self._table is not None else pd.Timestamp.now("UTC")
        begin, end = (day_start(last, model.time_zone, later=later) for later in (1, 2))
        clock, steps = model.clock(begin), -((begin - end) // model.step)
        path = model.mobilities_from(clock.start)[0].sample(steps, seed=setting.seed)
        table = as_track(range(steps), path, model.place, clock)
        return table.dropna(subset=["latitude"]).drop(columns="away", errors="ignore")

    def others(self, setting: Setting) -> tuple[pd.DataFrame, bool]:
        """Return the days to learn from, and whether the day itself is among them: the only one."""
        other = self.table[self._days(setting.time_zone).astype(str) != setting.day]
        return (self.table, True) if other.empty else (other, False)

    def _has_seen(self, model: Model, setting: Setting) -> bool:
        """Tell whether a model from a file was learned from the day."""
        if setting.day == SIMULATED or self._table is None:
            return False
        day = date.fromisoformat(setting.day)
        user = str(self._table["user"].iloc[0]) if "user" in self._table else None
        return bool(days_seen(model.provenance, day, day, user))

    @staticmethod
    def _place(table: pd.DataFrame, setting: Setting) -> LocalMap:
        """Return a map around the tracks; also around the places, unless they are far away."""
        around = LocalMap.around(table, cells=setting.cells)
        south, west, north, east = around.corners
        reach = max(north - south, east - west)
        for latitude, longitude in setting.points:
            further = Rectangle(
                min(south, latitude),
                min(west, longitude),
                max(north, latitude),
                max(east, longitude),
            )
            if max(further.north - further.south, further.east - further.west) <= WIDEST * reach:
                south, west, north, east = further
        if (south, west, north, east) == around.corners:
            return around
        return LocalMap.within(south, west, north, east, cells=setting.cells)

    def known(self, fingerprint: str) -> Model | None:
        """Return the model with a fingerprint, if it is on the table."""
        with self._lock:
            models = [*([self.given] if self.given else []), *self._models.values()]
        return next((model for model in models if model.fingerprint == fingerprint), None)

    def model(self, setting: Setting, progress: Progress) -> tuple[Model, bool]:
        """Return the model for a day, and whether it has seen it."""
        if self.given is not None:
            return self.given, self._has_seen(self.given, setting)
        table, seen = self.others(setting)
        key = (self.edition, setting.day, *setting.of_model)
        with self._lock:
            if key in self._models:
                self._models.move_to_end(key)
                return self._models[key], seen
        chosen = dict(level(HABITS, setting.habits, "the habits").value)
        if chosen:
            phases = pd.Timedelta(days=1) // setting.step
            size = 8 * phases * (setting.cells + 1) ** 2
            chosen["time_of_day"] = phases <= FEW_STEPS and size <= MAX_MODEL_BYTES
        model = fit_model(
            table,
            step=setting.step,
            place=self._place(table, setting),
            time_zone=setting.time_zone,
            progress=progress,
            **chosen,
        )
        with self._lock:
            self._models[key] = model
            self._models.move_to_end(key)
            while len(self._models) > MAX_MODELS:
                self._models.popitem(last=False)
        return model, seen


def model_bytes(model: Model) -> bytes:
    """Return the file of a model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        write_model(model, path)
        return path.read_bytes()


def _thinned(table: pd.DataFrame) -> list[list[list[float]]]:
    """Return the tracks for the eye: no point twice in a row, and not more than can be drawn."""
    lines = []
    span = max(np.ptp(table["latitude"]), np.ptp(table["longitude"]), 1e-4)
    for _, fixes in table.groupby("track", sort=False):
        points = fixes[["latitude", "longitude"]].to_numpy(float)
        coarse = np.round(points / span * 4000)
        moved = np.r_[True, (np.diff(coarse, axis=0) != 0).any(axis=1)]
        lines.append(points[moved])
    total = sum(map(len, lines))
    every = max(1, -(-total // MAX_SHOWN))
    return [np.round(line[::every], 5).tolist() for line in lines]
