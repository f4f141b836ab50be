"""The largest loss over a convex set of beliefs, exactly and without a solver.

For a belief that mixes the vertices with weights π the loss is the logarithm of

    (π·b / π·a) / (π·d / π·not_a)          posterior odds over prior odds.

It stays below ε for every π when the quadratic form with the entries

    G_ij = ½ [ e^ε (a_i d_j + d_i a_j) − (b_i not_a_j + not_a_i b_j) ]

is nowhere negative. Where π·a is held fixed, the condition is linear in π, and a linear program
over the simplex with one more equality has a solution with at most two positive entries. So it is
enough to look at pairs: G_ii ≥ 0 and G_ij ≥ −√(G_ii G_jj). Scaling row i of all four vectors
changes nothing in that, so rows hundreds of binary orders apart are compared in floating point
(`priste.worst_case_kernels`), and rows further apart with exponents of their own
(`priste.worst_case_wide`).

The other side (odds that fall) is the same with (a, b) and (not_a, d) exchanged.
"""

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

from priste import worst_case_kernels as kernels
from priste import worst_case_wide as wide
from priste.accelerator import accelerator, on_processor
from priste.checks import Array, listing, numbers, positive
from priste.errors import EvidenceError
from priste.evidence import Evidence, FourVectors

if TYPE_CHECKING:
    from priste.gpu.device import Gpu

_Thing = TypeVar("_Thing")
_Made = TypeVar("_Made")
Sides = Literal["both", "event"]
"""Bound odds that rise and odds that fall, or (as Definition II.4) only odds that rise."""

GUARD = 1e-9
"""A test for ε is made at ε minus this, so that rounding never lets through what exact
arithmetic would refuse: the error of the form is a few units in the last place of its positive
part, and this much less ε lowers that part a million times more."""

_LAST_GUARD = 1e-10  # the same for disclosures: still a hundred thousand units in the last place

CORES = os.cpu_count() or 1
"""How many threads share the outputs of a step; one where many processes run at once."""

_WORTH_SHARING = 10**7  # pairs to look at before a second thread pays


class WorstCase(NamedTuple):
    """The largest loss, and a belief that attains it.

    The belief puts `weights` on two of the vertices. Where a weight is 0 the loss is a limit: it
    is approached as the weight goes to 0 and not attained.
    """

    loss: float
    rising: bool
    vertices: tuple[int, int]
    weights: tuple[float, float]


def worst_case_loss(
    a: ArrayLike, not_a: ArrayLike, b: ArrayLike, d: ArrayLike, *, sides: Sides = "both"
) -> float:
    """Return the largest loss over all mixtures of the rows of the four vectors.

    The vectors hold, per vertex of the set of beliefs, Pr(E), Pr(¬E), Pr(releases, E) and
    Pr(releases, ¬E); b and d may share any positive factor. The result is in nats, ``inf`` if
    some belief is turned into certainty.
    """
    return worst_case(checked(a, not_a, b, d), sides=sides).loss


def within(
    a: ArrayLike,
    not_a: ArrayLike,
    b: ArrayLike,
    d: ArrayLike,
    epsilon: float,
    *,
    sides: Sides = "both",
) -> bool:
    """Tell whether no mixture of the rows has a loss above `epsilon` (see `worst_case_loss`)."""
    return is_within(checked(a, not_a, b, d), epsilon, sides=sides)


def worst_case(vectors: FourVectors, *, sides: Sides = "both") -> WorstCase:
    """Return the worst belief and its loss."""
    found: list[WorstCase] = []
    p, q, beta, delta, scale, comparable = kernels.scaled(*vectors)
    for rising in _directions(sides):
        if comparable:
            turned = (p, q, beta, delta) if rising else (q, p, delta, beta)
            loss, i, j, ratio = kernels.largest(*turned)
            ratio *= scale[i] / scale[j]  # back from the scaled rows to the beliefs themselves
        else:
            loss, i, j, ratio = wide.largest(wide.rows_of(*vectors, rising))
        weights = (0.0, 1.0) if ratio == math.inf else (1 / (1 + ratio), ratio / (1 + ratio))
        found.append(WorstCase(loss, rising, (i, j), weights))
    return max(found, key=lambda case: case.loss)


