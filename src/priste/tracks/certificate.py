"""A certificate: what is promised, against whom, under which model. Everything in it is public.

It holds, for each release, the probability of what was released from each cell, in tickets of
2^-53. These follow from the model, the events and the releases alone, so they tell nothing about
the person that the releases do not; and whoever has the model can compute the losses again with
them. That the releases were really drawn with them is the word of whoever made the certificate.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from html import escape

import numpy as np
import pandas as pd

from priste import __version__
from priste.calibration import Calibration, EveryOutput, OptimalRemap
from priste.checks import Array, is_whole, listing, shown, whole
from priste.errors import CertificateError
from priste.events import Event, Withheld, atoms
from priste.mechanisms import (
    EmissionMatrix,
    Exponential,
    LocationSet,
    Mechanism,
    NoNoise,
    PlanarLaplace,
    Uniform,
)
from priste.protection import MAX_EPSILON, Protect, names_of
from priste.protector import Protector
from priste.storage.limits import MAX_HABITS, MAX_NAMED, MAX_STEPS, at_most
from priste.tracks.adversary import Adversary
from priste.tracks.certificate_check import Check, check_releases
from priste.tracks.link import Link, Standing
from priste.tracks.model import Model
from priste.tracks.names import checked
from priste.tracks.places import LocalMap
from priste.tracks.recipe import Recipe
from priste.tracks.steps import Clock, duration
from priste.tracks.where_and_when import where_and_when
from priste.tracks.windows import zone
from priste.wording import as_factor, promise

MECHANISMS: dict[str, type[Mechanism]] = {
    kind.__name__: kind
    for kind in (PlanarLaplace, Exponential, NoNoise, Uniform, LocationSet, EmissionMatrix)
}
CALIBRATIONS: dict[str, type[Calibration]] = {
    kind.__name__: kind for kind in (OptimalRemap, EveryOutput)
}


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """The public account of a protected track."""

    protections: tuple[Protect, ...]
    """Each event is `Withheld` where the owner keeps the events secret."""
    largest: tuple[float, ...]
    """The largest loss of each protection while it was tracked; none where events are withheld."""
    adversary: Adversary
    mechanism: Recipe
    calibration: Recipe
    place: LocalMap
    time_zone: str
    clock: Clock
    n_steps: int
    model: str
    """The fingerprint of the model."""
    releases: Mapping[int, tuple[int, Array | None]]
    """Per step with a release: the cell, and its probability from each true cell. That is None
    where events are withheld: it tells something about them, and serves nothing without them."""
    caveats: tuple[str, ...]
    made_by: str
    created: str
    link: Link | None = None
    """Its place in a stream, if it is of one."""
    habits: int = 1
    """How many habits the model holds, for each of which the promise is made."""
    file_digest: str = field(default="", init=False)
    """The SHA-256 of the file that it was read from, if it was."""

    def __post_init__(self) -> None:
        names = [checked(name, "a protection", CertificateError) for name in self.names]
        at_most(len(names), MAX_NAMED, "the number of protections", "use fewer", CertificateError)
        if len(set(names)) != len(names):
            raise CertificateError(
                f"the protections of a certificate have different names, got {listing(names)}"
            )
        if len(self.largest) != (0 if self.withholds_events else len(names)):
            raise CertificateError("a largest loss is needed for each event, and for none withheld")
        if self.link is not None and len(self.link.standings) != len(self.largest):
            raise CertificateError("every event of a stream stands somehow, unless it is withheld")
        for loss in self.largest:
            if not isinstance(loss, float | int) or not abs(loss) <= MAX_EPSILON:
                raise CertificateError(f"a largest loss is a number, got {shown(loss)}")
        self.clock.check_steps(whole(self.n_steps, "steps", CertificateError, least=1))
        habits = whole(self.habits, "habits", CertificateError, least=1)
        at_most(habits, MAX_HABITS, "the number of habits", "use fewer", CertificateError)
        zone(self.time_zone)
        for name in ("model", "made_by", "created"):
            checked(getattr(self, name), name, CertificateError)
        for caveat in self.caveats:
            if not isinstance(caveat, str) or len(caveat) > 1000 or not caveat.isprintable():
                raise CertificateError(
                    f"a caveat is a sentence that can be printed, got {shown(caveat)}"
                )
        for name, each in self.named():
            self._check_event(name, each.event)
        for step, (cell, column) in self.releases.items():
            self._check_release(step, cell, column)

    @property
    def steps(self) -> range:
        """The steps that it is about, counted from the start of the clock."""
        first = 0 if self.link is None else self.link.first
        return range(first, first + self.n_steps)

    def _check_event(self, name: str, event: Event) -> None:
        """Refuse an event about a step or a cell that is not there."""
        n_cells = self.place.grid.n_cells
        for atom in () if isinstance(event, Withheld) else atoms(event):
            if atom.step - self.steps.start >= MAX_STEPS or atom.cells[-1] >= n_cells:
                raise CertificateError(
                    f"{name!r} is about step {atom.step:,} and cell {atom.cells[-1]:,}; at most "
                    f"{MAX_STEPS:,} steps are followed, and the map has {n_cells:,} cells"
                )

    def _check_release(self, step: object, cell: object, column: Array | None) -> None:
        if not is_whole(step) or step not in self.steps:
            raise CertificateError(
                f"{shown(step)} is not a step from {self.steps.start} to {self.steps.stop - 1}"
            )
        if not is_whole(cell) or not 0 <= cell < self.place.grid.n_cells:
            raise CertificateError(f"step {step} releases {shown(cell)}, which is not a cell")
        if (column is None) != self.withholds_events:
            raise CertificateError(
                f"step {step}: every release has tickets, unless the events are withheld"
            )

    @classmethod
    def of(
        cls,
        protector: Protector,
        releases: Mapping[int, tuple[int, Array]],
        largest: Mapping[str, float],
        model: Model,
        clock: Clock,
        n_steps: int,
        adversary: Adversary,
        *,
        link: Link | None = None,
        caveats: tuple[str, ...] = (),
        created: str | None = None,
    ) -> "Certificate":
        """Return the certificate of what a protector released, its place in a stream if it has one.

        `releases` has the cell and the column of each step with a release, `largest` the largest
        loss of each event: with a guarantee, these follow from the releases alone, so they are
        public. `caveats` come after those of the protector. It is `created` now, or then.
        """
        if not protector.calibration.is_guarantee:
            raise CertificateError(
                f"{type(protector.calibration).__name__} promises nothing to certify"
            )
        return cls(
            protector.protections,
            tuple(largest.get(name, 0.0) for name in names_of(protector.protections)),
            adversary,
            Recipe.of(protector.mechanism, model.place.grid),
            Recipe.of(protector.calibration, model.place.grid),
            model.place,
            model.time_zone,
            clock,
            n_steps,
            model.fingerprint,
            dict(releases),
            (*(protector.caveats if releases else ()), *caveats),
            f"priste {__version__}",
            created or datetime.now(UTC).isoformat(timespec="seconds"),
            link,
            len(model.mobilities),
        )

    @property
    def names(self) -> list[str]:
        """What each protected event is called."""
        return names_of(self.protections)

    def named(self) -> Iterator[tuple[str, Protect]]:
        """Yield each protection with its name."""
        return zip(self.names, self.protections, strict=True)

    @property
    def withholds_events(self) -> bool:
        """Whether the events are left out, so that only their owner can check the promise."""
        if not self.protections:
            return any(column is None for _, column in self.releases.values())
        return any(isinstance(p.event, Withheld) for p in self.protections)

    def without_events(self, asked: Sequence[Protect] = ()) -> "Certificate":
        """Return the certificate with the events left out: each different promise once.

        With `asked`, all that is ever asked for, every certificate makes the same promises, those
        about events that cannot happen in its time among them: they are kept by themselves. So
        nobody sees on which days there is a secret. `ProtectedTrack.asked` has them.
        """
        cells = {step: (cell, None) for step, (cell, _) in self.releases.items()}
        promised = sorted({(p.epsilon, p.sides) for p in (*self.protections, *asked)})
        hidden = tuple(Protect(Withheld(), epsilon, sides=sides) for epsilon, sides in promised)
        link = None if self.link is None else replace(self.link, standings=())
        return replace(self, protections=hidden, largest=(), releases=cells, link=link)

    def columns(self) -> list[Array]:
        """Return one emission column per step; a step without a release tells nothing."""
        silent = np.ones(self.place.grid.n_cells)
        columns = [self.releases.get(step, (0, None))[1] for step in self.steps]
        return [silent if column is None else np.ascontiguousarray(column) for column in columns]

    def check(self, model: Model) -> Check:
        """Compute every loss again, from the certificate and its model alone.

        The certificates of a stream are checked together, by `priste.tracks.check`.
        """
        self.refuse_other(model)
        self._refuse_stream("check")
        mobilities = model.mobilities_from(self.clock.start)
        prior = self.adversary.prior(model.mobility)
        return check_releases(self.protections, mobilities, self.columns(), prior)

    def protector(self, model: Model) -> Protector:
        """Return the algorithm as it was set, at its first step, to audit it."""
        self.refuse_other(model)
        self._refuse_stream("its algorithm cannot be followed by itself; check")
        grid = self.place.grid
        return Protector(
            model.mobilities_from(self.clock.start),
            self.mechanism.build(MECHANISMS, grid),
            self.protections,
            prior=self.adversary.prior(model.mobility),
            calibration=self.calibration.build(CALIBRATIONS, grid),
        )

    def _refuse_stream(self, verb: str) -> None:
        if self.link is not None:
            raise CertificateError(
                f"this is number {self.link.number} of the certificates of a stream: {verb} all of "
                f"them together, from the first on (priste audit c1.json c2.json …)"
            )

    def refuse_other(self, model: Model) -> None:
        """Refuse a model that the certificate was not made under."""
        if model.fingerprint != self.model:
            raise CertificateError(
                f"the certificate was made under another model: its fingerprint is "
                f"{self.model[:12]}…, that of the given one {model.fingerprint[:12]}…"
            )
        claimed = (self.place, self.time_zone, self.clock.length, self.habits)
        if claimed != (model.place, model.time_zone, model.step, len(model.mobilities)):
            raise CertificateError(
                "the certificate's map, zone, step or number of habits is not that of its model"
            )

    def describes(self, track: pd.DataFrame) -> bool:
        """Tell whether a track is the one that was released: each cell at its time, no more.

        Elsewhere is a fix without coordinates, or no fix in a format that has none of these.
        """
        place = track[["latitude", "longitude"]]
        located = place.notna().any(axis=1).to_numpy()
        possible = (place["latitude"].abs() <= 90) & (place["longitude"].abs() <= 180)
        if not possible[located].all():
            return False
        elsewhere = self.place.grid.elsewhere_cell
        released = {step: cell for step, (cell, _) in self.releases.items()}
        if located.all():  # as in GPX, where nothing says that somebody is away
            released = {step: cell for step, cell in released.items() if cell != elsewhere}
        there = np.full(len(track), -1 if elsewhere is None else elsewhere)
        fixes = place[located]
        there[located] = self.place.cell_at(fixes["latitude"], fixes["longitude"], outside="drop")
        there[located & (there == elsewhere)] = -1
        if "away" in track and (track["away"].astype(bool).to_numpy() == located).any():
            return False
        times = self.clock.time_of(list(released))
        return list(track["time"]) == list(times) and there.tolist() == list(released.values())

    def sentences(self) -> Iterator[str]:
        """Yield what the certificate means, in words."""
        steps, link = self.steps, self.link
        begin, end = self.clock.time_of([steps.start, steps.stop]).tz_convert(self.time_zone)
        count, cells = len(self.releases), [cell for cell, _ in self.releases.values()]
        away = count - len(self.place.grid.on_map(cells))
        yield (
            f"{count} {'place was' if count == 1 else 'places were'} released"
            f"{f', {away} of them as away,' if away else ''} for {self.n_steps} steps of "
            f"{duration(self.clock.length)}, from {begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} "
            f"({self.time_zone})."
        )
        if not self.protections and link is None:
            yield "No protected event can happen in this time: nothing is promised."
            yield from self._made()
            return
        waiting = []
        for i, (name, p) in enumerate(self.named()):
            if link is not None and link.standings and link.standings[i].state == "waiting":
                waiting.append(f"“{name}” (ε = {p.epsilon:g})")
                continue
            verb = "change" if p.sides == "both" else "rise"
            bound = f"{as_factor(p.epsilon)}: {promise(p.epsilon, sides=p.sides)}"
            realised = (
                f" While it was tracked the loss was at most {self.largest[i]:.4f}; what releases "
                f"before and after can add is part of ε."
                if self.largest
                else ""
            )
            if link is not None and link.standings:
                realised = f" {_standing(link.standings[i], p.epsilon, self.largest[i])}"
            about = where_and_when(p.event, self.place, self.clock, self.time_zone)
            yield (
                f"About “{name}” ({_short(p.event)}{about and f'; {about}'}): ε = {p.epsilon:g}. "
                f"No odds {verb} by more than a factor {bound}.{realised}"
            )
        if waiting:
            yield f"Promised as well, for when their time has come: {listing(waiting, 12)}."
        if link is not None:
            before = f" The one before has the SHA-256 {link.before}." if link.before else ""
            yield (
                f"This is certificate {link.number} of a stream. What it says of an event holds "
                f"for all releases of the stream together, those before and those to come.{before}"
            )
        yield f"This holds against {self.adversary}."
        several = (
            f", with whichever of the {self.habits} habits of the model in mind"
            if self.habits > 1
            else ""
        )
        yield (
            "The observer may know everything else: the map, how people move (the model below)"
            f"{several}, the events, ε, the algorithm, and all that was released."
        )
        yield (
            "It does not hold if people move otherwise than the model says, for observers who have "
            "learned other habits, for events other than "
            "those named (one day of an event that spans several is another event), or for what "
            "is learned elsewhere: from a second release of this time, or from releases "
            + ("that are not part of this stream." if link else "of the time before or after it.")
        )
        yield from self._made()

    def _made(self) -> Iterator[str]:
        """Yield how and by what it was made, and its caveats."""
        yield (
            f"Made with {self.calibration} over {self.mechanism}, distances in km, by "
            f"{self.made_by}, {self.created}; model {self.model[:16]}…."
        )
        for recipe in (self.calibration, self.mechanism):
            if recipe.obstacle:
                yield f"The algorithm cannot be rebuilt from this certificate: {recipe.obstacle}."
        if self.withholds_events:
            yield "The events are withheld, so only their owner can compute the losses again."
        yield from (f"Caveat: {caveat}." for caveat in self.caveats)

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def __repr__(self) -> str:
        return (
            f"<Certificate: {len(self.releases)} releases in {self.n_steps} steps, "
            f"{len(self.protections)} protected events, adversary {self.adversary.kind}>"
        )

    def _repr_html_(self) -> str:
        return "<ul>" + "".join(f"<li>{escape(s)}</li>" for s in self.sentences()) + "</ul>"


def _standing(standing: Standing, epsilon: float, largest: float) -> str:
    """Return how an event stands at the end of a certificate."""
    left = epsilon - standing.activation - standing.merging
    charged = f"{standing.activation + standing.merging:.2g} of ε is charged, {left:.4g} left"
    loss = f"the largest loss in this time is {largest:.4f}"
    if standing.state == "live":
        return f"It is live: {charged}, and {loss}."
    return f"It is settled, no later release can break the promise: {charged}, and {loss}."


def _short(event: Event) -> str:
    text = repr(event)
    return text if len(text) <= 90 else text[:87] + "…"
