"""The worst-case check for one ε beside global solvers."""

from collections import Counter
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.measure import seconds
from benchmarks.paper_run import EPSILON, GRID, tested_vectors
from benchmarks.peers.compare import Found, Row, row
from benchmarks.peers.programs.verdicts import SECONDS
from benchmarks.peers.talk import Conversation
from priste.evidence import FourVectors
from priste.worst_case import is_within

INSTANCES = 12
TIME = 30.0  # seconds a solver may spend on one kind of work before no further instance is begun
SAME, OTHER, FAILED = "our verdict", "another", "failed"
NONE = f"none (the limit is {SECONDS:g} s a solve)"
EVERY = (4, 1)
"""Beliefs on every fourth cell, which the smallest licence allows, and on every cell."""


@cache
def instances() -> list[FourVectors]:
    """Return what runs of the published loop really test, in an order that mixes the runs."""
    tested = [
        vectors
        for seed, (sigma, budget) in enumerate([(1.0, 0.5), (3.0, 1.0), (10.0, 2.0)])
        for vectors in tested_vectors(sigma, budget, seed, steps=4)
    ]
    chosen = np.random.default_rng(0).permutation(len(tested))[:INSTANCES]
    return [tested[k] for k in chosen]


@cache
def problem() -> dict[str, Any]:
    """Return the rows (p, q, β, δ) of each instance.

    The cells are weighed by 1 / √(b + d), which changes no sign and lets a solver see them all.
    """
    rows = []
    for a, not_a, b, d, exponents in instances():
        scale = np.exp2(exponents - exponents.max())
        b, d = b * scale, d * scale
        unit = np.sqrt(np.where(b + d > 0, b + d, 1.0))
        rows.append(np.array([a, not_a, b, d]) / unit)
    return {"rows": np.array(rows), "bound": np.exp(EPSILON)}


def compare(peer: Conversation) -> Found:
    forms = {"whole": "one dense matrix", "factors": "two products of sums"}
    return Found([_row(peer, form, forms[form], every) for every in EVERY for form in forms], [])


def _row(peer: Conversation, form: str, words: str, every: int) -> Row:
    outcomes: Counter[str] = Counter()
    ours, theirs, spent, error = [], [], 0.0, ""
    for k, vectors in enumerate(instances()):
        if spent > TIME or outcomes == Counter({FAILED: 3}):  # as where a licence refuses
            break
        some = FourVectors._make(np.ascontiguousarray(vector[::every]) for vector in vectors)
        work = partial(is_within, some, EPSILON)
        verdict = work()  # compiled and warm
        taken = seconds(work, 20)
        answer = peer.ask(form, k, every)
        spent += answer.seconds
        error = answer.error or error
        if answer.error:
            outcome = FAILED
        elif answer.value is None:
            outcome = NONE
        else:
            outcome = SAME if answer.value == verdict else OTHER
        outcomes[outcome] += 1
        if outcome in (SAME, NONE):
            ours.append(taken)
            theirs.append(answer.seconds)
    said = ", ".join(f"{outcome} on {count}" for outcome, count in outcomes.items())
    agreement = f"{outcomes.total()} instances: {said}" + f" ({error})" * bool(error)
    what = f"worst-case check, {GRID.n_cells // every} beliefs, given as {words}"
    return row(what, ours, theirs, agreement, at_least=outcomes[NONE] > 0)