def is_within(vectors: FourVectors, epsilon: float, *, sides: Sides = "both") -> bool:
    """Tell whether no belief has a loss above `epsilon`."""
    return bool(kernels.all_hold(*vectors, _bound(epsilon), len(_directions(sides)) == 2))


def is_beyond(
    evidence: Evidence, columns: Array, epsilon: float, *, sides: Sides = "both"
) -> NDArray[np.bool_]:
    """Tell for each emission column whether its release would push some loss above `epsilon`.

    A release that the model deems impossible counts as beyond.
    """
    b, d = _joint(evidence, columns)
    conditions = evidence.a, evidence.not_a, evidence.exponents
    bound, both = _bound(epsilon), len(_directions(sides)) == 2
    failing = (kernels.fails(*conditions, *row, bound, both) for row in zip(b, d, strict=True))
    return np.fromiter(failing, dtype=bool, count=len(b))


def first_beyond(
    evidence: Evidence, emission: Array, epsilon: float, *, sides: Sides = "both", hint: int = 0
) -> int | None:
    """Return an output of `emission` that would push some loss above `epsilon`, or None.

    Outputs with a zero column never occur and are skipped; one that the model deems impossible
    counts as beyond. The `hint` is tested first. The cores share the outputs.
    """
    if gpu := accelerator(evidence.tensor.size):
        return _first_beyond_on(gpu, evidence, emission, epsilon, sides, hint)
    emission = on_processor(emission)
    stop = np.zeros(1, dtype=bool)

    def search(outputs: NDArray[np.intp]) -> int:
        columns = emission if len(outputs) == emission.shape[1] else emission[:, outputs]
        found = _first_failing(evidence, _joint(evidence, columns), epsilon, sides, stop)
        return int(outputs[found]) if found >= 0 else -1

    outputs = np.flatnonzero(emission.any(axis=0))
    if CORES == 1 or len(outputs) * len(evidence.a) ** 2 < _WORTH_SHARING:
        found = search(outputs)
    else:
        found = search(outputs[outputs == hint])
        if found < 0:
            shares = [outputs[k::CORES] for k in range(CORES)]
            found = max(by_all_cores(search, shares))
    return found if found >= 0 else None


def _first_beyond_on(
    gpu: "Gpu", evidence: Evidence, emission: Any, epsilon: float, sides: Sides, hint: int
) -> int | None:
    """Return what `first_beyond` does, the GPU deciding what is clear to it."""
    matrix = gpu.copy_of(emission)
    outputs = np.flatnonzero(gpu.fetched(matrix.any(axis=0)))
    bound, both = _bound(epsilon), len(_directions(sides)) == 2
    for these in (outputs[outputs == hint], outputs):
        found, doubtful = gpu.doubtful(evidence, matrix, bound, both, these)
        if found is None and len(doubtful):
            columns = gpu.fetched(gpu.columns(matrix, doubtful))
            failing = _first_failing(
                evidence, _joint(evidence, columns), epsilon, sides, np.zeros(1, dtype=bool)
            )
            found = int(doubtful[failing]) if failing >= 0 else None
        if found is not None:
            return found
    return None


def all_within(
    evidence: Evidence, b: Array, d: Array, epsilon: float, *, sides: Sides = "both"
) -> bool:
    """Tell whether no loss exceeds `epsilon` after any of several releases.

    Rows of `b` and `d` belong to the releases; one that the model deems impossible counts as
    beyond.
    """
    return _first_failing(evidence, (b, d), epsilon, sides, np.zeros(1, dtype=bool)) < 0


