"""What everybody can know about a protected stream; it depends on the releases alone."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from priste.calibration import Situation, WarmStart
from priste.checks import Array
from priste.errors import ProtectionError
from priste.evidence import EventModel, Evidence
from priste.mechanisms.location_set import LocationSet
from priste.mechanisms.mechanism import Mechanism
from priste.mixture import Mixture
from priste.mobility import Mobility
from priste.priors import Prior
from priste.protection import Protect
from priste.stream.account import Account, Entry
from priste.stream.activation import latest_activation
from priste.stream.beliefs import Beliefs
from priste.stream.share import DEFAULT_ETA
from priste.stream.watched import Watched
from priste.stream.whereabouts import Whereabouts
from priste.worst_case import GUARD, worst_case

_log = logging.getLogger(__name__)

EVERY_MODEL = -1
"""The number of the model of what is tracked for mixtures of all of them."""


@dataclass(frozen=True, eq=False)
class PublicState:
    """The state at `step`: what is tracked of each protection under each model.

    Step -1 is before the stream begins. With `eta` 0 nothing waits, merges or settles.
    """

    mechanism: Mechanism
    mobilities: tuple[Mobility, ...]
    prior: Prior
    eta: float
    beliefs: tuple[Beliefs, ...]
    """What an observer may believe about the state, per model."""
    whereabouts: Whereabouts
    watched: tuple[Watched, ...] = ()
    """The protections that wait or are live, those of one protection adjacent."""
    settled: tuple[Entry, ...] = ()
    step: int = -1
    warm_start: WarmStart | None = None
    least_epsilon: float = inf
    asked: int = 0
    was_exchanged: bool = False
    """Whether the models are not those that the stream began with."""
    mixtures: bool = False
    """Whether promises also hold for observers who hold a mixture of the models; then `eta` is 0,
    for what is revealed about the habits is never forgotten."""

    def __repr__(self) -> str:
        return f"PublicState(step {self.step}, {len(self.live)} of {len(self.watched)} live)"

    @classmethod
    def start(
        cls,
        mobilities: Sequence[Mobility],
        mechanism: Mechanism,
        protections: Sequence[Protect],
        prior: Prior,
        eta: float = DEFAULT_ETA,
        *,
        mixtures: bool = False,
    ) -> "PublicState":
        """Return the state before the first step; models of one protection are adjacent."""
        initial = mechanism.prior if isinstance(mechanism, LocationSet) else None
        beliefs = tuple(Beliefs.start(mobility, prior) for mobility in mobilities)
        whereabouts = Whereabouts.start(mobilities, initial)
        eta = 0.0 if mixtures else eta
        state = cls(
            mechanism, tuple(mobilities), prior, eta, beliefs, whereabouts, mixtures=mixtures
        )
        for protection in protections:
            state = state.adding(protection)
        return state

    @property
    def live(self) -> tuple[Watched, ...]:
        """The protections that are live."""
        return tuple(w for w in self.watched if w.evidence is not None)

    @property
    def protections(self) -> tuple[Protect, ...]:
        """What the releases must keep: the live protections, with what is left of ε."""
        return tuple(w.promise for w in self.live)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The evidence of each live protection."""
        return tuple(w.evidence for w in self.watched if w.evidence is not None)

    def account(self) -> Account:
        """Return what was spent of every ε, and what is left."""
        entries = (*self.settled, *(w.entry() for w in self.watched))
        by_name: dict[str, list[Entry]] = {}
        for entry in entries:
            by_name.setdefault(entry.name, []).append(entry)
        together = [Entry.of_all(of_event) for of_event in by_name.values()]
        together.sort(key=lambda entry: entry.settled_at is None)
        return Account(self.step + 1, tuple(together))

    def adding(self, protection: Protect) -> "PublicState":
        """Return the state with one more protection, whose event begins at the next step or later.

        If the event can wait, it does. Else it is tracked from the next step on: with its exact
        odds since the start of the stream, or, where these are gone because beliefs were merged,
        with a charge for all that was released before.
        """
        step = self.step + 1
        name = protection.name or f"event {self.asked + 1}"
        taken = {w.name for w in self.watched} | {entry.name for entry in self.settled}
        if name in taken:
            raise ProtectionError(f"the stream has an event {name!r} already; give it another name")
        if protection.event.steps[0] < step:
            raise ProtectionError(
                f"{name!r} begins at step {protection.event.steps[0]}, and the next release is "
                f"that of step {step}: an event must be asked for before it begins"
            )
        beliefs = self._next_beliefs()
        added = tuple(self._watch(protection, name, m, b) for m, b in enumerate(beliefs))
        if self.mixtures:
            parts = [w.evidence for w in added if w.evidence is not None]
            mixture = Mixture.of_models(parts)
            if step > 0:
                told = worst_case(mixture.four_vectors(), sides=protection.sides).loss
                if told > protection.epsilon - GUARD:
                    raise _told_too_much(name, protection.epsilon, told)
            added = (replace(added[0], model=EVERY_MODEL, evidence=mixture),)
        return replace(
            self,
            watched=(*self.watched, *added),
            least_epsilon=min(self.least_epsilon, protection.epsilon),
            asked=self.asked + 1,
        )

    def _watch(self, protection: Protect, name: str, model: int, beliefs: Beliefs) -> Watched:
        now, epsilon = beliefs.step, protection.epsilon
        most = self.eta * epsilon
        is_exact = beliefs.distance == 0 and not self.was_exchanged
        if is_exact and most == 0:
            return self._from_the_start(protection, name, model, beliefs)
        activation = latest_activation(protection.event, beliefs.mobility, now, most)
        if is_exact and activation.charge > most:
            return self._from_the_start(protection, name, model, beliefs)
        watched = Watched(protection, name, model, *activation, reserve=most)
        if activation.charge + beliefs.charge + most >= epsilon:
            raise _told_too_much(name, epsilon, activation.charge + beliefs.charge)
        return watched.activated(beliefs) if activation.step == now else watched

    def _from_the_start(
        self, protection: Protect, name: str, model: int, beliefs: Beliefs
    ) -> Watched:
        """Track an event from now on with the odds it had at the start of the stream."""
        _log.debug("an event begins soon: it is followed from step %d on", beliefs.step)
        mobility, now = beliefs.mobility, beliefs.step
        event = EventModel(protection.event, mobility, first=now)
        chances = event.chances
        for step in range(now - 1, -1, -1):
            transition = mobility.transition(step)
            chances = (transition @ chances[0], transition @ chances[1])
        vertices = mobility.states(self.prior.vertices(mobility.n_cells))
        a, not_a = (vertices @ chance for chance in chances)
        evidence = Evidence.of(event, a, not_a, beliefs.weights, beliefs.exponents)
        if now > 0:
            loss = worst_case(evidence.four_vectors(), sides=protection.sides).loss
            if loss > protection.epsilon - GUARD:
                raise _told_too_much(name, protection.epsilon, loss)
        return Watched(protection, name, model, now, evidence=evidence.refuse_foregone())

    def _next_beliefs(self) -> tuple[Beliefs, ...]:
        watched = [w.arrive(self.step + 1) for w in self.watched]
        return tuple(self._carried(m, watched) for m in range(len(self.mobilities)))

    def _carried(self, model: int, watched: Sequence[Watched]) -> Beliefs:
        """Return the beliefs under a model at the next step, where `watched` has arrived.

        An event that is tracked from the start carries them along with it.
        """
        beliefs = self.beliefs[model]
        if self.step < 0:
            return beliefs
        if not beliefs.are_one and not self.was_exchanged:
            for w in watched:
                if w.model == model and w.since_the_start is not None:
                    return beliefs.carried_by(w.since_the_start)
        return beliefs.advance()

    def arrive(self) -> "PublicState":
        """Return the state at the next step, before its release."""
        step, whereabouts = self.step + 1, self.whereabouts
        watched = tuple(w.arrive(step) for w in self.watched)
        beliefs = tuple(self._carried(m, watched) for m in range(len(self.mobilities)))
        if step > 0:
            whereabouts = whereabouts.arrive(self.mobilities, self.step)
        if (
            0 < self.eta * self.least_epsilon < inf
        ):  # without an event nothing says how near is near
            beliefs = tuple(b.merged(self.eta * self.least_epsilon) for b in beliefs)
        arrived = replace(
            self,
            step=step,
            whereabouts=whereabouts,
            beliefs=beliefs,
            watched=tuple(
                w.activated(beliefs[w.model])
                if w.is_waiting and w.begins == step
                else (w.merged(self.eta * w.protection.epsilon) if self.eta > 0 else w)
                for w in watched
            ),
        )
        return (arrived._settling() if self.eta > 0 else arrived)._renumbering(self.live)

    def _renumbering(self, before: tuple[Watched, ...]) -> "PublicState":
        """Return the state with a warm start that fits the protections that are live now."""
        old, new = ([(w.name, w.model, w.rows) for w in live] for live in (before, self.live))
        if self.warm_start is None or old == new:
            return self
        numbers = {k: new.index(each) for k, each in enumerate(old) if each in new}
        return replace(self, warm_start=self.warm_start.renumbered(numbers))

    def _settling(self) -> "PublicState":
        """Return the state without the protections that are settled, under all models at once."""
        still = {w.name for w in self.watched if not w.is_settled}
        done = [w for w in self.live if w.name not in still]
        if not done:
            return self
        watched = tuple(w for w in self.watched if w not in done)
        settled = (*self.settled, *(w.entry(self.step) for w in done))
        return replace(self, watched=watched, settled=settled)

    def situation(self) -> Situation:
        """Return what a calibration may look at before the release."""
        mechanism, belief = self.mechanism, self.whereabouts.cells(self.mobilities)
        if mechanism.follows_belief:
            mechanism = mechanism.for_belief(belief)
        return Situation(mechanism, self.protections, self.evidence, belief, self.warm_start)

    def observe(self, column: Array, warm_start: WarmStart | None) -> "PublicState":
        """Return the state after a release whose probability from each cell is `column`.

        `warm_start` is that of the plan it was drawn from: without it later plans may differ.
        """
        return replace(
            self,
            whereabouts=self.whereabouts.observe(self.mobilities, column),
            beliefs=tuple(b.observe(column) for b in self.beliefs),
            watched=tuple(w.observe(column) for w in self.watched),
            warm_start=warm_start,
        )

    def exchanged(self, mobilities: Sequence[Mobility]) -> "PublicState":
        """Return the state from which on people are taken to move as these models say.

        Live protections keep the model they were activated with until they are settled; what waits
        is laid out anew, and refused if under the new model the past may have told too much.
        """
        if self.mixtures:
            raise ProtectionError(
                "a stream that protects against mixtures of its models keeps these models: what "
                "was released says something about them; begin another stream"
            )
        old, new = self.mobilities, tuple(mobilities)
        if len(old) != len(new) or any(
            not np.array_equal(a.cell_of_state, b.cell_of_state)
            for a, b in zip(old, new, strict=True)
        ):
            raise ProtectionError(
                "a stream goes on with as many models as before, each over the same states; "
                "begin another stream for other maps or orders"
            )
        state = replace(
            self,
            mobilities=new,
            beliefs=tuple(replace(b, mobility=m) for b, m in zip(self.beliefs, new, strict=True)),
            was_exchanged=self.step >= 0,
        )
        at_next = state._next_beliefs()
        watched = tuple(
            w if w.evidence else state._watch(w.protection, w.name, w.model, at_next[w.model])
            for w in self.watched
        )
        return replace(state, watched=watched)._renumbering(self.live)


def _told_too_much(name: str, epsilon: float, told: float) -> ProtectionError:
    much = "anything" if told == inf else f"{told:.3g}"
    return ProtectionError(
        f"{name!r} cannot be protected with ε = {epsilon:g} from here on: what was released before "
        f"may have moved the odds on it by {much}; ask for events earlier, or for a larger ε"
    )
