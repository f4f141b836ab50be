"""One protection under one mobility model, from when it is asked for until it is settled."""

from dataclasses import dataclass, replace

from priste.checks import Array
from priste.evidence import EventModel, Evidence
from priste.protection import Protect
from priste.stream.account import Entry, State
from priste.stream.beliefs import CHARGE, Beliefs, distance, normalised
from priste.worst_case import is_within, survives_disclosure, worst_case


@dataclass(frozen=True, eq=False)
class Watched:
    """A protection that waits until step `begins`, or is live and has evidence."""

    protection: Protect
    name: str
    model: int
    begins: int
    activation: float = 0.0
    merging: float = 0.0
    reserve: float = 0.0
    evidence: Evidence | None = None

    def __repr__(self) -> str:
        return f"Watched({self.name!r}, {self.entry().state}, from step {self.begins})"

    @property
    def is_waiting(self) -> bool:
        """Whether nothing is tracked of it yet."""
        return self.evidence is None

    @property
    def rows(self) -> int:
        """How many beliefs are tracked."""
        return 0 if self.evidence is None else len(self.evidence.a)

    @property
    def since_the_start(self) -> Evidence | None:
        """The evidence for each belief since the start of the stream, if that is tracked."""
        return None if self.activation or self.merging else self.evidence

    @property
    def promise(self) -> Protect:
        """What the releases must keep while it is live: the protection with what is left of ε.

        Of an event that waited as much as its activation may cost is held back until it is over,
        so that it is settled before its odds are known to the last digit.
        """
        if not self.activation and not self.merging:
            return self.protection
        return replace(self.protection, epsilon=self.left - self.reserve)

    @property
    def left(self) -> float:
        """What the charges leave of ε."""
        return self.protection.epsilon - self.activation - self.merging

    def arrive(self, step: int) -> "Watched":
        """Return it at `step`, before its release."""
        if self.evidence is None or self.evidence.step == step:  # asked for a moment ago
            return self
        return replace(self, evidence=self.evidence.advance())

    def activated(self, beliefs: Beliefs) -> "Watched":
        """Return it live: from now on its odds are followed, starting from today's beliefs."""
        model = EventModel(self.protection.event, beliefs.mobility, first=beliefs.step)
        weights = beliefs.normalised()
        a, not_a = (weights @ chance for chance in model.chances)
        evidence = Evidence.of(model, a, not_a, weights, beliefs.exponents[: len(weights)] * 0)
        return replace(self, evidence=evidence, merging=beliefs.charge)

    def merged(self, most: float) -> "Watched":
        """Return it with one past for all beliefs if that costs at most `most`, or as it is.

        The beliefs may be anything between multiples of one, of worlds and states together. What
        was released must leave room for the charge.
        """
        evidence = self.evidence
        if evidence is None or self.merging or len(evidence.a) <= 2:
            return self
        if not ((evidence.a > 0) & (evidence.not_a > 0)).all():
            return self  # some belief leaves nothing open
        rows = normalised(evidence.tensor.reshape(len(evidence.a), -1))
        centre = rows.mean(axis=0)
        charge = CHARGE * distance(rows, centre)
        if charge > most or charge + self.reserve >= self.left:
            return self
        one = evidence.merged(centre.reshape(evidence.tensor.shape[1:]))
        merged = replace(self, merging=charge, evidence=one)
        return merged if merged.is_kept else self

    @property
    def is_kept(self) -> bool:
        """Whether what was released so far keeps the promise."""
        if self.evidence is None:
            return True
        vectors, promise = self.evidence.four_vectors(), self.promise
        return is_within(vectors, promise.epsilon, sides=promise.sides)

    def observe(self, column: Array) -> "Watched":
        """Return it after a release whose probability from each cell is `column`."""
        if self.evidence is None:
            return self
        return replace(self, evidence=self.evidence.observe(column))

    @property
    def is_settled(self) -> bool:
        """Whether no later release can break the promise, not even the truth."""
        evidence = self.evidence
        if evidence is None or evidence.step < evidence.model.worlds.last_step:
            return False
        return survives_disclosure(evidence, self.left, sides=self.protection.sides)

    def moved(self) -> float:
        """Return how far the odds can have moved by now, at most."""
        if self.evidence is None:
            return self.activation
        loss = worst_case(self.evidence.four_vectors(), sides=self.protection.sides).loss
        return loss + self.activation + self.merging

    def entry(self, settled_at: int | None = None) -> Entry:
        """Return its line in the account."""
        state: State = "waiting" if self.evidence is None else "live"
        return Entry(
            self.name,
            state if settled_at is None else "settled",
            self.protection.epsilon,
            self.activation,
            self.merging,
            self.moved() if settled_at is None else self.protection.epsilon,
            self.begins,
            settled_at,
            self.rows if settled_at is None else 0,
            self.model,
        )
