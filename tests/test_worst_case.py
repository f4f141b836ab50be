import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priste import (
    AnyPrior,
    AnyPriorOn,
    EvidenceError,
    Mobility,
    presence,
    within,
    worst_case_loss,
)
from priste import worst_case_kernels as kernels
from priste.checks import Array
from priste.evidence import EventModel, Evidence, FourVectors
from priste.worst_case import (
    Sides,
    checked,
    first_beyond,
    is_beyond,
    survives_disclosure,
    worst_case,
)
from tests.cplex_oracle import balanced_form, needs_cplex, smallest_value, theorem_checks
from tests.oracles import (
    condition_over_all_pairs,
    joint_by_enumeration,
    loss_of,
    rising_loss_over_edges,
)
from tests.strategies import generators, random_stochastic

Vectors = tuple[Array, Array, Array, Array]


def random_vectors(
    random: np.random.Generator,
    n: int,
    *,
    shift: float = 0.5,
    orders: float = 0.0,
    zeros: float = 0.0,
) -> Vectors:
    """Four vectors whose odds move by about `shift`, likelihoods spread over `orders` of ten.

    With `zeros`, some rows are impossible, some make the event certain and some exclude it.
    """
    a = random.uniform(0.05, 0.95, n)
    a[random.random(n) < zeros / 3] = 0.0
    a[random.random(n) < zeros / 3] = 1.0
    not_a = 1 - a
    likelihood = 10.0 ** -random.uniform(0, orders, n) if orders else random.uniform(0.2, 1, n)
    likelihood[random.random(n) < zeros / 3] = 0.0
    likelihood[random.integers(n)] = 1.0
    rise = np.exp(shift * random.standard_normal(n))
    b, d = likelihood * a * rise, likelihood * not_a
    return a, not_a, b, d


def mirrored(vectors: Vectors) -> Vectors:
    a, not_a, b, d = vectors
    return not_a, a, d, b


KINDS = st.sampled_from(
    [{}, {"orders": 6.0}, {"orders": 150.0}, {"zeros": 0.5}, {"orders": 150.0, "zeros": 0.5}]
)


@settings(max_examples=150)
@given(generators(), st.integers(1, 7), KINDS)
def test_the_loss_is_that_of_the_worst_edge(
    random: np.random.Generator, n: int, kind: dict[str, float]
) -> None:
    vectors = random_vectors(random, n, **kind)
    for side in (vectors, mirrored(vectors)):
        found = worst_case_loss(*side, sides="event")
        expected = rising_loss_over_edges(*side)
        if found == math.inf:
            assert expected > 100
        elif expected == -math.inf:
            assert found == -math.inf
        else:
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    both = worst_case_loss(*vectors)
    assert both == max(
        worst_case_loss(*side, sides="event") for side in (vectors, mirrored(vectors))
    )


@settings(max_examples=60)
@given(generators(), st.integers(2, 60), KINDS)
def test_no_sampled_belief_is_worse_and_the_reported_one_is_as_bad(
    random: np.random.Generator, n: int, kind: dict[str, float]
) -> None:
    vectors = random_vectors(random, n, **kind)
    a, not_a, b, d = vectors
    case = worst_case(checked(*vectors))
    for _ in range(50):
        belief = random.dirichlet(np.full(n, 10 ** random.uniform(-2, 1)))
        if belief @ a > 0 and belief @ not_a > 0 and (belief @ b > 0 or belief @ d > 0):
            assert abs(loss_of(belief, a, not_a, b, d)) <= case.loss * (1 + 1e-12) + 1e-12
    if min(case.weights) > 1e-200 and not kind:
        belief = np.zeros(n)
        np.add.at(belief, list(case.vertices), case.weights)
        loss = loss_of(belief, a, not_a, b, d)
        assert (loss if case.rising else -loss) == pytest.approx(case.loss, rel=1e-9)


@settings(max_examples=100)
@given(generators(), st.integers(1, 40), KINDS)
def test_the_test_for_one_epsilon_turns_over_at_the_loss(
    random: np.random.Generator, n: int, kind: dict[str, float]
) -> None:
    vectors = random_vectors(random, n, **kind)
    loss = worst_case_loss(*vectors)
    if 1e-6 < loss < 500:
        assert within(*vectors, loss + 3e-9)
        assert not within(*vectors, loss)
        assert not within(*vectors, loss * (1 - 1e-7))
    if loss == math.inf:
        assert not within(*vectors, 50.0)


