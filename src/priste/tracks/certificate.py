"""A certificate: what is promised, to whom, under which model. Everything in it is public.

It holds, for each release, the probability of what was released from each cell, in tickets of
2^-53. These were chosen from public things alone, so they tell nothing that the releases do not;
and with them anybody who has the model can compute the loss again, without trusting us.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from priste.checks import Array, listing
from priste.dyadic import TICKETS
from priste.errors import CertificateError, PristeError
from priste.events import Event
from priste.mobility import Mobility
from priste.odds import promise
from priste.priors import AnyPrior, KnownPrior, NearPrior, Prior
from priste.protector import Protector, Release
from priste.quantify import posterior_odds, prior_odds, privacy_loss
from priste.tracks import event_json
from priste.tracks.discretise import Clock
from priste.tracks.events_file import NamedProtection
from priste.tracks.model import Model
from priste.tracks.outputs import aside
from priste.worst_case import Sides

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


@dataclass(frozen=True)
class Promise:
    """One promise of a certificate; the event is None where the certificate withholds it."""

    name: str
    epsilon: float
    sides: Sides
    event: Event | None


@dataclass(frozen=True, eq=False)
class Certificate:
    """The public account of a protected track."""

    promises: tuple[Promise, ...]
    adversary: Adversary
    rho: float
    mechanism: str
    calibration: str
    place: dict[str, float]
    clock: Clock
    n_steps: int
    model: str
    releases: dict[int, tuple[int, Array | None]]
    """Per step that has a release: the cell, and its probability from each true cell (None where
    the events are withheld: it tells something of them, and serves nothing without them)."""
    caveats: tuple[str, ...]
    made_by: str
    created: str

    @classmethod
    def of(
        cls,
        protector: Protector,
        releases: Sequence[Release],
        named: Sequence[NamedProtection],
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
        grid = model.place.grid
        return cls(
            tuple(
                Promise(n.name, n.protection.epsilon, n.protection.sides, n.protection.event)
                for n in named
            ),
            adversary,
            rho,
            f"{type(protector.mechanism).__name__}, budget {protector.mechanism.budget:g} per km",
            repr(protector.calibration),
            {
                "rows": grid.rows,
                "columns": grid.columns,
                "cell_size_km": grid.cell_size,
                "latitude": model.place.latitude,
                "longitude": model.place.longitude,
            },
            clock,
            n_steps,
            model.fingerprint,
            {r.step: (r.cell, r.private.column) for r in releases},
            releases[0].caveats if releases else (),
            f"priste {version('priste')}",
            datetime.now(UTC).isoformat(timespec="seconds"),
        )

    @property
    def withholds_events(self) -> bool:
        """Whether the events are left out, so that only their owner can check the promise."""
        return any(promise.event is None for promise in self.promises)

    def columns(self) -> list[Array]:
        """Return one emission column per step; a step without a release tells nothing."""
        silent = np.ones(int(self.place["rows"] * self.place["columns"]))
        columns = [self.releases.get(step, (0, None))[1] for step in range(self.n_steps)]
        return [silent if column is None else column for column in columns]

    def losses(self, model: Model) -> dict[str, Array]:
        """Return the loss of each promise after each step, computed anew from what is public."""
        self._refuse_other(model)
        mobility = model.mobility_from(self.clock.start)
        prior = adversary_prior(self.adversary, mobility, self.rho)
        return {
            p.name: privacy_loss(self._event(p), mobility, self.columns(), prior, p.sides)
            for p in self.promises
        }

    def odds(self, model: Model) -> dict[str, tuple[float, Array]]:
        """Return the odds of who believes the model: before everything, and after each step."""
        self._refuse_other(model)
        mobility = model.mobility_from(self.clock.start)
        return {
            p.name: (
                prior_odds(self._event(p), mobility),
                posterior_odds(self._event(p), mobility, None, self.columns()),
            )
            for p in self.promises
        }

    def _refuse_other(self, model: Model) -> None:
        if model.fingerprint != self.model:
            raise CertificateError(
                "the certificate was made under another model: its fingerprint is "
                f"{self.model[:12]}…, that of the given one {model.fingerprint[:12]}…"
            )

    def _event(self, promise: Promise) -> Event:
        if promise.event is None:
            raise CertificateError(
                f"the certificate withholds what {promise.name!r} is, so nothing can be computed "
                f"about it; ask its owner for one that names the events"
            )
        return promise.event

    def sentences(self) -> Iterator[str]:
        """Yield what the certificate means, in words."""
        end = self.clock.time_of([self.n_steps])[0]
        yield (
            f"{len(self.releases)} places were released for {self.n_steps} steps of "
            f"{_length(self.clock.length)}, from {_moment(self.clock.start)} to {_moment(end)}."
        )
        for p in self.promises:
            what = f"“{p.name}”" + (f" ({_short(p.event)})" if p.event is not None else "")
            sides = "" if p.sides == "both" else " Only odds that rise are bounded."
            yield (
                f"About {what}: ε = {p.epsilon:g}. No odds change by more than a factor "
                f"{np.exp(p.epsilon):.3g}; {promise(p.epsilon)}.{sides}"
            )
        yield f"This holds against {adversary_in_words(self.adversary, self.rho)}."
        yield (
            "They may know everything else: the map, how people move (the model below), the "
            "events, ε, the algorithm, and all that was released."
        )
        yield (
            "It does not hold if people move otherwise than the model says, for events that are "
            "not named, or for what is told elsewhere, such as a second release of the same time."
        )
        yield f"Made with {self.calibration} over {self.mechanism}, by {self.made_by}."
        yield f"Model {self.model[:16]}…, made {self.created}."
        if self.withholds_events:
            yield "The events are withheld, so only their owner can compute the losses again."
        yield from (f"Caveat: {caveat}." for caveat in self.caveats)

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def without_events(self) -> "Certificate":
        """Return the certificate with the events left out and their names replaced by numbers."""
        cells = {step: (cell, None) for step, (cell, _) in self.releases.items()}
        hidden = (
            Promise(f"event {i}", p.epsilon, p.sides, None)
            for i, p in enumerate(self.promises, start=1)
        )
        return Certificate(**(vars(self) | {"promises": tuple(hidden), "releases": cells}))

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
            "promises": [
                {"name": p.name, "epsilon": p.epsilon, "sides": p.sides}
                | ({} if p.event is None else {"event": event_json.to_json(p.event)})
                for p in self.promises
            ],
            "adversary": self.adversary,
            "rho": self.rho,
            "mechanism": self.mechanism,
            "calibration": self.calibration,
            "map": self.place,
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
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except OSError:
            raise CertificateError(f"{path} is not a file that can be read") from None
        except ValueError as error:
            raise CertificateError(f"{path.name} is not a certificate: {error}") from error
        if not isinstance(content, dict) or content.get("certificate") != FORMAT:
            raise CertificateError(
                f"{path.name} is not a certificate of format {FORMAT}, the one this version reads"
            )
        try:
            return cls._from_json(content)
        except (PristeError, KeyError, TypeError, ValueError) as error:
            raise CertificateError(f"{path.name} does not hold a certificate: {error}") from error

    @classmethod
    def _from_json(cls, content: dict[str, Any]) -> "Certificate":
        n_cells = content["map"]["rows"] * content["map"]["columns"]
        return cls(
            tuple(
                Promise(
                    p["name"],
                    p["epsilon"],
                    p["sides"],
                    event_json.from_json(p["event"]) if "event" in p else None,
                )
                for p in content["promises"]
            ),
            content["adversary"],
            content["rho"],
            content["mechanism"],
            content["calibration"],
            content["map"],
            Clock(pd.Timestamp(content["start"]), pd.Timedelta(seconds=content["step_seconds"])),
            content["steps"],
            content["model"],
            {
                r["step"]: (r["cell"], _column(r["tickets"], n_cells) if "tickets" in r else None)
                for r in content["releases"]
            },
            tuple(content["caveats"]),
            content["made_by"],
            content["created"],
        )


def _tickets(column: Array) -> int | list[int]:
    """Return a column in 2^53rds; one number if it is the same from every cell."""
    tickets: list[int] = (column * TICKETS).astype(np.int64).tolist()
    return tickets[0] if len(set(tickets)) == 1 else tickets


def _column(tickets: int | list[int], n_cells: int) -> Array:
    column = np.broadcast_to(np.array(tickets, dtype=np.int64), n_cells) / TICKETS
    if (column < 0).any() or (column > 1).any():
        raise ValueError("tickets must lie between 0 and 2^53")
    return column


def _moment(moment: pd.Timestamp) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _length(length: pd.Timedelta) -> str:
    minutes = length.total_seconds() / 60
    return f"{minutes:g} minutes" if minutes < 120 else f"{minutes / 60:g} hours"


def _short(event: Event) -> str:
    text = repr(event)
    return text if len(text) <= 90 else text[:87] + "…"
