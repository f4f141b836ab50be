"""A certificate: what is promised, to whom, under which model. Everything in it is public.

It holds, for each release, the probability of what was released from each cell, in tickets of
2^-53. These were chosen from the model, the events and the releases alone, so they tell nothing
about the person that the releases do not; and with them anybody who is given the model can compute
the loss again. That the releases were really drawn with them is the word of whoever made it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from priste import __version__
from priste.checks import Array, fraction, is_whole, listing, positive, shown, whole
from priste.dyadic import TICKETS
from priste.errors import CertificateError
from priste.events import Event, Withheld, atoms
from priste.grid import Grid
from priste.mobility import Mobility
from priste.priors import AnyPrior, KnownPrior, NearPrior, Prior
from priste.protection import Protect, names_of
from priste.protector import Protector, Release
from priste.quantify import posterior_odds, prior_odds, privacy_loss
from priste.tracks import event_json, plain_json
from priste.tracks.limits import (
    MAX_BUDGET,
    MAX_MARKUP_BYTES,
    MAX_NAMED,
    MAX_STEPS,
    at_most,
    refusing,
)
from priste.tracks.model import Model
from priste.tracks.names import checked
from priste.tracks.outputs import aside
from priste.tracks.places import LocalMap
from priste.tracks.steps import Clock
from priste.tracks.windows import zone
from priste.wording import as_factor, promise

FORMAT = 1
Adversary = Literal["known", "near", "any"]


def adversary_prior(adversary: Adversary, mobility: Mobility, rho: float) -> Prior:
    """Return the set of beliefs that an adversary may start from."""
    if adversary == "any":
        return AnyPrior()
    if adversary == "known":
        return KnownPrior(mobility.initial)
    if adversary == "near":
        return NearPrior(mobility.initial, rho)
    raise CertificateError(
        f"the adversary must be one of {listing(get_args(Adversary))}, got {adversary!r}"
    )


def adversary_in_words(adversary: Adversary, rho: float) -> str:
    """Return whom a promise is made about."""
    if adversary == "any":
        return "anybody, whatever they believe about where the person was at the start"
    if adversary == "known":
        return "somebody who believes of the start just what the model says"
    return (
        f"somebody who believes of the start mostly what the model says: {1 - rho:.4g} of the "
        f"belief is the model's, the other {rho:.4g} may be anything, even certainty"
    )


@dataclass(frozen=True, eq=False)
class Certificate:
    """The public account of a protected track."""

    protections: tuple[Protect, ...]
    adversary: Adversary
    rho: float
    mechanism: str
    budget: float
    """Of the mechanism, per kilometre."""
    calibration: str
    place: LocalMap
    time_zone: str
    clock: Clock
    n_steps: int
    model: str
    """The fingerprint of the model."""
    releases: Mapping[int, tuple[int, Array | None]]
    """Per step that has a release: the cell, and its probability from each true cell (None where
    the events are withheld: it tells something of them, and serves nothing without them)."""
    caveats: tuple[str, ...]
    made_by: str
    created: str

    def __post_init__(self) -> None:
        names = [checked(name, "a protection", CertificateError) for name in self.names]
        at_most(len(names), MAX_NAMED, "the number of protections", "use fewer", CertificateError)
        if not names or len(set(names)) != len(names):
            raise CertificateError(
                f"a certificate needs protections of different names, got {listing(names)}"
            )
        if self.adversary not in get_args(Adversary):
            raise CertificateError(
                f"the adversary must be one of {listing(get_args(Adversary))}, "
                f"got {shown(self.adversary)}"
            )
        fraction(self.rho, "rho", CertificateError, open_at_one=False)
        self.clock.check_steps(whole(self.n_steps, "steps", CertificateError, least=1))
        zone(self.time_zone)
        at_most(self.budget, MAX_BUDGET, "the budget per km", "use a smaller one", CertificateError)
        for name in ("mechanism", "calibration", "model", "made_by", "created"):
            checked(getattr(self, name), f"{name}, which", CertificateError)
        for name, each in self.named():
            self._check_event(name, each.event)
        n_cells = self.place.grid.n_cells
        for step, (cell, column) in self.releases.items():
            if not is_whole(step) or not 0 <= step < self.n_steps:
                raise CertificateError(f"{shown(step)} is no step of 0 to {self.n_steps - 1}")
            if not is_whole(cell) or not 0 <= cell < n_cells:
                raise CertificateError(f"step {step} releases {shown(cell)}, which is no cell")
            if (column is None) != self.withholds_events:
                raise CertificateError(
                    f"step {step}: tickets are there for every release, or events are withheld"
                )

    def _check_event(self, name: str, event: Event) -> None:
        """Refuse an event about steps that no stream has, or cells that the map has not."""
        for atom in () if isinstance(event, Withheld) else atoms(event):
            if atom.step >= MAX_STEPS or atom.cells[-1] >= self.place.grid.n_cells:
                raise CertificateError(
                    f"{name!r} is about step {atom.step:,} and cell {atom.cells[-1]:,}; "
                    f"at most {MAX_STEPS:,} steps are followed, and the map has "
                    f"{self.place.grid.n_cells:,} cells"
                )

    @classmethod
    def of(
        cls,
        protector: Protector,
        releases: Sequence[Release],
        model: Model,
        clock: Clock,
        n_steps: int,
        adversary: Adversary,
        rho: float,
    ) -> "Certificate":
        """Return the certificate of what a protector released."""
        if not protector.calibration.is_guarantee:
            raise CertificateError(
                f"{type(protector.calibration).__name__} promises nothing to certify"
            )
        return cls(
            protector.protections,
            adversary,
            rho,
            type(protector.mechanism).__name__,
            protector.mechanism.budget,
            type(protector.calibration).__name__,
            model.place,
            model.time_zone,
            clock,
            n_steps,
            model.fingerprint,
            {r.step: (r.cell, r.column) for r in releases},
            releases[0].caveats if releases else (),
            f"priste {__version__}",
            datetime.now(UTC).isoformat(timespec="seconds"),
        )

    @property
    def withholds_events(self) -> bool:
        """Whether the events are left out, so that only their owner can check the promise."""
        return any(isinstance(p.event, Withheld) for p in self.protections)

    @property
    def names(self) -> list[str]:
        """What each protected event is called."""
        return names_of(self.protections)

    def named(self) -> Iterator[tuple[str, Protect]]:
        """Yield each protection with its name."""
        return zip(self.names, self.protections, strict=True)

    def columns(self) -> list[Array]:
        """Return one emission column per step; a step without a release tells nothing."""
        silent = np.ones(self.place.grid.n_cells)
        columns = [self.releases.get(step, (0, None))[1] for step in range(self.n_steps)]
        return [silent if column is None else column for column in columns]

    def losses(self, model: Model) -> dict[str, Array]:
        """Return the loss of each promise after each step, computed anew from what is public."""
        self._refuse_other(model)
        mobility = model.mobility_from(self.clock.start)
        prior = adversary_prior(self.adversary, mobility, self.rho)
        return {
            name: privacy_loss(p.event, mobility, self.columns(), prior=prior, sides=p.sides)
            for name, p in self.named()
        }

    def directions(self, protection: Protect, model: Model) -> tuple[Array, Array]:
        """Return how far odds can have risen, and how far fallen, after each step."""
        self._refuse_other(model)
        mobility = model.mobility_from(self.clock.start)
        prior = adversary_prior(self.adversary, mobility, self.rho)
        event = protection.event
        rising, falling = (
            privacy_loss(each, mobility, self.columns(), prior=prior, sides="event")
            for each in (event, ~event)
        )
        return rising, falling

    def odds(self, model: Model) -> dict[str, tuple[float, Array]]:
        """Return the odds of who believes the model: before everything, and after each step."""
        self._refuse_other(model)
        mobility = model.mobility_from(self.clock.start)
        return {
            name: (
                prior_odds(p.event, mobility),
                posterior_odds(p.event, mobility, self.columns()),
            )
            for name, p in self.named()
        }

    def _refuse_other(self, model: Model) -> None:
        if model.fingerprint != self.model:
            raise CertificateError(
                "the certificate was made under another model: its fingerprint is "
                f"{self.model[:12]}…, that of the given one {model.fingerprint[:12]}…"
            )
        claimed = (self.place, self.time_zone, self.clock.length)
        if claimed != (model.place, model.time_zone, model.step):
            raise CertificateError("the certificate's map, zone or step is not that of its model")

    def tells_of(self, track: pd.DataFrame) -> bool:
        """Tell whether a track is the one that was released: each cell at its time, no more."""
        times = self.clock.time_of(list(self.releases))
        cells = [cell for cell, _ in self.releases.values()]
        there = self.place.cell_at(track["latitude"], track["longitude"], outside="drop")
        return list(track["time"]) == list(times) and there.tolist() == cells

    def sentences(self) -> Iterator[str]:
        """Yield what the certificate means, in words."""
        begin, end = self.clock.time_of([0, self.n_steps]).tz_convert(self.time_zone)
        yield (
            f"{len(self.releases)} places were released for {self.n_steps} steps of "
            f"{in_words(self.clock.length)}, from {begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} "
            f"({self.time_zone})."
        )
        for name, p in self.named():
            what = f"“{name}” ({_short(p.event)})"
            verb = "change" if p.sides == "both" else "rise"
            yield (
                f"About {what}: ε = {p.epsilon:g}. No odds {verb} by more than a factor "
                f"{as_factor(p.epsilon)}: {promise(p.epsilon, sides=p.sides)}."
            )
        yield f"This holds against {adversary_in_words(self.adversary, self.rho)}."
        yield (
            "They may know everything else: the map, how people move (the model below), the "
            "events, ε, the algorithm, and all that was released."
        )
        yield (
            "It does not hold if people move otherwise than the model says, for other events than "
            "the named ones (one day of an event that spans several is another event), or for what "
            "is told elsewhere: a second release of this time, or releases of the time before or "
            "after it."
        )
        yield (
            f"Made with {self.calibration} over {self.mechanism} of budget {self.budget:g} per km "
            f"by {self.made_by}, {self.created}; model {self.model[:16]}…."
        )
        if self.withholds_events:
            yield "The events are withheld, so only their owner can compute the losses again."
        yield from (f"Caveat: {caveat}." for caveat in self.caveats)

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def without_events(self) -> "Certificate":
        """Return the certificate with the events left out and their names replaced by numbers."""
        cells = {step: (cell, None) for step, (cell, _) in self.releases.items()}
        hidden = tuple(Protect(Withheld(), p.epsilon, sides=p.sides) for p in self.protections)
        return replace(self, protections=hidden, releases=cells)

    def save(self, path: str | Path) -> None:
        """Write the certificate as JSON; it is moved into place when it is whole."""
        with aside(path) as partial:
            partial.write_text(self.to_text(), encoding="utf-8")

    def to_text(self) -> str:
        """Return the certificate as JSON, a line for each release."""
        content = self.to_json()
        releases = [json.dumps(release) for release in content.pop("releases")]
        head = json.dumps(content, ensure_ascii=False, indent=1)[: -len("\n}")]
        return head + ',\n "releases": [\n  ' + ",\n  ".join(releases) + "\n ]\n}\n"

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "certificate": FORMAT,
            "protections": [
                {"name": name, "epsilon": p.epsilon, "sides": p.sides}
                | ({} if self.withholds_events else {"event": event_json.to_json(p.event)})
                for name, p in self.named()
            ],
            "adversary": self.adversary,
            "rho": self.rho,
            "mechanism": self.mechanism,
            "budget_per_km": self.budget,
            "calibration": self.calibration,
            "map": {
                "rows": self.place.grid.rows,
                "columns": self.place.grid.columns,
                "cell_size_km": self.place.grid.cell_size,
                "latitude": self.place.latitude,
                "longitude": self.place.longitude,
            },
            "time_zone": self.time_zone,
            "start": self.clock.start.isoformat(),
            "step_seconds": self.clock.length.total_seconds(),
            "steps": self.n_steps,
            "model": self.model,
            "caveats": list(self.caveats),
            "made_by": self.made_by,
            "created": self.created,
            "meaning": list(self.sentences()),
            "releases": [
                {"step": step, "cell": cell}
                | ({} if column is None else {"tickets": _tickets(column)})
                for step, (cell, column) in self.releases.items()
            ],
        }

    @classmethod
    def load(cls, path: str | Path) -> "Certificate":
        """Read a certificate back."""
        path = Path(path)
        content = plain_json.read(path, MAX_MARKUP_BYTES, CertificateError, "a certificate")
        if not isinstance(content, dict) or content.get("certificate") != FORMAT:
            raise CertificateError(
                f"{path.name} is not a certificate of format {FORMAT}, the one this version reads"
            )
        with refusing(f"{path.name} does not hold a certificate", CertificateError):
            return cls._from_json(content)

    @classmethod
    def _from_json(cls, content: dict[str, Any]) -> "Certificate":
        plan = content["map"]
        grid = Grid(plan["rows"], plan["columns"], plan["cell_size_km"])
        place = LocalMap(grid, plan["latitude"], plan["longitude"])
        releases = {
            r["step"]: (r["cell"], _column(r["tickets"], grid.n_cells) if "tickets" in r else None)
            for r in content["releases"]
        }
        if len(releases) != len(content["releases"]):
            raise CertificateError("a step is released twice")
        step = positive(content["step_seconds"], "step_seconds", CertificateError)
        return cls(
            tuple(
                Protect(
                    event_json.from_json(p["event"]) if "event" in p else Withheld(),
                    p["epsilon"],
                    sides=p["sides"],
                    name=checked(p["name"], "a protection", CertificateError),
                )
                for p in content["protections"]
            ),
            content["adversary"],
            content["rho"],
            content["mechanism"],
            positive(content["budget_per_km"], "budget_per_km", CertificateError),
            content["calibration"],
            place,
            content["time_zone"],
            Clock(pd.Timestamp(content["start"]), pd.Timedelta(seconds=step)),
            content["steps"],
            content["model"],
            releases,
            tuple(_sentence(caveat) for caveat in content["caveats"]),
            content["made_by"],
            content["created"],
        )


def _tickets(column: Array) -> int | list[int]:
    """Return a column in 2^53rds; one number if it is the same from every cell."""
    tickets: list[int] = (column * TICKETS).astype(np.int64).tolist()
    return tickets[0] if len(set(tickets)) == 1 else tickets


def _column(tickets: Any, n_cells: int) -> Array:
    several = tickets if isinstance(tickets, list) else [tickets]
    if len(several) not in (1, n_cells) or not all(
        is_whole(ticket) and 0 <= ticket <= TICKETS for ticket in several
    ):
        raise CertificateError(f"tickets must be {n_cells} whole numbers of 0 to 2^53, or one")
    return np.broadcast_to(np.array(several, dtype=np.int64) / TICKETS, (n_cells,))


def _sentence(text: object) -> str:
    """Return a sentence of a certificate that can be printed, on one line."""
    if not isinstance(text, str) or len(text) > 1000 or not text.isprintable():
        raise CertificateError(f"a caveat is a sentence that can be printed, got {shown(text)}")
    return text


def in_words(length: pd.Timedelta) -> str:
    """Return a length of time as people say it."""
    minutes = length.total_seconds() / 60
    return f"{minutes:g} minutes" if minutes < 120 else f"{minutes / 60:g} hours"


def _short(event: Event) -> str:
    text = repr(event)
    return text if len(text) <= 90 else text[:87] + "…"
