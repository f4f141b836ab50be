"""From a table of fixes to a protected track, its certificate and a private diary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from math import nan
from pathlib import Path

import numpy as np
import pandas as pd

from priste.calibration import Calibration, CertifiedPlan, GroupedPlan
from priste.checks import Array
from priste.errors import ProtectionError, TrackError
from priste.mechanisms import Mechanism, PlanarLaplace
from priste.progress import Progress, progress_line
from priste.protection import Protect, names_of
from priste.protector import Protector, Release
from priste.randomness import Randomness
from priste.stream.parts import DEFAULT_RHO, default_calibration
from priste.tracks.accuracy import Accuracy, accuracy_of, distances_to
from priste.tracks.adversary import Adversary, AdversaryKind
from priste.tracks.certificate import Certificate
from priste.tracks.certificate_file import digest_of
from priste.tracks.events_file import Reader, asked_events, read_events
from priste.tracks.events_remarks import absent_events, grown_regions, hours_of_other_zones
from priste.tracks.html_table import html_table
from priste.tracks.model import Model
from priste.tracks.new_places import at_new_places
from priste.tracks.seen import SEEN_CAVEAT, days_seen, refuse_seen
from priste.tracks.steps import Clock, as_track, discretise, first_fixes
from priste.tracks.stream_file import open_stream
from priste.tracks.track_stream import TrackStream
from priste.tracks.windows import day_start

Events = str | Path | Sequence[Protect]
"""An events file, or protections."""


@dataclass(frozen=True, eq=False, repr=False)
class Stream:
    """A person's fixes as steps and cells of a model: private, except clock and steps.

    The cells are those of `n_steps` steps from step `first` of the clock on.
    """

    model: Model
    clock: Clock
    n_steps: int
    cells: list[int | None]
    first: int = 0
    days: tuple[date, date] = (date.max, date.min)
    """The first and the last of its local days."""
    user: str | None = None
    """Whose it is, if the table says so."""
    fixes: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    """Latitude and longitude of the fix of each step that has one, counted like the cells."""

    @classmethod
    def of(
        cls,
        table: pd.DataFrame,
        model: Model,
        *,
        clock: Clock | None = None,
    ) -> "Stream":
        """Return the stream of one person's fixes, over whole days of the model's zone.

        Whole days, so that neither its start nor its end reveals anything. With a `clock` that
        began on an earlier day, its steps go on. A fix off the map is elsewhere, or on the border
        of a map without that cell.
        """
        if table.empty:
            raise TrackError("the track has no fixes to protect")
        if "user" in table and table["user"].nunique() > 1:
            raise TrackError(
                f"the table holds {table['user'].nunique()} users; protect one person at a time"
            )
        start = day_start(table["time"].min(), model.time_zone)
        end = day_start(table["time"].max(), model.time_zone, later=1)
        clock = model.clock(start) if clock is None else clock
        first, stop = (-((clock.start - moment) // model.step) for moment in (start, end))
        n_steps = clock.check_steps(stop - first)
        here = model.clock(clock.time_of([first])[0])
        cells = discretise(table, model.place, here, steps=n_steps, outside="clamp")
        local = table["time"].dt.tz_convert(model.time_zone)
        days = local.min().date(), local.max().date()
        user = str(table["user"].iloc[0]) if "user" in table else None
        found, taken = first_fixes(table, here, n_steps)
        places = zip(taken["latitude"].tolist(), taken["longitude"].tolist(), strict=True)
        fixes = dict(zip(found.tolist(), places, strict=True))
        return cls(model, clock, n_steps, cells, first, days, user, fixes)

    def __repr__(self) -> str:
        seen = sum(cell is not None for cell in self.cells)
        return f"<Stream: {self.n_steps} steps, {seen} with a fix (private)>"

    def protections(self, events: Events) -> tuple[Protect, ...]:
        """Return the protections of an events file for this stream."""
        if isinstance(events, str | Path):
            events = read_events(events, self.model.place, self.clock, self.n_steps)
        return tuple(events)

    def asked(self, events: Events) -> tuple[Protect, ...]:
        """Return all that a file ever protects, without saying what it is."""
        if not isinstance(events, str | Path):
            return ()
        return tuple(asked_events(events, self.model.place, self.clock))

    def absent(self, events: Events) -> tuple[str, ...]:
        """Return the names of the events of a file that cannot happen during this stream."""
        if not isinstance(events, str | Path):
            return ()
        return tuple(absent_events(self._read(events)))

    def remarks(self, events: Events) -> list[str]:
        """Return what to say about new places, windows in another zone and small circles."""
        if not isinstance(events, str | Path):
            return self.at_new_places
        file = self._read(events)
        zones = hours_of_other_zones(file, self.model.time_zone)
        return [*self.at_new_places, *zones, *grown_regions(file)]

    @property
    def at_new_places(self) -> list[str]:
        """What to say about places that the model does not know (private)."""
        model = self.model
        return at_new_places(model.provenance, model.place.grid.n_cells, self.cells)

    def _read(self, events: str | Path) -> Reader:
        return Reader.of(events, self.model.place, self.clock, self.n_steps)


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
    continued: TrackStream | None = None
    """The stream to go on with another day, if there is one: save it with the rest."""
    asked: tuple[Protect, ...] = ()
    """All that the events file ever protects, without saying what it is."""

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
        """The distance from each fix to what was released, in kilometres (private)."""
        released = [r.cell for r in self.releases]
        return distances_to(self.stream.model.place, self._fixes, released)

    @property
    def _fixes(self) -> Array:
        """Latitude and longitude of the fix of each release."""
        first, fixes = self.stream.first, self.stream.fixes
        return np.array([fixes[r.step - first] for r in self.releases]).reshape(-1, 2)

    @cached_property
    def accuracy(self) -> Accuracy:
        """How far releases are from the fixes, beside answers that took no track (private)."""
        stream = self.stream
        start = stream.clock.time_of([stream.first])[0]
        return accuracy_of(
            stream.model.place,
            self._fixes,
            [r.step - stream.first for r in self.releases],
            [r.private.true_cell for r in self.releases],
            [r.cell for r in self.releases],
            self.protector.mechanism.emission(),
            stream.model.mobilities_from(start)[0],
        )

    @cached_property
    def diary(self) -> pd.DataFrame:
        """One row per release, with everything that must stay on the device (private)."""
        losses = {
            f"loss {name}": [r.private.losses.get(name, nan) for r in self.releases]
            for name in names_of(self.protections)
        }
        return pd.concat([self.entries, pd.DataFrame(losses, index=self.entries.index)], axis=1)

    @cached_property
    def entries(self) -> pd.DataFrame:
        """The diary without the losses, of which a long stream has a column for every day."""
        private = [r.private for r in self.releases]
        return pd.DataFrame(
            {
                "step": [r.step for r in self.releases],
                "time": self.released["time"],
                "true_cell": [p.true_cell for p in private],
                "true_latitude": self._fixes[:, 0],
                "true_longitude": self._fixes[:, 1],
                "released_cell": [r.cell for r in self.releases],
                "error_km": self.errors,
                "budget": [p.budget for p in private],
                "attempts": [p.attempts for p in private],
                "remark": [p.remark for p in private],
            }
        )


def protect_track(
    table: pd.DataFrame,
    model: Model,
    events: Events,
    *,
    adversary: AdversaryKind = "near",
    rho: float = DEFAULT_RHO,
    mechanism: Mechanism | None = None,
    calibration: Calibration | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    stream: str | Path | TrackStream | None = None,
    exchange_model: bool = False,
    model_has_seen_these_days: bool = False,
    draws: Randomness | None = None,
    created: str | None = None,
) -> ProtectedTrack:
    """Protect a clean table of one person's fixes.

    By default the promise holds against an observer whose belief about the start is the model's,
    but for a tenth that may be anything. The noise is planar Laplace with budget 1 per kilometre,
    and `OptimalRemap` brings it as close to the truth as the events allow. Fixes off the map are
    elsewhere, and may be released as that; on a map without such a cell they are on its border.

    Days that are protected apart tell more together than each promises. To protect more of them
    later, give a `stream`: the file of one, which begins with these days if there is none yet. A
    window that recurs is then an event of its own every day. Nothing is written: save what is
    ``continued`` (`save_stream`) together with the release, or the next day cannot go on. A stream
    goes on with its model, unless `exchange_model` says that this is another.

    A model that was learned from the protected days is refused: it is itself a release of them
    that nobody accounts for. `model_has_seen_these_days` gives that up, and the certificate says
    so.

    Draws come from the operating system, or from `draws`; the certificate says that it was
    `created` now, or then. With both, the same work gives the same result.
    """
    against = Adversary(adversary, rho)
    noise = PlanarLaplace(model.place.grid, 1.0) if mechanism is None else mechanism
    if stream is None:
        days, going = Stream.of(table, model), None
        protections = days.protections(events)
        protector = Protector(
            model.mobilities_from(days.clock.start),
            noise,
            protections,
            prior=against.prior(model.mobility),
            calibration=calibration,
            seed=seed,
        )
    else:
        old = _opened(stream)
        usual = old.calibration if old else default_calibration(noise, len(model.mobilities))
        settings = against, noise, usual if calibration is None else calibration, seed
        days = Stream.of(table, model, clock=None if old is None else old.clock)
        if old is None:
            going = TrackStream.begin(days.clock.start, model, *settings)
        else:
            going = _gone_on(old, days, settings, exchange_model=exchange_model)
        going = going.asking(events, days.first + days.n_steps)
        protector, protections = going.protector(), going.protections
        for _ in range(going.step, days.first):
            protector.skip()
    if draws is not None:
        protector.draw_from(draws)
    caveats = _refuse_seen(days, model_has_seen_these_days=model_has_seen_these_days)
    begun = 0 if going is None else going.step
    releases, emissions = _released(protector, days, protections, progress)
    certificate = Certificate.of(
        protector,
        {r.step: (r.cell, r.column) for r in releases},
        _largest(releases),
        model,
        days.clock,
        days.first + days.n_steps - begun,
        against,
        link=None if going is None else going.link(protector.state),
        caveats=caveats,
        created=created,
    )
    after = None if going is None else going.after(protector, digest_of(certificate))
    told = tuple(releases), certificate, emissions
    return ProtectedTrack(days, protector, protections, *told, after, days.asked(events))


def _largest(releases: Sequence[Release]) -> dict[str, float]:
    """Return the largest loss of each event that was ever live."""
    largest: dict[str, float] = {}
    for release in releases:
        for name, loss in release.private.losses.items():
            largest[name] = max(loss, largest.get(name, loss))
    return largest


def _opened(stream: str | Path | TrackStream) -> TrackStream | None:
    """Return a stream to go on with, or None if it has yet to begin."""
    return stream if isinstance(stream, TrackStream) else open_stream(stream)


def _gone_on(
    old: TrackStream,
    days: Stream,
    settings: tuple[Adversary, Mechanism, Calibration, int | None],
    *,
    exchange_model: bool,
) -> TrackStream:
    """Return a stream that can go on with these days, as it was set."""
    *same, seed = settings
    old.refuse_other(*same)  # type: ignore[arg-type]
    if seed is not None:
        raise ProtectionError("a seed is given when a stream begins; its draws go on by themselves")
    going = old
    if days.model.fingerprint != old.model.fingerprint:
        if not exchange_model:
            raise ProtectionError(
                "the stream goes on with the model that it has, and this is another; "
                "--exchange-model (exchange_model=True) takes it for what is not live yet"
            )
        began = old.clock.start.tz_convert(old.model.time_zone).date()
        remedy = "exchange it for one that was learned from other days, or from other people"
        refuse_seen(days.model.provenance, began, days.days[1], days.user, remedy)
        going = old.exchanging(days.model)
    going.refuse_released(days.first)
    return going


def _refuse_seen(days: Stream, *, model_has_seen_these_days: bool) -> tuple[str, ...]:
    """Refuse a model learned from days since the clock began, unless told; return what to say then.

    Days of a stream without a release count as well: their events are protected, too.
    """
    began = days.clock.start.tz_convert(days.model.time_zone).date()
    seen = days.model.provenance, began, days.days[1], days.user
    if not model_has_seen_these_days:
        remedy = (
            "fit one to other days (priste fit --until), or say --model-has-seen-these-days "
            "(model_has_seen_these_days=True) to give that up"
        )
        refuse_seen(*seen, remedy)
        return ()
    return (SEEN_CAVEAT,) if days_seen(*seen) else ()


def _released(
    protector: Protector,
    days: Stream,
    protections: Sequence[Protect],
    progress: Progress | None,
) -> tuple[list[Release], dict[int, Array]]:
    """Release each step that has a cell; also return what `ProtectedTrack.emissions` holds."""
    report = progress or progress_line("protecting")
    releases: list[Release] = []
    emissions: dict[int, Array] = {}
    waiting = {each.event.steps[0] for each in protections}
    for step, cell in enumerate(days.cells, start=days.first):
        if cell is None:
            protector.skip()
        else:
            plan = protector.plan()
            begun = {first for first in waiting if first <= step}
            if begun and isinstance(plan, CertifiedPlan | GroupedPlan):
                emissions[step] = plan.emission
            waiting -= begun
            releases.append(protector.release(cell))
        report((step + 1 - days.first) / days.n_steps)
    return releases, emissions