@settings(max_examples=300)
@given(
    generators(),
    st.integers(2, 40),
    st.sampled_from([{}, {"orders": 1.0}, {"orders": 6.0}, {"zeros": 0.5}]),
    st.floats(0.01, 1.0),
    st.floats(0.5, 1.5),
)
def test_no_pair_that_fails_is_passed_over(
    random: np.random.Generator, n: int, kind: dict[str, float], shift: float, around: float
) -> None:
    vectors = random_vectors(random, n, shift=shift, **kind)
    both = worst_case_loss(*vectors)
    single = max(
        kernels.vertex_loss(*(float(part[i]) for part in side))
        for side in (vectors, mirrored(vectors))
        for i in range(n)
    )
    for epsilon in (both * (1 - 1e-6), both * (1 + 1e-6), around * both, single * (1 + 1e-6)):
        if not 0.001 < epsilon < 100 or abs(epsilon - both) < 1e-8:
            continue  # the guard and rounding decide there
        bound = math.exp(epsilon)
        expected = [condition_over_all_pairs(*v, bound) for v in (vectors, mirrored(vectors))]
        assert within(*vectors, epsilon, sides="event") == expected[0]
        assert within(*vectors, epsilon) == all(expected)


@settings(max_examples=60)
@given(generators(), st.integers(2, 6), st.sampled_from([{}, {"orders": 6.0}, {"zeros": 0.5}]))
def test_all_pairs_at_once_are_judged_as_one_by_one(
    random: np.random.Generator, n: int, kind: dict[str, float]
) -> None:
    vectors = random_vectors(random, n, **kind)
    sides = vectors, mirrored(vectors)
    p, q, beta, delta, _, comparable = kernels.scaled(*vectors, np.zeros(n, dtype=np.int64))
    assert comparable
    everyone = np.arange(n)
    for loss in (worst_case_loss(*side, sides="event") for side in sides):
        for epsilon in (loss * (1 - 1e-6), loss * (1 + 1e-6)):
            bound = math.exp(epsilon) if 0.001 < epsilon < 100 else 0.0
            slacks = bound * p * delta - q * beta, bound * q * beta - p * delta
            if min(slack.min() for slack in slacks) < 0:
                continue  # somebody fails alone
            roots, others = (np.sqrt(slack) for slack in slacks)
            rising, falling = (condition_over_all_pairs(*side, bound) for side in sides)
            one, other = (p, q, beta, delta, roots), (q, p, delta, beta, others)
            assert kernels._suspects_hold(*one, everyone, everyone, bound) == rising
            assert kernels._suspects_hold(*other, everyone, everyone, bound) == falling
            both = kernels._all_pairs_hold(*one, others, bound)
            assert both == (rising and falling)


@pytest.mark.parametrize("orders", [0.0, 6.0, 100.0])
def test_the_first_pair_that_fails_is_found(orders: float) -> None:
    n = 140
    vectors = random_vectors(np.random.default_rng(7), n, orders=orders)
    p, q, beta, delta, _, _ = kernels.scaled(*vectors, np.zeros(n, dtype=np.int64))
    loss = worst_case_loss(*vectors, sides="event")
    found = set()
    for share in (0.7, 0.98, 0.9999):
        roots = np.empty(n)
        bound = kernels._roots(p, q, beta, delta, share * loss, roots)
        assert bound == math.exp(share * loss)
        g = bound * p * delta - q * beta
        np.testing.assert_allclose(roots, np.sqrt(np.maximum(g, 0)), rtol=1e-6, atol=1e-7)
        for i in range(0, n, 9):
            rise = bound * (delta[i] * p + p[i] * delta)
            form = rise - beta[i] * q - q[i] * beta + 2 * roots[i] * roots
            assert (np.abs(form) > 1e-12 * rise).all()  # no verdict is up to rounding
            for start in (0, 1, i + 1, 70):
                failing = np.flatnonzero(form[start:] < 0)
                first = start + int(failing[0]) if len(failing) else n
                rows = p, q, beta, delta, bound, roots
                assert kernels._first_failure(*rows, i, start) == first
                found.add(min(first - start, 65))
    assert min(found) < 64 < max(found)  # in the first block and beyond


