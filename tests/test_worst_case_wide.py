"""Beliefs any number of binary orders apart, against whole numbers of any size."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from priste import AnyPrior, Mobility, presence, privacy_loss
from priste import worst_case_wide as wide
from priste.checks import Array
from priste.evidence import FourVectors
from priste.worst_case import is_within, worst_case
from tests.oracles import condition_in_integers, four_vectors_in_fractions
from tests.strategies import far_apart, near_the_loss

WIDE = [(0.0, 0), (0.5, 0), (0.75, 3), (0.625, -2), (0.875, 4), (0.9375, 64), (0.5, 65)]
WIDE += [(0.5, 66), (0.75, -62), (0.96875, 4), (0.75, 5001), (0.5, -4999), (0.625, 5001)]


def exactly(x: wide.Wide) -> Fraction:
    return Fraction(x[0]) * Fraction(2) ** x[1]


def test_wide_numbers_are_reckoned_with_as_fractions_are() -> None:
    for x, y in product(WIDE, repeat=2):
        one, other = exactly(x), exactly(y)
        for found, exact in (
            (wide._sum(x, y), one + other),
            (wide._product(x, y), one * other),
            (wide._excess(x, y), max(one - other, Fraction(0))),
        ):
            assert found == (0.0, 0) or 0.5 <= found[0] < 1
            assert abs(exactly(found) - exact) <= exact * Fraction(2) ** -52
        assert wide._at_least(x, y) == (one >= other)
    for x in WIDE:
        root = exactly(wide._root(x))
        assert abs(root * root - exactly(x)) <= exactly(x) * Fraction(2) ** -51
        assert wide._log(x) == (math.log2(x[0]) + x[1] if x[0] else -math.inf)
    assert wide._wide(12.0, 5) == (0.75, 9)
    assert wide._wide(0.0, 5) == (0.0, 0)


@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, 699.9, 700.1, -699.9, -700.1, 1e5, -1e5])
def test_powers_of_e_neither_overflow_nor_vanish(value: float) -> None:
    mantissa, order = wide._exponential(value)
    assert 0.5 <= mantissa < 1
    assert math.log(mantissa) + order * math.log(2) == pytest.approx(value, rel=1e-13, abs=1e-15)


def test_e_to_minus_infinity_is_nothing() -> None:
    assert wide._exponential(-math.inf) == (0.0, 0)


def test_weights_become_floats_where_they_can() -> None:
    for weight, expected in (
        ((0.75, 3), 6.0),
        ((0.5, -1000), 2.0**-1001),
        ((0.5, 1000), 2.0**999),
        ((0.5, 1001), math.inf),
        ((0.5, wide._ENDLESS), math.inf),
        ((0.5, -wide._ENDLESS), 0.0),
        ((0.0, 0), 0.0),
    ):
        assert wide._as_float(weight) == expected


def test_the_loss_of_a_mixture_is_that_of_its_odds() -> None:
    first = ((0.5, 0), (0.5, 0), (0.5, -3), (0.75, -900))
    second = ((0.75, 0), (0.5, -1), (0.625, 1200), (0.5, -2))
    for weight in ((0.5, 1), (0.75, -40), (0.5, 1300), (0.5, -1300)):
        w = exactly(weight)
        a, not_a, b, d = (exactly(x) + w * exactly(y) for x, y in zip(first, second, strict=True))
        odds = (b / a) / (d / not_a)
        expected = math.log(odds.numerator) - math.log(odds.denominator)
        assert wide._loss_at(first, second, weight) == pytest.approx(expected, rel=1e-14)
    none = (0.0, 0)
    some = (0.5, 0)
    for row, loss in (
        ((some, some, none, some), -math.inf),
        ((some, none, some, some), -math.inf),
        ((some, some, some, none), math.inf),
        ((none, some, some, some), math.inf),
    ):
        assert wide._loss_at(row, row, (0.5, 1)) == loss


def test_the_weight_at_which_a_pair_is_worst_balances_its_slacks() -> None:
    open_row = ((0.5, 0), (0.5, 0), (0.5, -2), (0.5, -1))  # ¼ · E − ⅛ at least
    tight_row = ((0.5, 0), (0.5, 0), (0.5, 9), (0.5, -1))  # always broken
    ruled_out = ((0.5, 0), (0.5, 0), (0.5, -2002), (0.5, -2001))
    assert wide._least_at(open_row, open_row, 1.0) == (0.5, 1)
    assert wide._least_at(tight_row, tight_row, 1.0) == (0.5, 1)
    assert wide._least_at(open_row, tight_row, 1.0) == (0.5, wide._ENDLESS)
    assert wide._least_at(tight_row, open_row, 1.0) == (0.5, -wide._ENDLESS)
    weight = wide._least_at(open_row, ruled_out, 1.0)
    assert exactly(weight) == Fraction(2) ** 1000
    assert wide._least_at(ruled_out, open_row, 1.0) == (0.5, -999)


@pytest.mark.parametrize("orders", [100, 700])
def test_bisection_turns_over_where_the_climb_ends(orders: int) -> None:
    random, finite = np.random.default_rng(orders), 0
    for _ in range(60):
        rows = wide.rows_of(*far_apart(random, orders), True)
        loss, i, j, _ = wide.largest(rows)
        if i == j or not math.isfinite(loss):
            continue
        finite += 1
        first, second = wide._row(rows, i), wide._row(rows, j)
        found = wide._turning_point(first, second, loss - 1.0)
        assert found == pytest.approx(loss, rel=1e-12, abs=1e-12)
        assert wide.edge(rows, i, j, loss - 0.5)[0] == pytest.approx(loss, rel=1e-12, abs=1e-12)
    assert finite > 15


def test_bisection_finds_that_nothing_is_enough() -> None:
    certain = ((0.5, 0), (0.5, 0), (0.5, 0), (0.0, 0))
    assert wide._turning_point(certain, certain, 0.0) == math.inf


@pytest.mark.parametrize("orders", [250, 700, 1500, 40_000])
def test_verdicts_agree_with_whole_numbers_however_far_beliefs_lie_apart(orders: int) -> None:
    random = np.random.default_rng(orders)
    verdicts = {True: 0, False: 0}
    for _ in range(200 if orders > 2000 else 500):
        vectors = far_apart(random, orders)
        epsilon = near_the_loss(random, vectors)
        passes = is_within(vectors, epsilon)
        verdicts[passes] += 1
        if passes:
            assert condition_in_integers(vectors, epsilon)
        else:
            assert not condition_in_integers(vectors, epsilon - 3e-9)
    assert min(verdicts.values()) >= 5


@pytest.mark.parametrize("orders", [700, 1500])
def test_the_largest_loss_is_where_whole_numbers_turn_over(orders: int) -> None:
    random = np.random.default_rng(orders)
    finite = 0
    for _ in range(150):
        vectors = far_apart(random, orders)
        loss = worst_case(vectors).loss
        if loss == math.inf:
            assert not condition_in_integers(vectors, 1e4)
        elif loss > 1e-6:
            finite += 1
            assert condition_in_integers(vectors, loss * (1 + 1e-12) + 1e-12)
            assert not condition_in_integers(vectors, loss * (1 - 1e-12) - 1e-12)
    assert finite > 50


def test_odds_that_only_fall_have_a_rising_loss_below_zero() -> None:
    random = np.random.default_rng(9)
    negative = 0
    for _ in range(60):
        vectors = far_apart(random, 700)
        vectors = vectors._replace(b=vectors.b * 2.0**-40)
        loss = worst_case(vectors, sides="event").loss
        if -1e3 < loss < 0:
            negative += 1
            for share, holds in ((1 - 1e-12, True), (1 + 1e-12, False)):
                assert condition_in_integers(vectors, share * loss, sides="event") is holds
    assert negative > 10


@pytest.mark.parametrize("rising", [True, False])
def test_one_belief_that_is_turned_into_certainty_loses_everything(rising: bool) -> None:
    rare, common = np.array([2.0**-700]), np.array([1.0])
    none, exponents = np.zeros(1), np.zeros(1, dtype=np.int64)
    b, d = (rare / 2, none) if rising else (none, common / 2)
    case = worst_case(FourVectors(rare, common, b, d, exponents))
    assert (case.loss, case.rising, case.vertices) == (math.inf, rising, (0, 0))
    assert not is_within(FourVectors(rare, common, b, d, exponents), 500.0)
    unmoved = FourVectors(rare, common, rare / 2, common / 2, exponents)
    assert worst_case(unmoved).loss == pytest.approx(0, abs=1e-12)
    assert is_within(unmoved, 1e-6)


def test_the_reported_belief_has_the_reported_loss() -> None:
    random = np.random.default_rng(4)
    checked = 0
    for _ in range(200):
        vectors = far_apart(random, 700)
        case = worst_case(vectors)
        if math.isinf(case.loss) or not min(case.weights) > 0:
            continue
        weights = [Fraction(w) for w in case.weights]
        scaled = [
            w * Fraction(2) ** int(vectors.exponents[v])
            for w, v in zip(weights, case.vertices, strict=True)
        ]
        a, not_a, b, d = (
            sum((w * Fraction(float(part[v])) for w, v in pairs), Fraction(0))
            for part, pairs in (
                (vectors.a, [*zip(weights, case.vertices, strict=True)]),
                (vectors.not_a, [*zip(weights, case.vertices, strict=True)]),
                (vectors.b, [*zip(scaled, case.vertices, strict=True)]),
                (vectors.d, [*zip(scaled, case.vertices, strict=True)]),
            )
        )
        odds = (b / a) / (d / not_a)
        moved = math.log(odds.numerator) - math.log(odds.denominator)
        assert (moved if case.rising else -moved) == pytest.approx(case.loss, rel=1e-9)
        checked += 1
    assert checked > 20


def hostile_stream(
    random: np.random.Generator, releases: int
) -> tuple[list[list[list[Fraction]]], list[Array]]:
    """Moves that vary with time and hardly ever mix, releases that tell a lot."""
    n, rarest = 5, float(random.choice([300, 500, 700]))
    places = np.arange(n)  # where the path from each start most likely is
    levels = -np.array([0.0, 0.1, *random.uniform(0.3, 1, n - 2)]) * random.uniform(20, 60)
    transitions, columns = [], []
    for _ in range(releases):
        columns.append(np.empty(n))
        columns[-1][places] = np.exp2(levels + random.uniform(-2, 0, n))
        weights = np.exp2(-rarest * random.uniform(0.9, 1, (n, n)))
        following = random.permutation(n)
        weights[np.arange(n), following] = random.uniform(1, 2, n)
        places = following[places]
        rows = [[Fraction(float(w)) for w in row] for row in weights]
        transitions.append([[w / sum(row) for w in row] for row in rows])
    return transitions, columns


def test_streams_after_which_beliefs_lie_far_apart_have_the_loss_that_fractions_say() -> None:
    """Any belief, five cells, moves that vary with the step, thirteen releases."""
    random = np.random.default_rng(1)
    widest = 0
    for _ in range(3):
        transitions, columns = hostile_stream(random, 13)
        steps = {int(s) for s in random.integers(0, 13, 2)}
        exact = four_vectors_in_fractions({0, 1}, steps, transitions, columns)
        model = Mobility([[[float(w) for w in row] for row in matrix] for matrix in transitions])
        loss = privacy_loss(presence({0, 1}, steps), model, columns, prior=AnyPrior())[-1]
        assert loss == pytest.approx(worst_case(exact).loss, rel=1e-9, abs=1e-9)
        assert condition_in_integers(exact, loss + 1e-8)
        if loss > 1e-6:
            assert not condition_in_integers(exact, loss * (1 - 1e-8) - 1e-8)
        widest = max(widest, int(np.ptp(exact.exponents)))
    assert widest > 400


def test_two_unlikely_beliefs_are_compared_with_each_other_and_not_with_a_cap() -> None:
    """Any belief, five cells, moves that vary with the step, thirteen releases.

    The releases speak for cell 0 and make cells 1 and 2 unlikely, by 599 and by 689 binary orders.
    Against cell 0 their prior odds on the event differ by 0.95, against each other by twice that.
    """
    n, releases = 5, 13
    logits = np.array([0.0, 0.95, -0.95, 0.1, -0.1])
    leads_there = 1 / (1 + np.exp(-logits))
    stay, decide = np.eye(n), np.zeros((n, n))
    decide[:, 0], decide[:, 1] = leads_there, 1 - leads_there
    column = np.array([0.9, 0.9 * 2**-46.08, 0.9 * 2.0**-53, 0.8, 0.7])
    event = presence({0}, {releases})
    moves = Mobility([*[stay] * (releases - 1), decide])
    losses = privacy_loss(event, moves, [column] * releases, prior=AnyPrior())
    assert losses[-1] == pytest.approx(1.9, abs=1e-9)
    transitions = [
        [[Fraction(float(p)) for p in row] for row in moves.transition(t)] for t in range(releases)
    ]
    exact = four_vectors_in_fractions({0}, {releases}, transitions, [column] * releases)
    assert not condition_in_integers(exact, 1.89)
    assert not is_within(exact, 1.0)
