"""What an adversary who knows the algorithm really learns.

The audit follows a protector as an algorithm: every sequence of releases that can be seen, with
its true probability from every true path. Where the algorithm has hidden choices (the attempts of
`Retry`), each sequence collects all hidden ways that lead to it. The loss of a sequence is then
that of somebody who knows all this, the worst over the set of beliefs.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

from priste.checks import Array, listing, whole
from priste.errors import AuditError, WaysLostError
from priste.evidence import EventModel, Evidence, FourVectors
from priste.hidden_ways import HiddenWay, Seen, shares
from priste.mobility import Mobility
from priste.odds import as_odds
from priste.priors import Prior
from priste.progress import Progress, progress_line
from priste.protection import Protect
from priste.protector import Protector
from priste.worst_case import WorstCase, worst_case

LIMIT = 200_000
"""How many hidden states an audit may visit before it is refused."""

TOLERANCE = 1e-9
"""How far a realised loss may lie above the promised one by rounding."""


@dataclass(frozen=True, eq=False)
class Finding:
    """What the audit found for one protection.

    ``realised[t]`` is the worst loss after t + 1 releases, ``odds[t]`` the odds on the event that
    the belief which suffers it held before and holds then. `sequence` is the worst sequence of
    all, `belief` the belief over the cells at step 0 that suffers most; where `is_limit`, beliefs
    ever closer to it do.
    """

    protection: Protect
    realised: Array
    odds: tuple[tuple[float, float], ...]
    sequence: tuple[int, ...]
    belief: Array
    is_limit: bool

    @property
    def promised(self) -> float:
        """The ε of the protection."""
        return self.protection.epsilon

    @property
    def excess(self) -> float:
        """By how much the worst loss exceeds the promise; negative if it is kept."""
        return float(self.realised.max()) - self.promised


@dataclass(frozen=True, eq=False)
class Audit:
    """Promised and realised losses, one `Finding` per protection.

    `about` says which other movement or beliefs were asked about, if any.
    `is_exact` says whether every sequence was followed. If not, the realised losses are lower
    bounds: there may be worse sequences among those not seen. After the first `n_exact` releases
    they are estimates, since hidden ways were left out at random.
    """

    algorithm: str
    about: tuple[str, ...]
    is_exact: bool
    n_exact: int
    n_sequences: int
    findings: tuple[Finding, ...]

    @property
    def worst(self) -> Finding:
        """The finding that is furthest above its promise, or least below."""
        return max(self.findings, key=lambda finding: finding.excess)

    @property
    def promised(self) -> float:
        """The promised ε (of the worst finding)."""
        return self.worst.promised

    @property
    def realised(self) -> Array:
        """The worst loss after each release (of the worst finding)."""
        return self.worst.realised

    @property
    def kept(self) -> bool:
        """Whether no loss above its promise was found."""
        return self.worst.excess <= TOLERANCE

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        steps = len(self.findings[0].realised)
        how = "exact, all" if self.is_exact else "sampled, realised losses are lower bounds;"
        if self.n_exact < steps:
            how = f"estimated after {self.n_exact} releases, from some of the hidden ways;"
        yield f"Audit of {self.algorithm} ({how} {self.n_sequences} sequences of {steps} releases)"
        yield from self.about
        for finding in self.findings:
            verdict = "kept" if finding.excess <= TOLERANCE else "NOT KEPT"
            yield f"\n{finding.protection.event!r}: {verdict}"
            yield "  releases  promised  realised   odds of who suffers most, before and after"
            steps_of = zip(finding.realised, finding.odds, strict=True)
            for t, (loss, (before, after)) in enumerate(steps_of, start=1):
                odds = f"{as_odds(before)} → {as_odds(after)}"
                yield f"  {t:8d}  {finding.promised:8.4f}  {loss:8.4f}   {odds}"
            yield f"  worst sequence: {', '.join(map(str, finding.sequence))}"
            likely = np.argsort(-finding.belief, kind="stable")[:6]
            beliefs = ", ".join(
                f"cell {c}: {finding.belief[c]:.3g}" for c in likely if finding.belief[c] > 0
            )
            limit = " (as the limit of beliefs near it)" if finding.is_limit else ""
            yield f"  worst belief at step 0: {beliefs}{limit}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(repr(finding.protection.event))}</td><td>{t}</td>"
            f"<td>{finding.promised:.4f}</td><td>{loss:.4f}</td></tr>"
            for finding in self.findings
            for t, loss in enumerate(finding.realised, start=1)
        )
        head = "".join(f"<th>{h}</th>" for h in ("event", "releases", "promised", "realised"))
        caption = escape(next(self._lines()))
        return f"<table><caption>{caption}</caption><tr>{head}</tr>{rows}</table>"


def audit(
    protector: Protector,
    steps: int,
    *,
    truth: Mobility | None = None,
    prior: Prior | None = None,
    samples: int | None = None,
    sequences: Iterable[Sequence[int]] | None = None,
    ways: int | None = None,
    limit: int = LIMIT,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Return the realised losses of `protector` over its first `steps` releases.

    All sequences are followed, which is exact; if that would visit more than `limit` hidden states
    it is refused. With `samples` that many sequences are followed instead (half drawn as the
    algorithm would, half by always taking the worst output), and losses are lower bounds. So they
    are with `sequences`, which says what was released: those are followed, each to its step
    number `steps`. There, `ways` carries on at most that many hidden ways from a step to the next,
    drawn such that probabilities are right in the mean. From the first step that had more, losses
    are estimates; the largest over several beliefs errs upwards, so ask again for one belief.

    `truth` asks what would be realised if people moved as it says, and not as the protector
    assumes; `prior` asks about another set of beliefs. The protector itself is not changed.
    """
    steps = whole(steps, "steps", AuditError, least=1)
    limit = whole(limit, "limit", AuditError, least=1)
    if ways is not None:
        whole(ways, "ways", AuditError, least=1)
        if sequences is None:
            raise AuditError("ways= thins out the hidden ways to sequences=, which are not given")
    models = protector.mobilities if truth is None else (truth,)
    if any(model.n_cells != protector.mobilities[0].n_cells for model in models):
        raise AuditError(
            f"truth has {models[0].n_cells} cells, the protector's mobility "
            f"{protector.mobilities[0].n_cells}; both must be made for the same map"
        )
    walk = _Walk(
        protector,
        models,
        protector.prior if prior is None else prior,
        steps,
        limit,
        progress or progress_line("audit"),
    )
    if sequences is not None:
        walk.follow_these([_checked_sequence(s, steps) for s in sequences], ways, seed)
    elif samples is None:
        walk.follow_all()
    else:
        walk.follow_some(whole(samples, "samples", AuditError, least=1), seed)
    about = []
    if truth is not None:
        about.append(f"if people moved as {truth!r}, which is not what the protector assumes")
    if prior is not None:
        about.append(f"for beliefs in {prior!r}, which is not what the protector assumes")
    return walk.result(tuple(about), is_exact=samples is None and sequences is None)