def judged(
    random: np.random.Generator, sides: Sides
) -> tuple[Evidence, Array, float, list[bool | None]]:
    """Evidence, an emission, an ε, and what enumeration says of each output: None never occurs."""
    event, n = presence({0}, [0, 2]), 3
    transitions = list(random_stochastic(random, (3, n, n)))
    evidence = Evidence.start(EventModel(event, Mobility(transitions)), AnyPrior())
    emission = random_stochastic(random, (n, 7))
    shares = random.uniform(0, 0.6, 7)
    emission = shares * emission + (1 - shares) * emission.mean(axis=0)
    emission[:, random.integers(7)] = 0.0
    epsilon = float(random.uniform(0.05, 0.4))
    starts = list(np.eye(n))
    a, not_a = np.array([joint_by_enumeration(event, transitions, s, []) for s in starts]).T
    verdicts: list[bool | None] = []
    for column in emission.T:
        joint = [joint_by_enumeration(event, transitions, s, [column]) for s in starts]
        b, d = np.array(joint).T
        turned = [(a, not_a, b, d), (not_a, a, d, b)][: 2 if sides == "both" else 1]
        holds = all(condition_over_all_pairs(*v, math.exp(epsilon)) for v in turned)
        verdicts.append(not holds if column.any() else None)
    return evidence, emission, epsilon, verdicts


