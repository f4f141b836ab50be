"""One protection under one mobility model, from when it is asked for until it is settled."""

from dataclasses import dataclass, replace

from priste.checks import Array
from priste.evidence import EventModel, Evidence
from priste.protection import Protect
from priste.stream.account import Entry, State
from priste.stream.beliefs import Beliefs
from priste.worst_case import survives_disclosure, worst_case


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
    def promise(self) -> Protect:
        """What the releases must keep while it is live: the protection with what is left of ε.

        Of an event that waited as much as its activation may cost is held back until it is over,
        so that it is settled before its odds are known to the last digit.
        """
        if not self.activation:
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
            0 if self.evidence is None or settled_at is not None else len(self.evidence.a),
            self.model,
        )
