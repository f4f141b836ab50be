"""From a table of fixes to a protected track, its certificate and a private diary."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from pathlib import Path

import numpy as np
import pandas as pd

from priste.calibration import Calibration, CertifiedPlan
from priste.checks import Array
from priste.errors import TrackError
from priste.mechanisms import Mechanism, PlanarLaplace
from priste.progress import Progress, progress_line
from priste.protection import Protect, names_of
from priste.protector import DEFAULT_RHO, Protector, Release
from priste.tracks.adversary import Adversary, AdversaryKind
from priste.tracks.certificate import Certificate
from priste.tracks.events_file import read_events
from priste.tracks.html_table import html_table
from priste.tracks.model import Model
from priste.tracks.places import OFF_THE_MAP, Outside
from priste.tracks.steps import Clock, as_track, discretise
from priste.tracks.windows import day_start

Events = str | Path | Sequence[Protect]
"""An events file, or protections."""


@dataclass(frozen=True, eq=False, repr=False)
class Stream:
    """A person's fixes as steps and cells of a model: private, except `clock` and `n_steps`."""

    model: Model
    clock: Clock
    n_steps: int
    cells: list[int | None]

    @classmethod
    def of(cls, table: pd.DataFrame, model: Model, *, outside: Outside = "clamp") -> "Stream":
        """Return the stream of one person's fixes, over whole days of the model's zone.

        Whole days, so that neither its start nor its end reveals anything.
        """
        if table.empty:
            raise TrackError("the track has no fixes to protect")
        inside = model.place.cell_at(table["latitude"], table["longitude"], outside="drop")
        if (inside == OFF_THE_MAP).all():
            raise TrackError("no fix lies on the model's map")
        if "user" in table and table["user"].nunique() > 1:
            raise TrackError(
                f"the table holds {table['user'].nunique()} users; protect one person at a time"
            )
        start = day_start(table["time"].min(), model.time_zone)
        end = day_start(table["time"].max(), model.time_zone, later=1)
        clock = model.clock(start)
        n_steps = clock.check_steps(-(-(end - start) // model.step))
        cells = discretise(table, model.place, clock, steps=n_steps, outside=outside)
        if all(cell is None for cell in cells):
            raise TrackError("no step has a fix on the map; try outside='clamp'")
        return cls(model, clock, n_steps, cells)

    def __repr__(self) -> str:
        seen = sum(cell is not None for cell in self.cells)
        return f"<Stream: {self.n_steps} steps, {seen} with a fix (private)>"

    def protections(self, events: Events) -> tuple[Protect, ...]:
        """Return the protections of an events file for this stream."""
        if isinstance(events, str | Path):
            events = read_events(events, self.model.place, self.clock, self.n_steps)
        return tuple(events)


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedTrack:
    """A protected stream. `released` and `certificate` are public, the rest is private."""

    stream: Stream
    protector: Protector
    protections: tuple[Protect, ...]
    releases: tuple[Release, ...]
    certificate: Certificate
    emissions: dict[int, Array] = field(default_factory=dict)
    """The emission matrix at the first release of each event's time, by step."""

    def __repr__(self) -> str:
        return f"<ProtectedTrack with {self.certificate!r}>"

    def _repr_html_(self) -> str:
        head = ("event", "ε", "largest loss", "releases")
        rows = [
            (name, f"{p.epsilon:g}", f"{loss:.4f}", f"{len(self.releases)}")
            for (name, p), loss in zip(
                self.certificate.named(), self.certificate.largest, strict=True
            )
        ]
        return html_table(head, rows)

    @cached_property
    def released(self) -> pd.DataFrame:
        """The released track: the centre of each released cell at the start of its step."""
        steps, cells = ([r.step for r in self.releases], [r.cell for r in self.releases])
        return as_track(steps, cells, self.stream.model.place, self.stream.clock)

    @cached_property
    def errors(self) -> Array:
        """The distance between each released cell and the true one, in kilometres (private)."""
        distances = self.stream.model.place.grid.distances
        return np.array([distances[r.private.true_cell, r.cell] for r in self.releases])

    @cached_property
    def diary(self) -> pd.DataFrame:
        """One row per release, with everything that must stay on the device (private)."""
        private = [r.private for r in self.releases]
        true = as_track(
            [r.step for r in self.releases],
            [p.true_cell for p in private],
            self.stream.model.place,
            self.stream.clock,
        )
        table = pd.DataFrame(
            {
                "step": [r.step for r in self.releases],
                "time": true["time"],
                "true_cell": [p.true_cell for p in private],
                "true_latitude": true["latitude"],
                "true_longitude": true["longitude"],
                "released_cell": [r.cell for r in self.releases],
                "error_km": self.errors,
                "budget": [p.budget for p in private],
                "attempts": [p.attempts for p in private],
                "remark": [p.remark for p in private],
            }
        )
        losses = {
            f"loss {name}": [p.losses.get(name, nan) for p in private]
            for name in names_of(self.protections)
        }
        return table.assign(**losses)


def protect_track(
    table: pd.DataFrame,
    model: Model,
    events: Events,
    *,
    adversary: AdversaryKind = "near",
    rho: float = DEFAULT_RHO,
    mechanism: Mechanism | None = None,
    calibration: Calibration | None = None,
    outside: Outside = "clamp",
    seed: int | None = None,
    progress: Progress | None = None,
) -> ProtectedTrack:
    """Protect a clean table of one person's fixes.

    By default the promise holds against an observer whose belief about the start is the model's,
    but for a tenth that may be anything. The noise is planar Laplace with budget 1 per kilometre,
    and `OptimalRemap` brings it as close to the truth as the events allow. Fixes off the map count
    as on its border (``outside="clamp"``).
    """
    against = Adversary(adversary, rho)
    stream = Stream.of(table, model, outside=outside)
    protections = stream.protections(events)
    mobility = model.mobility_from(stream.clock.start)
    protector = Protector(
        mobility,
        PlanarLaplace(model.place.grid, 1.0) if mechanism is None else mechanism,
        protections,
        prior=against.prior(mobility),
        calibration=calibration,
        seed=seed,
    )
    report = progress or progress_line("protecting")
    releases, emissions = [], {}
    waiting = {each.event.steps[0] for each in protections}
    for step, cell in enumerate(stream.cells):
        if cell is None:
            protector.skip()
        else:
            plan = protector.plan()
            begun = {first for first in waiting if first <= step}
            if begun and isinstance(plan, CertifiedPlan):
                emissions[step] = plan.emission
            waiting -= begun
            releases.append(protector.release(cell))
        report((step + 1) / stream.n_steps)
    certificate = Certificate.of(protector, releases, model, stream.clock, stream.n_steps, against)
    return ProtectedTrack(stream, protector, protections, tuple(releases), certificate, emissions)
