"""A person's stream while it runs: what is public, the next plan, and the steps as they end."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from priste.errors import EventsFileError
from priste.mechanisms import PlanarLaplace
from priste.serve.payloads import Fix
from priste.serve.store import Released, Resting
from priste.stream import Account
from priste.stream.parts import default_calibration
from priste.tracks.adversary import Adversary
from priste.tracks.certificate import Certificate
from priste.tracks.certificate_file import digest_of, to_text
from priste.tracks.model import Model
from priste.tracks.places import LocalMap
from priste.tracks.steps import Clock
from priste.tracks.stream_file import from_bytes, to_bytes
from priste.tracks.track_stream import TrackStream
from priste.tracks.windows import day_start

AT_MIDNIGHT = pd.Timedelta(0)


class ClosedDay(NamedTuple):
    """What is kept of a day: the certificate of its steps, and the stream as it goes on."""

    stream: int
    number: int
    steps: range
    certificate: bytes
    state: bytes
    account: Account
    """The account as the next day begins."""
    remark: str
    """Why what the events file says now is not asked for, if it is not."""


def begun(
    now: pd.Timestamp, model: Model, events: Path, adversary: Adversary, budget: float
) -> TrackStream:
    """Return a new stream of a person, from the next step on; steps are counted from midnight."""
    noise = PlanarLaplace(model.place.grid, budget)
    calibration = default_calibration(noise, len(model.mobilities))
    midnight = day_start(now, model.time_zone)
    start = midnight - (midnight - now) // model.step * model.step
    stream = TrackStream.begin(start, model, adversary, noise, calibration)
    return stream.asking(events, _day_after(stream))


def _asking(stream: TrackStream, events: Path) -> tuple[TrackStream, str]:
    """Return the stream with what a file asks for; or as it is, and why.

    What was asked for before stays promised: a week of it is laid out already.
    """
    try:
        return stream.asking(events, _day_after(stream)), ""
    except (EventsFileError, OSError) as error:
        return stream, str(error)


def _day_after(stream: TrackStream) -> int:
    """Return the first step that begins on the local day after that of the next step."""
    begins = stream.clock.time_of([stream.step])[0]
    tomorrow = day_start(begins, stream.model.time_zone, later=1)
    return int(-((stream.clock.start - tomorrow) // stream.clock.length))


class LiveStream:
    """A stream in memory. Its steps end in order, each once.

    `tick` goes on whether or not the caller manages to keep what it returns: who cannot keep it
    must try again with the same, or end and wake the stream from what was kept.
    """

    def __init__(
        self, resting: Resting, name: str, after_midnight: pd.Timedelta = AT_MIDNIGHT
    ) -> None:
        """Wake a stream whose days are certified so long after midnight, in whole steps."""
        self.id = resting.id
        self._after_midnight = after_midnight
        self._begin_day(from_bytes(resting.state, name))
        for step in range(self._track.step, resting.step + 1):
            self._take(step, resting.releases.get(step))

    def _begin_day(self, track: TrackStream) -> None:
        self._track, self._protector = track, track.protector()
        self._day_ends = _day_after(track) + int(self._after_midnight // track.clock.length)
        self._releases: dict[int, Released] = {}
        self._largest: dict[str, float] = {}

    def __repr__(self) -> str:
        return f"<LiveStream {self.id}, next step {self.step}>"

    @property
    def step(self) -> int:
        """The step that ends next."""
        return self._protector.step

    @property
    def place(self) -> LocalMap:
        """The map, as it is handed to another process: without what was computed from it."""
        place = self._track.model.place
        return replace(place, grid=replace(place.grid))

    @property
    def clock(self) -> Clock:
        """When steps begin."""
        return self._track.clock

    @property
    def model(self) -> str:
        """The fingerprint of the model."""
        return self._track.model.fingerprint

    def account(self) -> Account:
        """Return the state of every event: what it was charged, what it has left."""
        return self._protector.account()

    def plan(self) -> None:
        """Make the plan of the next step, from public things alone."""
        self._protector.plan()

    def tick(self, fix: Fix | None) -> Released | None:
        """End the next step: release the cell of its fix, or nothing if there is none."""
        step = self.step
        if fix is None:
            self._take(step, None)
            return None
        place = self._track.model.place
        (cell,) = place.cell_at([fix.latitude], [fix.longitude], outside="clamp")
        release = self._protector.release(int(cell))
        self._keep(step, (release.cell, release.column), release.private.losses)
        return release.cell, release.column

    def _take(self, step: int, released: Released | None) -> None:
        """Go on as after a step whose release is known."""
        if released is None:
            self._protector.skip()
        else:
            self._keep(step, released, self._protector.repeat(released[1]))

    def _keep(self, step: int, released: Released, losses: dict[str, float]) -> None:
        self._releases[step] = released
        for name, loss in losses.items():
            self._largest[name] = max(loss, self._largest.get(name, loss))

    @property
    def is_day_over(self) -> bool:
        """Whether a day is to be certified before the next step."""
        return self.step >= self._day_ends

    def close_day(self, events: Path) -> ClosedDay:
        """Certify the day that is over, and ask for the events of the coming week."""
        before, protector = self._track, self._protector
        certificate = Certificate.of(
            protector,
            self._releases,
            self._largest,
            before.model,
            before.clock,
            self.step - before.step,
            before.adversary,
            link=before.link(protector.state),
        )
        after, remark = _asking(before.after(protector, digest_of(certificate)), events)
        steps = range(before.step, self.step)
        text = to_text(certificate).encode()
        state, account = to_bytes(after), after.account()
        self._begin_day(after)
        return ClosedDay(self.id, after.number, steps, text, state, account, remark)

    def remark(self, events: Path) -> str:
        """Say why an events file can ask for nothing on this stream; nothing if it can."""
        return _asking(self._track, events)[1]