@pytest.mark.parametrize("sides", ["both", "event"])
@pytest.mark.parametrize("cores", [1, 2, 3])
def test_the_outputs_beyond_epsilon_are_those_that_enumeration_finds(
    cores: int, sides: Sides, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("priste.worst_case.CORES", cores)
    monkeypatch.setattr("priste.worst_case._WORTH_SHARING", 0)
    random, counts = np.random.default_rng(3), set()
    for _ in range(25):
        evidence, emission, epsilon, verdicts = judged(random, sides)
        beyond = [o for o, verdict in enumerate(verdicts) if verdict]
        occurring = [v for v in verdicts if v is not None]
        counts.add(min(len(beyond), 2))
        columns = emission[:, [v is not None for v in verdicts]]
        assert is_beyond(evidence, columns, epsilon, sides=sides).tolist() == occurring
        found = first_beyond(evidence, emission, epsilon, sides=sides)
        assert (found is None) == (not beyond)
        assert found is None or found in beyond
        assert cores > 1 or found == min(beyond, default=None)
        if cores > 1:
            for hint in beyond:
                assert first_beyond(evidence, emission, epsilon, sides=sides, hint=hint) == hint
    assert counts == {0, 1, 2}


def test_an_output_that_nobody_can_have_caused_is_beyond_any_epsilon() -> None:
    model = EventModel(presence({0}, [1]), Mobility(np.full((3, 3), 1 / 3)))
    evidence = Evidence.start(model, AnyPriorOn([0, 1]))
    only_from_2 = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert is_beyond(evidence, only_from_2, 50.0).tolist() == [False, True]
    assert first_beyond(evidence, only_from_2, 50.0) == 1
    faint = np.array([[1.0, 1e-300], [1.0, 1e-300], [1.0, 1e-300]])  # too faint to be sure of
    assert is_beyond(evidence, faint, 50.0).tolist() == [False, True]
    assert first_beyond(evidence, faint[:, :1], 50.0) is None
    only_from_0 = np.array([[0.5], [0.0], [0.0]])  # impossible for some beliefs, not for all
    assert first_beyond(evidence, only_from_0, 50.0) is None


def test_an_output_that_rules_the_event_out_is_beyond_only_where_falling_odds_count() -> None:
    model = EventModel(presence({0}, [0]), Mobility(np.eye(3)))
    evidence = Evidence.start(model, AnyPrior())
    elsewhere = np.array([[0.0], [0.5], [0.5]])
    assert first_beyond(evidence, elsewhere, 5.0) == 0
    assert first_beyond(evidence, elsewhere, 5.0, sides="event") is None


def test_an_epsilon_beyond_all_numbers_lets_every_finite_loss_pass() -> None:
    vectors = random_vectors(np.random.default_rng(0), 5)
    certain = ([0.5, 0.4], [0.5, 0.6], [0.1, 0.1], [0.0, 0.1])
    for epsilon in (150.0, 199.0, 250.0, 1e4, 1e300):
        assert within(*vectors, epsilon)
        assert not within(*certain, epsilon)


@needs_cplex
@pytest.mark.parametrize("seed", range(20))
def test_cplex_agrees_on_both_inequalities_of_theorem_4_1(seed: int) -> None:
    a, not_a, b, d = vectors = random_vectors(np.random.default_rng(seed), 50 + seed)
    losses = [worst_case_loss(*side, sides="event") for side in (vectors, mirrored(vectors))]
    for which, loss in enumerate(losses):
        above = theorem_checks(a, b, b + d, loss + 0.02)[which]
        below = theorem_checks(a, b, b + d, loss - 0.02)[which]
        assert smallest_value(*above) >= -1e-7
        assert smallest_value(*below) < -1e-5
        assert within(*(vectors if which == 0 else mirrored(vectors)), loss + 0.02, sides="event")


@needs_cplex
@pytest.mark.parametrize("kind", [{"orders": 200.0}, {"zeros": 0.3}])
@pytest.mark.parametrize("seed", range(6))
def test_cplex_agrees_on_extreme_likelihoods_and_zeros(seed: int, kind: dict[str, float]) -> None:
    vectors = random_vectors(np.random.default_rng(seed), 30, shift=0.3, **kind)
    for side in (vectors, mirrored(vectors)):
        loss = worst_case_loss(*side, sides="event")
        if loss == math.inf:
            assert smallest_value(balanced_form(*side, 5.0)) < -1e-5
            assert not within(*side, 5.0, sides="event")
        else:
            assert smallest_value(balanced_form(*side, loss + 0.05)) >= -1e-6
            assert smallest_value(balanced_form(*side, loss - 0.05)) < -1e-5


def test_rows_far_below_the_likeliest_are_compared_among_themselves() -> None:
    a = np.array([0.5, 0.62, 0.38])
    b, d = np.array([0.5, 0.62e-200, 0.38e-203]), np.array([0.5, 0.38e-200, 0.62e-203])
    pair = worst_case_loss(a[1:], 1 - a[1:], b[1:], d[1:])
    assert pair == pytest.approx(0.9169, abs=1e-4)
    assert worst_case_loss(a, 1 - a, b, d) == pytest.approx(pair, rel=1e-12)
    assert not within(a, 1 - a, b, d, 0.5)


@settings(max_examples=60)
@given(generators(), st.integers(2, 12), st.sampled_from([0.0, 100.0, 250.0, 295.0]))
def test_another_belief_never_lowers_the_loss(
    random: np.random.Generator, n: int, orders: float
) -> None:
    vectors = random_vectors(random, n, orders=orders)
    kept = np.sort(random.choice(n, size=n - 1, replace=False))
    fewer = worst_case_loss(*(part[kept] for part in vectors))
    assert worst_case_loss(*vectors) >= fewer - 1e-9 * abs(fewer)


@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize(
    ("rare", "seen", "unseen"),
    [(3.72476e-319, 2.14894e-319, 3.60266202e-166), (3.05714e-151, 1.19137e-315, 1.0)],
)
def test_odds_that_floating_point_hardly_holds_lose_no_digit(
    rare: float, seen: float, unseen: float, mirror: bool
) -> None:
    vectors = tuple(np.array([x]) for x in (rare, 1.0, seen, unseen))
    exact = math.log(seen) - math.log(rare) - math.log(unseen)
    found = worst_case_loss(*(mirrored(vectors) if mirror else vectors))  # type: ignore[arg-type]
    assert found == pytest.approx(abs(exact), rel=1e-14)


def test_a_large_loss_of_an_unlikely_belief_is_finite() -> None:
    a = np.array([0.25, 0.5])
    d = (1 - a) * [2.0**-573, 1.0]
    case = worst_case(FourVectors(a, 1 - a, a.copy(), d, np.array([-565, 0])))
    assert case.loss == pytest.approx(573 * math.log(2), rel=1e-12)


def test_rows_that_vanish_are_exact_limits() -> None:
    a, not_a = np.array([0.2, 0.6]), np.array([0.8, 0.4])
    # the release is impossible from row 0: belief near row 0 ends at the odds of row 1
    b, d = np.array([0.0, 0.6]), np.array([0.0, 0.4])
    assert worst_case_loss(a, not_a, b, d) == pytest.approx(math.log(1.5 / 0.25), rel=1e-14)
    for order in ([0, 1], [1, 0]):
        case = worst_case(checked(a[order], not_a[order], b[order], d[order]))
        belief = np.zeros(2)
        np.add.at(belief, np.array(case.vertices), case.weights)
        assert belief[order].tolist() == [1.0, 0.0]
    nearly = worst_case_loss(a, not_a, b + [1e-250 * 0.2, 0], d + [1e-250 * 0.8, 0])
    assert nearly == pytest.approx(math.log(1.5 / 0.25), rel=1e-12)


def test_ruling_out_everything_but_the_event_is_an_infinite_loss() -> None:
    assert worst_case_loss([0.0, 0.5], [1.0, 0.5], [0.0, 0.1], [0.0, 0.1]) == math.inf
    assert not within([0.0, 0.5], [1.0, 0.5], [0.0, 0.1], [0.0, 0.1], 100.0)


def test_a_common_factor_of_the_releases_changes_nothing() -> None:
    a, not_a, b, d = random_vectors(np.random.default_rng(1), 30)
    loss = worst_case_loss(a, not_a, b, d)
    for factor in (1e-280, 1e-30, 1e30):
        assert worst_case_loss(a, not_a, b * factor, d * factor) == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (([0.5], [0.5], [0.1, 0.2], [0.1]), "one length"),
        (([0.5], [0.4], [0.1], [0.1]), "a \\+ not_a must be 1, which fails in row\\(s\\) 0"),
        (([0.5], [0.5], [0.0], [0.0]), "impossible under every belief"),
        (([0.0], [1.0], [0.1], [0.1]), "b must be 0 where a is 0"),
        (([1.0], [0.0], [0.1], [0.1]), "d must be 0 where not_a is 0"),
        (([0.5], [0.5], [math.nan], [0.1]), "b has 1 entries that are not finite.*nan at 0"),
        (([0.5], [0.5], [-0.1], [0.1]), "b has 1 entries that are negative.*-0.1 at 0"),
    ],
)
def test_vectors_that_cannot_be_are_refused(vectors: tuple[list[float], ...], message: str) -> None:
    with pytest.raises(EvidenceError, match=message):
        worst_case_loss(*vectors)


