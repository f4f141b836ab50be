"""The walk over the tree of sequences that a protector can release."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from priste.auditing.histories import History, Seen, shares
from priste.auditing.result import Audit, Finding
from priste.checks import listing, whole
from priste.errors import AuditError, HistoriesLostError
from priste.evidence import EventModel, Evidence, FourVectors
from priste.mixture import Mixture
from priste.mobility import Mobility
from priste.priors import Prior
from priste.progress import Progress
from priste.protector import Protector
from priste.randomness import Seed, generator
from priste.worst_case import WorstCase, worst_case

LIMIT = 200_000
"""How many hidden states an audit may visit before it is refused."""


class _Worst(NamedTuple):
    """The worst loss of one depth, the odds it moves, and where it was found."""

    loss: float
    odds: tuple[float, float]
    case: WorstCase
    sequence: tuple[int, ...]


class Walk:
    """Walks the tree of sequences and keeps the worst of each depth."""

    def __init__(
        self,
        protector: Protector,
        models: Sequence[Mobility],
        prior: Prior,
        steps: int,
        limit: int,
        progress: Progress,
    ) -> None:
        self.protector = protector
        self.prior = prior
        self.n_models = 1 if protector.mixtures else len(models)
        self.n_copies = len(models) if protector.mixtures else 1
        self.steps = steps
        self.limit = limit
        self.progress = progress
        self.visited = 0
        self.n_sequences = 0
        self.n_exact = steps
        self.protections = [p for p in protector.protections for _ in range(self.n_models)]
        by_model = [
            [Evidence.start(EventModel(p.event, m), prior).refuse_foregone() for m in models]
            for p in protector.protections
        ]
        self.start: tuple[Evidence, ...] = (
            tuple(Mixture.of_models(parts) for parts in by_model)
            if protector.mixtures
            else tuple(part for parts in by_model for part in parts)
        )
        self.worst: list[list[_Worst | None]] = [[None] * steps for _ in self.protections]
        self.total = np.zeros((steps, len(self.start[0].a)))

    def follow_all(self) -> None:
        """Follow every sequence, depth first; what remains to be done is a share of the whole."""
        pending = [(Seen((), [History(self.protector.beginning(), self.start)]), 1.0)]
        done = 0.0
        while pending:
            seen, share = pending.pop()
            children = self._children(seen)
            if not seen.sequence and len(children) ** (self.steps - 1) > self.limit:
                raise self._too_large(0)
            for child in children:
                if len(child.sequence) < self.steps:
                    pending.append((child, share / len(children)))
                else:
                    self.n_sequences += 1
            if len(seen.sequence) == self.steps - 1:
                done += share
                self.progress(done)
        if np.abs(self.total - 1).max() > 1e-6:
            raise AuditError(
                "the probabilities of all sequences do not sum to one: the calibration's "
                "outcomes() are incomplete"
            )

    def follow_some(self, samples: int, seed: Seed | None) -> None:
        """Follow sequences drawn as the algorithm would, and every second time the worst output."""
        random = generator(seed)
        followed = set()
        for sample in range(samples):
            seen = Seen((), [History(self.protector.beginning(), self.start)])
            belief = int(random.integers(len(self.start[0].a)))
            for _ in range(self.steps):
                children = self._children(seen)
                if sample % 2:
                    weights = shares(children, belief)
                    seen = children[random.choice(len(children), p=weights)]
                else:
                    excess = [self._excess(child) + 1e-6 * random.random() for child in children]
                    seen = children[int(np.argmax(excess))]
            followed.add(seen.sequence)
            self.progress((sample + 1) / samples)
        self.n_sequences = len(followed)

    def follow_these(
        self, sequences: list[tuple[int, ...]], histories: int | None, seed: Seed | None
    ) -> None:
        """Follow given sequences, by all hidden histories or from each step by some of them."""
        if not sequences:
            raise AuditError("there are no sequences to follow")
        random = generator(seed)
        for number, sequence in enumerate(sequences, start=1):
            seen = Seen((), [History(self.protector.beginning(), self.start)])
            is_thinned = False
            for step, output in enumerate(sequence):
                children = self._children(seen, only=output)
                if not children and is_thinned:
                    raise HistoriesLostError(
                        f"none of the {histories} hidden histories that were kept leads to "
                        f"{output} at step {step}; take more histories= or another seed="
                    )
                if not children:
                    raise AuditError(
                        f"{self.protector.calibration!r} never releases {output} at step {step} "
                        f"after {listing(sequence[:step]) or 'nothing'}"
                    )
                (seen,) = children
                if (
                    histories is not None
                    and len(seen.histories) > histories
                    and step + 1 < self.steps
                ):
                    self.n_exact = min(self.n_exact, step + 1)
                    seen, is_thinned = seen.thinned(histories, random), True
            self.progress(number / len(sequences))
        self.n_sequences = len(set(sequences))

    def _children(self, seen: Seen, only: int | None = None) -> list[Seen]:
        """Return what can be seen next (or that one output), and note the loss of each."""
        children: dict[int, list[History]] = {}
        for history in seen.histories:
            self.visited += 1
            if self.visited > self.limit:
                raise self._too_large(len(seen.sequence))
            state = history.state.arrive()
            truth = history.truth if state.step == 0 else tuple(e.advance() for e in history.truth)
            plan = self.protector.calibration.plan(state.situation())
            for outcome in plan.outcomes():
                if only is not None and outcome.output != only:
                    continue
                after = History(
                    state.observe(outcome.column, plan.warm_start),
                    tuple(e.observe(outcome.likelihood) for e in truth),
                )
                children.setdefault(outcome.output, []).append(after)
        found = [
            Seen((*seen.sequence, output), histories) for output, histories in children.items()
        ]
        for child in found:
            self._note(child)
        return found

    def _too_large(self, depth: int) -> AuditError:
        return AuditError(
            f"the audit would visit more than {self.limit} hidden states "
            f"({depth} of {self.steps} releases deep); take fewer steps, a smaller map, "
            f"a larger limit=, or samples= for a lower bound"
        )

    def _note(self, seen: Seen) -> None:
        depth = len(seen.sequence) - 1
        self.total[depth] += np.ldexp(*seen.total())
        for i, protection in enumerate(self.protections):
            vectors = seen.vectors(i)
            if not (vectors.b + vectors.d).any():
                continue  # cannot be seen under this model
            case = worst_case(vectors, sides=protection.sides)
            known = self.worst[i][depth]
            if known is None or case.loss > known.loss:
                odds = _odds(case, vectors)
                self.worst[i][depth] = _Worst(case.loss, odds, case, seen.sequence)

    def _excess(self, seen: Seen) -> float:
        """Return how far the worst protection is above its promise after a sequence."""
        excess = [-math.inf]
        for i, protection in enumerate(self.protections):
            vectors = seen.vectors(i)
            if (vectors.b + vectors.d).any():
                loss = worst_case(vectors, sides=protection.sides).loss
                excess.append(min(loss, 1e6) - protection.epsilon)
        return max(excess)

    def result(self, about: tuple[str, ...], *, is_exact: bool) -> Audit:
        """Return the findings, the worst model of each protection."""
        vertices = self.prior.vertices(self.protector.mobilities[0].n_cells)
        vertices = np.tile(vertices, (self.n_copies, 1))  # a row for each model and belief
        findings = []
        for k, protection in enumerate(self.protector.protections):
            rows = self.worst[k * self.n_models : (k + 1) * self.n_models]
            if not all(any(column) for column in zip(*rows, strict=True)):
                raise AuditError("what was released is impossible if people move as truth= says")
            by_step = [
                max((w for w in column if w), key=lambda w: w.loss)
                for column in zip(*rows, strict=True)
            ]
            worst = max(by_step, key=lambda w: w.loss)
            (i, j), (weight_i, weight_j) = worst.case.vertices, worst.case.weights
            findings.append(
                Finding(
                    protection,
                    np.array([w.loss for w in by_step]),
                    tuple(w.odds for w in by_step),
                    worst.sequence,
                    weight_i * vertices[i] + weight_j * vertices[j],
                    is_limit=i != j and min(weight_i, weight_j) == 0,
                )
            )
        name = repr(self.protector.calibration)
        return Audit(name, about, is_exact, self.n_exact, self.n_sequences, tuple(findings))


def checked_sequence(sequence: Sequence[int], steps: int) -> tuple[int, ...]:
    """Return the first steps of a sequence of releases."""
    if len(sequence) < steps:
        raise AuditError(
            f"a sequence of {len(sequence)} releases cannot be followed for {steps} steps"
        )
    return tuple(whole(output, "a release", AuditError, least=0) for output in sequence[:steps])


def _odds(case: WorstCase, vectors: FourVectors) -> tuple[float, float]:
    """Return the odds on the event that the worst belief held before and holds after."""
    pair, weights = list(case.vertices), np.array(case.weights)
    a, not_a = float(weights @ vectors.a[pair]), float(weights @ vectors.not_a[pair])
    before = a / not_a if not_a > 0 else math.inf
    moved = math.exp(min(case.loss, 700.0))
    return before, before * moved if case.rising else before / moved
