"""Whether promises were kept: losses and odds computed again from the releases and the model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, nan
from typing import Generic, Protocol, TypeVar

import numpy as np

from priste.checks import Array
from priste.errors import EvidenceError
from priste.evidence import EventModel, Evidence, FourVectors
from priste.mobility import Mobility
from priste.priors import Prior
from priste.protection import Protect, names_of
from priste.tracks.html_table import html_table
from priste.tracks.names import short
from priste.worst_case import GUARD, worst_case


@dataclass(frozen=True, eq=False, repr=False)
class Verdict:
    """What the releases tell about one event.

    After each step, `rising` and `falling` are how far the odds of any observer the promise is
    about can have risen and fallen, in nats, with whichever habits of the model. `before` and
    `after` are the odds of an observer who believes the first of them: they show what the model
    says about the person.
    """

    name: str
    protection: Protect
    rising: Array
    falling: Array
    before: float
    after: Array

    @property
    def losses(self) -> Array:
        """The loss after each step, in the directions that the promise bounds."""
        if self.protection.sides == "event":
            return self.rising
        return np.maximum(self.rising, self.falling)

    @property
    def largest(self) -> float:
        """The largest loss of all steps."""
        return float(self.losses.max())

    @property
    def worst_step(self) -> int:
        """The first step at which the loss is largest."""
        return int(self.losses.argmax())

    @property
    def kept(self) -> bool:
        """Whether the loss stayed within ε."""
        return self.largest <= self.protection.epsilon + GUARD

    def __str__(self) -> str:
        return (
            f"“{self.name}”: promised {self.protection.epsilon:g}, largest loss "
            f"{self.largest:.4f} at step {self.worst_step}: {'kept' if self.kept else 'NOT KEPT'}"
        )

    def __repr__(self) -> str:
        kept = "kept" if self.kept else "NOT KEPT"
        return f"<Verdict on “{short(self.name)}”: {kept}, largest loss {self.largest:.4f}>"


class Judgement(Protocol):
    """A promise that was checked."""

    @property
    def name(self) -> str:
        """What the event is called."""

    @property
    def largest(self) -> float:
        """The largest loss of all steps."""

    @property
    def kept(self) -> bool:
        """Whether the loss stayed within ε."""


Judged = TypeVar("Judged", bound=Judgement)


@dataclass(frozen=True, eq=False, repr=False)
class Verdicts(Generic[Judged]):
    """Whether promises are kept, with a verdict on each."""

    verdicts: tuple[Judged, ...]

    @property
    def kept(self) -> bool:
        """Whether every promise was kept."""
        return all(verdict.kept for verdict in self.verdicts)

    @property
    def largest(self) -> dict[str, float]:
        """The largest loss of all steps, by the name of the event."""
        return {verdict.name: verdict.largest for verdict in self.verdicts}

    def __str__(self) -> str:
        return "\n".join(map(str, self.verdicts))

    def __repr__(self) -> str:
        kept = sum(verdict.kept for verdict in self.verdicts)
        return f"<{type(self).__name__}: {kept} of {len(self.verdicts)} promises kept>"


class Check(Verdicts[Verdict]):
    """Whether a certificate is kept, with a verdict on each protection."""

    @property
    def losses(self) -> dict[str, Array]:
        """The loss after each step, by the name of the event."""
        return {verdict.name: verdict.losses for verdict in self.verdicts}

    def _repr_html_(self) -> str:
        rows = [
            (
                verdict.name,
                f"{verdict.protection.epsilon:g}",
                f"{verdict.largest:.4f}",
                "kept" if verdict.kept else "NOT KEPT",
            )
            for verdict in self.verdicts
        ]
        return html_table(("event", "ε", "largest loss", "verdict"), rows)


def check_releases(
    protections: Sequence[Protect],
    mobilities: Sequence[Mobility],
    columns: Sequence[Array],
    prior: Prior,
) -> Check:
    """Return the verdicts on releases with these emission columns, one per step."""
    ways = [_Way(mobility) for mobility in mobilities]
    return Check(
        tuple(
            _worst(tuple(_verdict(name, each, way, columns, prior) for way in ways))
            for name, each in zip(names_of(protections), protections, strict=True)
        )
    )


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict for an observer with whichever habits; the odds are those of the first."""
    rising, falling = (
        np.max([getattr(verdict, side) for verdict in verdicts], axis=0)
        for side in ("rising", "falling")
    )
    return replace(verdicts[0], rising=rising, falling=falling)


@dataclass(frozen=True)
class _AlsoTheModels:
    """The beliefs of a prior, and that of the model after them."""

    prior: Prior
    belief: Array

    def vertices(self, n_cells: int) -> Array:
        return np.vstack([self.prior.vertices(n_cells), self.belief])


class _Way:
    """How people move, and the powers of their one matrix: silence is crossed in leaps."""

    def __init__(self, mobility: Mobility) -> None:
        self.mobility = mobility
        one = mobility.only
        self._powers = [one] if isinstance(one, np.ndarray) else []

    def follow(self, now: Evidence, step: int) -> Evidence:
        """Return the evidence at a later step; nothing is released in between."""
        while now.step < step:
            read = [t for t in now.model.worlds.moves if now.step < t < step]
            exponent = (min([*read, step]) - now.step).bit_length() - 1
            if not exponent or not self._powers:
                now = now.advance()
                continue
            while len(self._powers) <= exponent:
                self._powers.append(self._powers[-1] @ self._powers[-1])
            now = now.leap(now.step + 2**exponent, self._powers[exponent])
        return now


def _verdict(
    name: str, protection: Protect, way: _Way, columns: Sequence[Array], prior: Prior
) -> Verdict:
    """Follow the releases once, for all beliefs together; silence changes no odds."""
    beliefs = _AlsoTheModels(prior, way.mobility.initial)
    now = Evidence.start(EventModel(protection.event, way.mobility), beliefs).refuse_foregone()
    before = _odds(float(now.a[-1]), float(now.not_a[-1]))
    rising, falling, after = [], [], []
    told = [step for step, column in enumerate(columns) if step == 0 or (column != 1).any()]
    for step in told:
        now = way.follow(now, step).observe(columns[step])
        vectors = now.four_vectors()
        after.append(_odds(float(vectors.b[-1]), float(vectors.d[-1])))
        rises = FourVectors(*(values[:-1] for values in vectors))  # type: ignore[arg-type]
        if not (rises.b + rises.d).any():
            raise EvidenceError(f"the model deems the release of step {step} impossible")
        falls = FourVectors(rises.not_a, rises.a, rises.d, rises.b, rises.exponents)
        rising.append(worst_case(rises, sides="event").loss)
        falling.append(worst_case(falls, sides="event").loss)
    last = np.searchsorted(told, np.arange(len(columns)), side="right") - 1
    moved = np.array(rising)[last], np.array(falling)[last]
    return Verdict(name, protection, *moved, before, np.array(after)[last])


def _odds(happened: float, failed: float) -> float:
    if failed > 0:
        return happened / failed
    return inf if happened > 0 else nan
