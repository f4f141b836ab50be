"""The largest loss over all beliefs is what exact arithmetic, a global solver and sampling say.

The losses are those of random events, movements and releases against any belief.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from importlib.util import find_spec
from itertools import combinations

import numpy as np
from tests.oracles import condition_in_integers
from tests.strategies import far_apart, near_the_loss, random_event, random_stochastic

from priste import AnyPrior, EventError, Mobility
from priste.checks import Array
from priste.evidence import EventModel, Evidence, FourVectors
from priste.worst_case import is_within, worst_case
from verification.report import Finding, times

MISTAKE = "every loss is a millionth too small"
CLOSE = 1e-8  # relative width of the bracket in exact arithmetic
SOLVER = 0.02  # nats; nearer to the loss the solver's own tolerance decides
SCALE, TOLERANCE = 100.0, 1e-5  # the solver's tolerance is absolute: smaller forms mislead it
PATIENCE = 5.0  # seconds

Rows = list[tuple[Fraction, Fraction, Fraction, Fraction]]


def findings(effort: float, *, mistaken: bool) -> Iterator[Finding]:
    """Compare the losses of a few hundred instances."""
    cases = [(v, worst_case(v).loss) for v in instances(times(400, effort))]
    if mistaken:
        cases = [(vectors, loss * (1 - 1e-6)) for vectors, loss in cases]
    yield in_exact_arithmetic(cases)
    yield turning_point(cases)
    yield among_random_beliefs(cases, times(20_000, effort))
    yield however_far_apart(times(100_000, effort))
    if find_spec("cplex") is None:
        yield Finding("the global optimum of CPLEX", "CPLEX is not installed", None)
    else:
        open_to_all = [case for case in cases if min(case[0].a.min(), case[0].not_a.min()) > 0.01]
        yield by_global_solver(open_to_all[: times(100, effort)])  # no limits: it cannot see them


def instances(count: int) -> Iterator[FourVectors]:
    """Yield four vectors, one row per cell, whose loss is finite and not tiny."""
    random = np.random.default_rng(2)
    found = 0
    while found < count:
        cells, steps = int(random.integers(2, 13)), 4
        event = random_event(random, cells, steps, depth=2)
        mobility = Mobility(random_stochastic(random, (steps, cells, cells)))
        try:
            evidence = Evidence.start(EventModel(event, mobility), AnyPrior()).refuse_foregone()
        except EventError:
            continue
        for _ in range(int(random.integers(1, steps))):
            evidence = evidence.observe(random.uniform(0.05, 1, cells)).advance()
        vectors = evidence.four_vectors()
        if 0.05 < worst_case(vectors).loss < math.inf:
            found += 1
            yield vectors


def in_exact_arithmetic(cases: list[tuple[FourVectors, float]]) -> Finding:
    """Bracket each loss by the condition on all pairs, decided in fractions without roots."""
    wrong = 0
    for vectors, loss in cases:
        above, below = (Fraction(math.exp(loss * (1 + s * CLOSE))) for s in (1, -1))
        wrong += not holds_exactly(vectors, above) or holds_exactly(vectors, below)
    numbers = f"{wrong} of {len(cases)} losses outside a bracket of {CLOSE:g}, relative"
    return Finding("all pairs of beliefs, in exact fractions", numbers, wrong == 0)


def holds_exactly(vectors: FourVectors, bound: Fraction) -> bool:
    """Tell whether odds change by at most the factor `bound`, either way, for every belief."""
    scale = np.exp2(vectors.exponents - vectors.exponents.max())
    parts = (vectors.a, vectors.not_a, vectors.b * scale, vectors.d * scale)
    a, not_a, b, d = ([Fraction(x) for x in part.tolist()] for part in parts)
    rows, mirrored = zip(a, not_a, b, d, strict=True), zip(not_a, a, d, b, strict=True)
    return all(_rises_at_most(list(side), bound) for side in (rows, mirrored))


def _rises_at_most(rows: Rows, bound: Fraction) -> bool:
    own = [bound * a * d - b * not_a for a, not_a, b, d in rows]
    if min(own) < 0:
        return False
    for (i, (a, not_a, b, d)), (j, (a_, not_a_, b_, d_)) in combinations(enumerate(rows), 2):
        twice = bound * (a * d_ + d * a_) - (b * not_a_ + not_a * b_)
        if twice < 0 and twice * twice > 4 * own[i] * own[j]:
            return False
    return True


def turning_point(cases: list[tuple[FourVectors, float]]) -> Finding:
    """Compare the test for one ε with the loss: it passes just above it and nowhere below."""
    wrong = sum(
        not is_within(vectors, loss + 3e-9) or is_within(vectors, loss) for vectors, loss in cases
    )
    numbers = f"{wrong} of {len(cases)} tests change their verdict more than 3e-9 from the loss"
    return Finding("the test for one ε", numbers, wrong == 0)


def however_far_apart(count: int) -> Finding:
    """Compare verdicts on beliefs up to 3,000 binary orders apart with exact integers."""
    random, wrong, passed = np.random.default_rng(5), 0, 0
    for _ in range(count):
        vectors = far_apart(random, 1500)
        epsilon = near_the_loss(random, vectors)
        passes = is_within(vectors, epsilon)
        passed += passes
        decided_at = epsilon if passes else epsilon - 3e-9
        wrong += passes != condition_in_integers(vectors, decided_at)
    numbers = f"{wrong} of {count:,} verdicts wrong; {passed:,} say “within”"
    return Finding(
        "beliefs up to 3,000 binary orders apart, in exact integers", numbers, wrong == 0
    )


def among_random_beliefs(cases: list[tuple[FourVectors, float]], beliefs: int) -> Finding:
    """Look for a belief that suffers more: some spread out, most on a few cells."""
    random, excess = np.random.default_rng(3), -math.inf
    for vectors, loss in cases:
        spread = 10 ** random.uniform(-2, 1, (beliefs, 1))
        weights = random.standard_gamma(spread, (beliefs, len(vectors.a)))
        weights = weights[weights.sum(axis=1) > 0]
        excess = max(excess, float(np.nanmax(losses(weights, vectors))) - loss)
    numbers = f"{beliefs:,} beliefs for each of {len(cases)} losses, largest excess {excess:.1e}"
    return Finding("random beliefs", numbers, excess <= 1e-9)


def losses(weights: Array, vectors: FourVectors) -> Array:
    """Return how far the odds of each belief move."""
    scale = np.exp2(vectors.exponents - vectors.exponents.max())
    with np.errstate(divide="ignore", invalid="ignore"):
        after = (weights @ (vectors.b * scale)) / (weights @ (vectors.d * scale))
        before = (weights @ vectors.a) / (weights @ vectors.not_a)
        return np.asarray(np.abs(np.log(after) - np.log(before)))


def by_global_solver(cases: list[tuple[FourVectors, float]]) -> Finding:
    """Ask for the global minimum of the form, with ε a little above and below the loss."""
    from tests.cplex_oracle import NoOptimum, balanced_form, smallest_value

    def least(vectors: FourVectors, epsilon: float) -> float:
        a, not_a, b, d, exponents = vectors
        scale = np.exp2(exponents - exponents.max())
        rising = balanced_form(a, not_a, b * scale, d * scale, epsilon)
        falling = balanced_form(not_a, a, d * scale, b * scale, epsilon)
        forms = SCALE * rising, SCALE * falling
        return min(smallest_value(form, seconds=PATIENCE) for form in forms)

    wrong = silent = 0
    for vectors, loss in cases:
        try:
            above, below = least(vectors, loss + SOLVER), least(vectors, loss - SOLVER)
            wrong += above < -TOLERANCE or below > -TOLERANCE
        except NoOptimum:
            silent += 1
    numbers = (
        f"{wrong} of {len(cases) - silent} losses more than {SOLVER} nats from where its "
        f"verdict changes; {silent} without an answer in {PATIENCE:g} s"
    )
    return Finding("the global optimum of CPLEX", numbers, wrong == 0 and 2 * silent <= len(cases))