def survives_disclosure(evidence: Evidence, epsilon: float, *, sides: Sides = "both") -> bool:
    """Tell whether no loss would exceed `epsilon` if the state of the step were told outright.

    States that are impossible under every belief do not count. The test is made at ε minus a
    smaller guard, so that what spent all of ε is not refused for ever by its own guard.
    """
    almost = epsilon + GUARD - _LAST_GUARD
    if gpu := accelerator(evidence.tensor.size):
        found = gpu.survives(evidence, _bound(almost), len(_directions(sides)) == 2)
        if found is not None:
            return found
    true, false = evidence.ends
    possible = np.flatnonzero(true.any(axis=0) | false.any(axis=0))
    told = np.ascontiguousarray(true[:, possible].T), np.ascontiguousarray(false[:, possible].T)
    return _first_failing(evidence, told, almost, sides, np.zeros(1, dtype=bool)) < 0


def _first_failing(
    evidence: Evidence,
    joint: tuple[Array, Array],
    epsilon: float,
    sides: Sides,
    stop: NDArray[np.bool_],
) -> int:
    """Return the first row of b and d that has a loss above `epsilon`, or -1."""
    b, d = joint
    a, not_a, exponents = evidence.a, evidence.not_a, evidence.exponents
    both = len(_directions(sides)) == 2
    return int(kernels.first_failing(a, not_a, b, d, exponents, _bound(epsilon), both, stop))


def _joint(evidence: Evidence, columns: Array) -> tuple[Array, Array]:
    """Return the vectors b and d after a release with each of the columns, as rows."""
    true, false = (np.ascontiguousarray((mass @ columns).T) for mass in evidence.masses)
    return true, false


def by_all_cores(work: Callable[[_Thing], _Made], things: Sequence[_Thing]) -> list[_Made]:
    """Return what some work makes of each of some things, which the cores share."""
    with blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(CORES) as pool:
        return list(pool.map(work, things))


@cache
def blas() -> ThreadpoolController:
    """Return the switch for BLAS's own threads, which would fight with ours for the cores."""
    return ThreadpoolController()


def _bound(epsilon: float) -> float:
    # an ε beyond what e^ε can hold is tested as a smaller one
    return math.exp(min(positive(epsilon, "epsilon", EvidenceError) - GUARD, kernels.LARGEST))


def check_sides(sides: object) -> None:
    """Refuse anything but a `Sides`."""
    if sides not in get_args(Sides):
        raise EvidenceError(f"sides must be one of {listing(get_args(Sides))}, got {sides!r}")


def _directions(sides: Sides) -> tuple[bool, ...]:
    check_sides(sides)
    return (True, False) if sides == "both" else (True,)


def checked(a: ArrayLike, not_a: ArrayLike, b: ArrayLike, d: ArrayLike) -> FourVectors:
    """Return the four vectors, refused if they cannot be probabilities of one event."""
    names = {"a": a, "not_a": not_a, "b": b, "d": d}
    arrays = {name: numbers(v, name, EvidenceError, ndim=1) for name, v in names.items()}
    sizes = {name: len(v) for name, v in arrays.items()}
    if len(set(sizes.values())) != 1 or not sizes["a"]:
        raise EvidenceError(f"the four vectors must have one length above 0, got {sizes}")
    _refuse(np.abs(arrays["a"] + arrays["not_a"] - 1) > 1e-9, "a + not_a must be 1")
    if not (arrays["b"] + arrays["d"]).any():
        raise EvidenceError("b and d are all 0: the releases are impossible under every belief")
    _refuse((arrays["a"] == 0) & (arrays["b"] > 0), "b must be 0 where a is 0")
    _refuse((arrays["not_a"] == 0) & (arrays["d"] > 0), "d must be 0 where not_a is 0")
    exponents = np.zeros(sizes["a"], dtype=np.int64)
    return FourVectors(arrays["a"], arrays["not_a"], arrays["b"], arrays["d"], exponents)


def _refuse(wrong: NDArray[np.bool_], rule: str) -> None:
    if wrong.any():
        raise EvidenceError(
            f"{rule}, which fails in row(s) {listing(np.flatnonzero(wrong).tolist())}"
        )
