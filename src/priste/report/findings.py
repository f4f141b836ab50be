"""The numbers of a report, computed once; figures and pages only show them."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from priste.checks import Array
from priste.events import atoms
from priste.protection import Protect
from priste.report.picture import picture
from priste.report.ways import protected_way, usual_ways
from priste.tracks.accuracy import Accuracy
from priste.tracks.certificate import Certificate
from priste.tracks.certificate_check import Verdict
from priste.tracks.cleaning import Account
from priste.tracks.model import Model
from priste.tracks.names import short
from priste.tracks.other_habits import learned_from, realised
from priste.tracks.protect import ProtectedTrack


@dataclass(frozen=True, eq=False, repr=False)
class EventFinding:
    """What a stream reveals about one event.

    After each step, `rising` and `falling` are how far any observer's odds can have risen and
    fallen, in nats. `before` and `after`, the odds of an observer who believes the model, are None
    in a public report: they show what the model says about the person's habits.
    """

    name: str
    protection: Protect
    cells: tuple[int, ...]
    steps: tuple[int, ...]
    losses: Array
    rising: Array
    falling: Array
    before: float | None
    after: Array | None

    @classmethod
    def of(cls, verdict: Verdict, *, private: bool) -> "EventFinding":
        """Return what a check found, without the odds unless the report is private."""
        parts = list(atoms(verdict.protection.event))
        return cls(
            verdict.name,
            verdict.protection,
            tuple(sorted({cell for part in parts for cell in part.cells})),
            tuple(sorted({part.step for part in parts})),
            verdict.losses,
            verdict.rising,
            verdict.falling,
            verdict.before if private else None,
            verdict.after if private else None,
        )

    def __repr__(self) -> str:
        return f"<EventFinding on “{short(self.name)}”: ε = {self.epsilon:g}>"

    @property
    def epsilon(self) -> float:
        """The promised bound."""
        return self.protection.epsilon

    @property
    def worst(self) -> float:
        """The largest loss of all steps."""
        return float(self.losses.max())


@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """Everything a report shows; a public report leaves out what is None."""

    model: Model
    certificate: Certificate
    events: tuple[EventFinding, ...]
    true: dict[int, int] | None = None
    errors: Array | None = None
    """The distance from the fix to what was released, in kilometres, per release."""
    accuracy: Accuracy | None = None
    budgets: dict[int, float] | None = None
    remap: tuple[int, Array] | None = None
    """The first step of the first event, and what each cell would have reported there. It shows
    where the model expects the person."""
    account: Account | None = None
    views: dict[str, Any] | None = None
    """The day as an observer sees it, shared in four ways; see `priste.report.picture`."""

    @classmethod
    def of(
        cls,
        track: ProtectedTrack,
        account: Account | None = None,
        *,
        private: bool = True,
        certificate: Certificate | None = None,
    ) -> "Findings":
        """Return the findings of a protected track; without `private` only what is public.

        `certificate` is the one to show, if not that of the track.
        """
        model = track.stream.model
        certificate = track.certificate if certificate is None else certificate
        verdicts = () if certificate.withholds_events else certificate.check(model).verdicts
        events = tuple(EventFinding.of(verdict, private=private) for verdict in verdicts)
        if not private:
            return cls(model, certificate, events)
        begins = events[0].steps[0] if events else 0
        shown_at = min((step for step in track.emissions if step >= begins), default=None)
        return cls(
            model,
            certificate,
            events,
            {r.step: r.private.true_cell for r in track.releases},
            track.errors,
            track.accuracy,
            {r.step: r.private.budget for r in track.releases},
            None if shown_at is None else (shown_at, track.emissions[shown_at]),
            account,
            _views(track) if events else None,
        )

    def __repr__(self) -> str:
        kind = "private" if self.is_private else "public"
        return f"<Findings on {len(self.events)} events ({kind}) with {self.certificate!r}>"

    @property
    def is_private(self) -> bool:
        """Whether the report shows where the person was."""
        return self.true is not None

    @property
    def released(self) -> dict[int, int]:
        """The released cell of each step that has one."""
        return {step: cell for step, (cell, _) in self.certificate.releases.items()}

    def against_itself(self) -> tuple[Verdict, ...]:
        """Return what an observer concludes who learned the person from these very days."""
        if self.true is None or self.certificate.link is not None or not self.events:
            return ()
        cells = [self.true.get(step) for step in self.certificate.steps]
        return realised([self.certificate], learned_from(cells, self.model)).verdicts

    def times(self, steps: "list[int] | range") -> pd.DatetimeIndex:
        """Return when steps begin, on the wall clock of the model's zone."""
        return self.certificate.clock.time_of(list(steps)).tz_convert(self.model.time_zone)


def _views(track: ProtectedTrack) -> dict[str, Any] | None:
    """Return the views of a day that is protected by itself."""
    if track.certificate.link is not None:
        return None
    stream, noise = track.stream, track.protector.mechanism
    ways = [*usual_ways(stream, track.protections, noise), protected_way(track)]
    return picture(stream, track.protections, ways)
