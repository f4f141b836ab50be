"""A stream of true cells in, a stream of releases out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Self

from priste.calibration import Calibration, Plan
from priste.checks import Array, is_whole
from priste.errors import ProtectionError, StreamFileError
from priste.mechanisms.mechanism import Mechanism
from priste.mobility import Mobility
from priste.priors import Prior
from priste.protection import Protect
from priste.randomness import Randomness, Seed
from priste.stream import Account, PublicState
from priste.stream.parts import Parts
from priste.stream.share import DEFAULT_ETA, checked_eta, eta_for
from priste.stream.state_file import load_state, save_state


@dataclass(frozen=True)
class Diary:
    """What must stay on the device: all of it may depend on where the user was.

    `losses` has, by name, one loss per event that is live: how far the worst belief's odds can
    have moved by now, in nats, under the accounting of the calibration.
    """

    true_cell: int
    budget: float
    attempts: int
    losses: dict[str, float]
    remark: str = ""


@dataclass(frozen=True)
class Release:
    """One step of the protected stream. `step` and `cell` are public, `private` is not.

    `column` is the probability of the released cell from each true cell, as it is accounted for.
    With a calibration that guarantees ε it follows from public things, so anybody may see it; the
    column of `Retry` shows how often the loop ran, and that depends on the true cell.

    `caveats` says in words what this release does not promise, if anything. Do not
    store or send the object itself: a copy of it carries the private part. Send `public()`.
    """

    step: int
    cell: int
    column: Array = field(repr=False, compare=False)
    private: Diary = field(repr=False, compare=False)
    caveats: tuple[str, ...] = ()

    def public(self) -> dict[str, int]:
        """Return what may leave the device."""
        return {"step": self.step, "cell": self.cell}


class Protector:
    """Releases one perturbed cell per step so that the events stay secret.

    No observer whose belief about step 0 lies in `prior`, who knows how people move and everything
    released, sees their odds on a protected event change by more than a factor e^ε. With
    `OptimalRemap` (the default) and `EveryOutput` that holds against an observer who knows the
    algorithm too; with `Retry` it does not.

    By default the belief about step 0 is the mobility's `initial`, a tenth of which may be
    anything: ``NearPrior(mobility.initial, 0.1)``. `AnyPrior` is stronger and costs far more.

    The stream has no end and may begin without events: `add` asks for more as it goes on. An event
    waits until its time comes, is then live, and settled when no later release can break its
    promise; `account` says what was charged for that and what is left. For the right to wait, and
    to follow one belief where all have become alike, an event pays at most a share `eta` of its ε
    each. With ``eta=0``, and with `Retry`, every event is tracked from the start and for ever.

    Several mobility models may be given: the promise then holds for observers who have any one of
    them in mind, all with the same `prior` about the start. With ``mixtures=True`` it also holds
    for those who do not know which is true and learn it from the releases; that is a much harder
    promise. The public belief, which says what releases are useful and which cells a `LocationSet`
    keeps, is that of all models, alike at first, and then of each as far as it foretold the
    releases. The default `prior` is that of the first.

    Random draws come from the operating system; with a `seed` they are reproducible and offer no
    protection against anybody who knows or guesses the seed.
    """

    def __init__(
        self,
        mobility: Mobility | Sequence[Mobility],
        mechanism: Mechanism,
        protections: Protect | Sequence[Protect],
        *,
        prior: Prior | None = None,
        calibration: Calibration | None = None,
        eta: float = DEFAULT_ETA,
        mixtures: bool = False,
        seed: Seed | None = None,
    ) -> None:
        self._run_with(Parts.of(mobility, mechanism, prior, calibration))
        asked = tuple(protections) if isinstance(protections, Iterable) else (protections,)
        if not all(isinstance(p, Protect) for p in asked):
            raise ProtectionError("protections must be Protect(event, epsilon), one or several")
        self.protections = asked
        self._has_moved_on = False
        self.mixtures = bool(mixtures)
        self.eta = eta_for(self.calibration, checked_eta(eta, ProtectionError))
        self.eta = 0.0 if self.mixtures else self.eta
        self._randomness = Randomness(seed)
        self._left = self.beginning()  # the public state after the last step
        self._planned: tuple[PublicState, Plan] | None = None

    def _run_with(self, parts: Parts) -> None:
        self.mobilities, self.mechanism, self.prior, self.calibration = parts

    def __repr__(self) -> str:
        events = "1 event" if len(self.protections) == 1 else f"{len(self.protections)} events"
        calibration = type(self.calibration).__name__
        return f"Protector({events}, {calibration}, next step {self.step})"

    def beginning(self) -> PublicState:
        """Return the public state before the first step, to audit what follows from it."""
        if self._has_moved_on:
            raise ProtectionError(
                "the stream has gone on with other events or models than it began with, or was "
                "loaded; make a Protector as it was at the start to audit it"
            )
        return PublicState.start(
            self.mobilities,
            self.mechanism,
            self.protections,
            self.prior,
            self.eta,
            mixtures=self.mixtures,
        )

    def save(self, path: str | Path) -> None:
        """Write the public state to one file, to go on with later: the whole file or none.

        Nothing in it depends on where the user was, except through what was released. If draws
        come from a seed, it says where they have come to.
        """
        if self.mixtures:
            raise StreamFileError(
                "a stream that protects against mixtures of its models cannot be saved yet"
            )
        save_state(path, self._left, self._parts(), draws=self.draws)

    @classmethod
    def load(
        cls,
        path: str | Path,
        mobility: Mobility | Sequence[Mobility],
        mechanism: Mechanism,
        *,
        prior: Prior | None = None,
        calibration: Calibration | None = None,
        earlier: Iterable[Mobility] = (),
        last_seen: int | None = None,
    ) -> Self:
        """Return a protector that goes on from a saved state, to the bit.

        Everything else must be what the stream ran with when it was saved. Models from before an
        exchange that live events are still tracked with go into `earlier`. `last_seen` is the last
        step known to be released: an older copy of the state would release it again, and is
        refused.
        """
        parts = Parts.of(mobility, mechanism, prior, calibration)
        state, notes = load_state(path, parts, earlier)
        if last_seen is not None and state.step < last_seen:
            raise StreamFileError(
                f"{Path(path).name} is an old copy: it ends with step {state.step}, and step "
                f"{last_seen} has been released; to go on from it would release steps again"
            )
        return cls.at(state, parts.calibration, notes["draws"])

    @classmethod
    def at(
        cls, state: PublicState, calibration: Calibration, draws: Mapping[str, Any] | None
    ) -> Self:
        """Return a protector that goes on from a public state, with draws from where they were."""
        stream = cls.__new__(cls)
        stream._run_with(Parts(state.mobilities, state.mechanism, state.prior, calibration))
        stream.protections = tuple({w.name: w.protection for w in state.watched}.values())
        stream.eta, stream._left, stream._planned = state.eta, state, None
        stream.mixtures = state.mixtures
        stream._has_moved_on = True
        stream._randomness = Randomness.at(draws)
        return stream

    def _parts(self) -> Parts:
        return Parts(self.mobilities, self.mechanism, self.prior, self.calibration)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What releases do not promise, in words."""
        return tuple(self._name_caveats())

    def _name_caveats(self) -> Iterator[str]:
        if not self.calibration.is_guarantee:
            name = type(self.calibration).__name__
            yield f"{name} does not guarantee ε; priste.audit computes what is realised"
        if not self._randomness.is_secure:
            yield "drawn from a seed: reproducible, and no protection against anyone who knows it"

    def add(self, protections: Protect | Sequence[Protect]) -> None:
        """Ask for more events, each before it begins. On an error nothing has changed.

        Which events are asked for, and when, must not depend on where the user is.
        """
        added = tuple(protections) if isinstance(protections, Iterable) else (protections,)
        if not all(isinstance(p, Protect) for p in added):
            raise ProtectionError("add takes one or more Protect(event, epsilon)")
        state = self._left
        for protection in added:
            state = state.adding(protection)
        self._left, self._planned = state, None
        self.protections += added
        self._has_moved_on |= self.step > 0

    def exchange(self, mobility: Mobility | Sequence[Mobility]) -> None:
        """Go on with another model of how people move, for what is not live yet.

        The model must not have been learned from days that this stream protects: what it has seen
        would be a release that nobody accounts for. On an error nothing has changed.
        """
        models = tuple(mobility) if isinstance(mobility, Iterable) else (mobility,)
        self._left, self._planned = self._left.exchanged(models), None
        self.mobilities = models
        self._has_moved_on |= self.step > 0

    def account(self) -> Account:
        """Return the state of every event: what it was charged, what it has left."""
        return self._left.account()

    @property
    def state(self) -> PublicState:
        """The public state after the last step."""
        return self._left

    @property
    def draws(self) -> dict[str, Any] | None:
        """Where the draws of a seed have come to; None if they are secure."""
        return self._randomness.position

    def draw_from(self, randomness: Randomness) -> None:
        """Take further draws from another source."""
        self._randomness = randomness

    @property
    def step(self) -> int:
        """The step of the next release."""
        return self._left.step + 1

    def release(self, true_cell: int) -> Release:
        """Release the next step of the stream. On an error nothing has changed."""
        cell = self._checked(true_cell)
        now, plan = self._next()
        draw = plan.draw(cell, self._randomness)
        after = now.observe(draw.column, plan.warm_start)
        diary = Diary(cell, draw.budget, draw.attempts, self._losses(after), plan.remark)
        release = Release(now.step, draw.output, draw.column, diary, self.caveats)
        self._left, self._planned = after, None
        return release

    def plan(self) -> Plan:
        """Return the plan of the next release; it follows from public things alone."""
        return self._next()[1]

    def _next(self) -> tuple[PublicState, Plan]:
        """Return the state at the next step and its plan, made once."""
        if self._planned is None:
            now = self._left.arrive()
            self._planned = now, self.calibration.plan(now.situation())
        return self._planned

    def skip(self) -> None:
        """Let a step pass without a release.

        When to skip must not depend on where the user is: that would be a release of its own.
        """
        self._left, self._planned = self._left.arrive(), None

    def repeat(self, column: Array) -> dict[str, float]:
        """Go on as after a release that was drawn before, with its column; return the losses.

        Nothing is drawn and no plan is made: what was released stands, whatever would be planned
        today.
        """
        self._left, self._planned = self._left.arrive().observe(column, None), None
        return self._losses(self._left)

    def stream(self, true_cells: Iterable[int | None]) -> Iterator[Release]:
        """Yield the release of each true cell; `None` is a step to skip."""
        for cell in true_cells:
            if cell is None:
                self.skip()
            else:
                yield self.release(cell)

    def _losses(self, state: PublicState) -> dict[str, float]:
        """Return the loss of each live protection, the worst over the models."""
        losses: dict[str, float] = {}
        for watched in state.live:
            losses[watched.name] = max(watched.moved(), losses.get(watched.name, -inf))
        return losses

    def _checked(self, true_cell: object) -> int:
        # the value itself is a secret and stays out of the message
        n_cells = self.mobilities[0].n_cells
        if not is_whole(true_cell):
            problem = f"it is not a whole number but of type {type(true_cell).__name__}"
        elif true_cell < 0 or true_cell >= n_cells:
            problem = "it is negative" if true_cell < 0 else f"it is above {n_cells - 1}"
        else:
            return int(true_cell)
        raise ProtectionError(
            f"the true cell of step {self.step} is not on the map: {problem}; "
            f"cells are 0 to {n_cells - 1} (the value is kept out of this message)"
        )