class _Worst(NamedTuple):
    """The worst loss of one depth, the odds it moves, and where it was found."""

    loss: float
    odds: tuple[float, float]
    case: WorstCase
    sequence: tuple[int, ...]


class _Walk:
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
        self.n_models = len(models)
        self.steps = steps
        self.limit = limit
        self.progress = progress
        self.visited = 0
        self.n_sequences = 0
        self.n_exact = steps
        self.protections = [p for p in protector.protections for _ in models]
        self.start = tuple(
            Evidence.start(EventModel(p.event, m), prior).refuse_foregone()
            for p in protector.protections
            for m in models
        )
        self.worst: list[list[_Worst | None]] = [[None] * steps for _ in self.protections]
        self.total = np.zeros((steps, len(self.start[0].a)))

    def follow_all(self) -> None:
        """Follow every sequence, depth first; what remains to be done is a share of the whole."""
        pending = [(Seen((), [HiddenWay(self.protector.beginning(), self.start)]), 1.0)]
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

    def follow_some(self, samples: int, seed: int | None) -> None:
        """Follow sequences drawn as the algorithm would, and every second time the worst output."""
        random = np.random.default_rng(seed)
        followed = set()
        for sample in range(samples):
            seen = Seen((), [HiddenWay(self.protector.beginning(), self.start)])
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
        self, sequences: list[tuple[int, ...]], ways: int | None, seed: int | None
    ) -> None:
        """Follow given sequences, by all hidden ways or from each step by some of them."""
        if not sequences:
            raise AuditError("there are no sequences to follow")
        random = np.random.default_rng(seed)
        for number, sequence in enumerate(sequences, start=1):
            seen = Seen((), [HiddenWay(self.protector.beginning(), self.start)])
            is_thinned = False
            for step, output in enumerate(sequence):
                children = self._children(seen, only=output)
                if not children and is_thinned:
                    raise WaysLostError(
                        f"none of the {ways} hidden ways that were carried on leads to {output} at "
                        f"step {step}; take more ways= or another seed="
                    )
                if not children:
                    raise AuditError(
                        f"{self.protector.calibration!r} never releases {output} at step {step} "
                        f"after {listing(sequence[:step]) or 'nothing'}"
                    )
                (seen,) = children
                if ways is not None and len(seen.ways) > ways and step + 1 < self.steps:
                    self.n_exact = min(self.n_exact, step + 1)
                    seen, is_thinned = seen.thinned(ways, random), True
            self.progress(number / len(sequences))
        self.n_sequences = len(set(sequences))

    def _children(self, seen: Seen, only: int | None = None) -> list[Seen]:
        """Return what can be seen next (or that one output), and note the loss of each."""
        children: dict[int, list[HiddenWay]] = {}
        for way in seen.ways:
            self.visited += 1
            if self.visited > self.limit:
                raise self._too_large(len(seen.sequence))
            state = way.state.arrive()
            truth = way.truth if state.step == 0 else tuple(e.advance() for e in way.truth)
            for outcome in self.protector.calibration.outcomes(state.situation()):
                if only is not None and outcome.output != only:
                    continue
                after = HiddenWay(
                    state.observe(outcome.column, outcome.notes),
                    tuple(e.observe(outcome.likelihood) for e in truth),
                )
                children.setdefault(outcome.output, []).append(after)
        found = [Seen((*seen.sequence, output), ways) for output, ways in children.items()]
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


def _checked_sequence(sequence: Sequence[int], steps: int) -> tuple[int, ...]:
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