def test_epsilon_and_sides_are_checked() -> None:
    good = ([0.5], [0.5], [0.1], [0.1])
    with pytest.raises(EvidenceError, match="epsilon must be a finite number above 0, got 0"):
        within(*good, 0)
    with pytest.raises(EvidenceError, match="sides must be one of both, event, got 'left'"):
        worst_case_loss(*good, sides="left")  # type: ignore[arg-type]


@pytest.mark.parametrize("speaks_against", [False, True])
def test_a_state_that_one_belief_deems_possible_counts_when_all_is_told(
    speaks_against: bool,
) -> None:
    model = EventModel(presence({0}, [0]), Mobility(np.full((3, 3), 1 / 3)))
    evidence = Evidence.start(model, AnyPriorOn([0, 1]))
    mild = np.array([[0.25, 0.25, 0.0], [0.2, 0.2, 0.0]])
    sharp = mild + (np.array([[0, 0, 0.0], [0, 0, 0.1]]))
    true, false = (mild, sharp) if speaks_against else (sharp, mild)
    half = np.full(2, 0.5)
    none = np.zeros(2, dtype=bool)

    def told(true: Array, false: Array) -> bool:
        tensor = np.stack([false, true], axis=1)
        after = replace(evidence, a=half, not_a=half, faint=(none, none), tensor=tensor)
        return survives_disclosure(after, 1.0)

    assert told(mild, mild)
    assert not told(true, false)
