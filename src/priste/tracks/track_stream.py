"""A person's protected stream between two deliveries: what is needed to go on, and no true cell."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from priste.calibration import Calibration
from priste.errors import EventsFileError, ProtectionError, TrackError
from priste.mechanisms import Mechanism
from priste.protection import Protect
from priste.protector import Protector
from priste.randomness import Randomness
from priste.storage import event_json
from priste.storage.fingerprint import fingerprint
from priste.stream import Account, PublicState
from priste.stream.share import eta_for
from priste.tracks.adversary import Adversary
from priste.tracks.event_layout import HORIZON, Asked, lay_out
from priste.tracks.link import Link, Standing
from priste.tracks.model import Model
from priste.tracks.recipe import Recipe
from priste.tracks.steps import Clock


@dataclass(frozen=True, eq=False, repr=False)
class TrackStream:
    """A stream of protected days, as it stands after the last of them.

    `protect_track` goes on with it and returns the one after. Everything in it is public but the
    models, which know people's habits.
    """

    models: tuple[Model, ...]
    """The model; before it those that live events are still followed with."""
    adversary: Adversary
    clock: Clock
    calibration: Calibration
    state: PublicState
    asked: Mapping[str, int] = field(default_factory=dict)
    """When each event that is not settled was asked for."""
    laid_until: int = 0
    """The step up to which events are laid out."""
    number: int = 0
    """How many certificates were made."""
    digest: str | None = None
    """The SHA-256 of the last of them."""
    draws: Mapping[str, Any] | None = None
    """Where the draws have come to, if they come from a seed."""

    @classmethod
    def begin(
        cls,
        start: pd.Timestamp,
        model: Model,
        adversary: Adversary,
        mechanism: Mechanism,
        calibration: Calibration,
        seed: int | None = None,
    ) -> "TrackStream":
        """Return a stream that begins with a step at `start`."""
        mobilities = model.mobilities_from(start)
        prior = adversary.prior(model.mobility)
        state = PublicState.start(mobilities, mechanism, (), prior, eta_for(calibration))
        draws = Randomness(seed).position
        return cls((model,), adversary, model.clock(start), calibration, state, draws=draws)

    def __repr__(self) -> str:
        return f"<TrackStream: {self.number} certificates, until {self.end}>"

    @property
    def model(self) -> Model:
        """The model that the stream goes on with."""
        return self.models[-1]

    @property
    def step(self) -> int:
        """The step of the next release."""
        return self.state.step + 1

    @property
    def end(self) -> pd.Timestamp:
        """When the next step begins."""
        return self.clock.time_of([self.step])[0].tz_convert(self.model.time_zone)

    @property
    def protections(self) -> tuple[Protect, ...]:
        """What waits or is live."""
        return tuple({w.name: w.protection for w in self.state.watched}.values())

    def account(self) -> Account:
        """Return the state of every event: what it was charged, what it has left."""
        return self.state.account()

    def protector(self) -> Protector:
        """Return what releases the next steps."""
        return Protector.at(self.state, self.calibration, self.draws)

    def refuse_other(
        self, adversary: Adversary, mechanism: Mechanism, calibration: Calibration
    ) -> None:
        """Refuse to go on with other settings than the stream began with."""
        grid = self.model.place.grid
        settings = (
            ("adversary", self.adversary, adversary),
            ("mechanism", Recipe.of(self.state.mechanism, grid), Recipe.of(mechanism, grid)),
            ("calibration", Recipe.of(self.calibration, grid), Recipe.of(calibration, grid)),
        )
        for name, began, now in settings:
            if began != now:
                raise ProtectionError(
                    f"the stream began with another {name}: {began}, and not {now}; it goes on "
                    f"with what it began with"
                )

    def exchanging(self, model: Model) -> "TrackStream":
        """Return the stream with another model, for what is not live yet."""
        same = (self.model.place, self.model.step, self.model.time_zone)
        if (model.place, model.step, model.time_zone) != same:
            raise ProtectionError(
                "a stream goes on with the map, the step and the zone that it began with; the "
                "other model has others"
            )
        state = self.state.exchanged(model.mobilities_from(self.clock.start))
        return replace(self, state=state, models=self._needed((*self.models, model), state))

    def _needed(self, models: tuple[Model, ...], state: PublicState) -> tuple[Model, ...]:
        """Return the last model, and those before it that a live event is followed with."""
        *earlier, last = models
        if not earlier:
            return models
        used = {fingerprint(each.model.mobility) for each in state.evidence}
        start = self.clock.start
        known = [(each, map(fingerprint, each.mobilities_from(start))) for each in earlier]
        return (*(each for each, habits in known if used & set(habits)), last)

    def asking(self, events: str | Path | Iterable[Protect], end: int) -> "TrackStream":
        """Return the stream with what is asked for until a week after step `end`.

        What was asked for before stays as it was promised.
        """
        until = end + -(-HORIZON // self.clock.length)
        if isinstance(events, str | Path):
            laid = lay_out(events, self.model.place, self.clock, range(self.step, until))
        else:
            laid = [Asked(repr(each.name), each) for each in events]
        state, asked = self.state, dict(self.asked)
        watched = {w.name: w.protection for w in state.watched}
        settled = {entry.name for entry in state.settled}
        for each in laid:
            name = each.protection.name
            if name is None:
                raise ProtectionError("give every protection of a stream a name")
            if name in watched:
                _refuse_changed(each, watched[name])
            elif name not in settled:
                state = self._adding(each, state)
                asked[name] = self.step
        if not state.watched and not settled:
            raise EventsFileError(
                f"no event begins in the first days of the stream, until "
                f"{self.clock.time_of([until])[0]}, so nothing would be protected; begin it later"
            )
        return replace(self, state=state, asked=asked, laid_until=max(until, self.laid_until))

    def _adding(self, each: Asked, state: PublicState) -> PublicState:
        begins = each.protection.event.steps[0]
        if begins < self.step:
            raise EventsFileError(
                f"{each.field} began at {self.clock.time_of([begins])[0]}, and the stream has come "
                f"to {self.end}: an event must be asked for before it begins"
            )
        try:
            return state.adding(each.protection)
        except ProtectionError as error:
            raise EventsFileError(f"{each.field}: {error}") from error

    def link(self, state: PublicState) -> Link:
        """Return the place of the next certificate, whose time ends with `state`."""
        entries = {entry.name: entry for entry in state.account()}
        names = dict.fromkeys(w.name for w in self.state.watched)
        standings = tuple(Standing.of(entries[name], self.asked[name]) for name in names)
        return Link(self.number + 1, self.step, self.state.eta, self.digest, standings)

    def after(self, protector: Protector, digest: str) -> "TrackStream":
        """Return the stream after what a protector released, and the certificate of it."""
        state = protector.state
        return replace(
            self,
            state=state,
            models=self._needed(self.models, state),
            asked={w.name: self.asked[w.name] for w in state.watched},
            number=self.number + 1,
            digest=digest,
            draws=protector.draws,
        )

    def refuse_released(self, first: int) -> None:
        """Refuse days whose first step is released already."""
        if first < self.step:
            start = self.clock.time_of([first])[0].tz_convert(self.model.time_zone)
            raise TrackError(
                f"the days from {start:%Y-%m-%d} on are released already, wholly or partly: the "
                f"stream has come to {self.end:%Y-%m-%d %H:%M}, and to release a step again would "
                f"tell more; take later days (--from)"
            )


def _refuse_changed(each: Asked, before: Protect) -> None:
    if not event_json.same_promise(each.protection, before):
        raise EventsFileError(
            f"{each.field}: “{before.name}” was asked for with another place, time, epsilon or "
            f"sides, and what was promised stays promised; give the changed event another name"
        )
