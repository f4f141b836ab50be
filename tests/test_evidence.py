from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from priste import (
    AnyPrior,
    AnyPriorOn,
    EmissionMatrix,
    EveryOutput,
    KnownPrior,
    Mobility,
    NearPrior,
    Prior,
    Protect,
    Protector,
    presence,
    privacy_loss,
)
from priste.errors import EventError, EvidenceError
from priste.evidence import EventModel, Evidence, product, scaled_rows
from tests.oracles import joint_by_enumeration, mp_presence_losses
from tests.strategies import events, generators, random_stochastic


@settings(max_examples=100)
@given(st.data(), generators(), st.integers(2, 4), st.integers(1, 5))
def test_the_four_vectors_are_what_enumeration_gives_for_every_belief(
    data: st.DataObject, random: np.random.Generator, n_cells: int, n_steps: int
) -> None:
    event = data.draw(events(n_cells, n_steps, depth=3))
    transitions = random_stochastic(random, (n_steps + 1, n_cells, n_cells), zeros=0.3)
    belief = random_stochastic(random, (n_cells,))
    priors: list[Prior] = [
        AnyPrior(),
        KnownPrior(belief),
        NearPrior(belief, 0.3),
        AnyPriorOn([0, n_cells - 1]),
    ]
    prior = data.draw(st.sampled_from(priors))
    try:
        evidence = Evidence.start(EventModel(event, Mobility(transitions)), prior)
    except EventError:
        return
    columns = list(random.random((n_steps + 1, n_cells)))
    for step, column in enumerate(columns):
        evidence = evidence.advance() if step else evidence
        evidence = evidence.observe(column)
        a, not_a, b, d, exponents = evidence.four_vectors()
        for v, vertex in enumerate(prior.vertices(n_cells)):
            chances = joint_by_enumeration(event, list(transitions), vertex, [])
            expected = joint_by_enumeration(event, list(transitions), vertex, columns[: step + 1])
            assert (a[v], not_a[v]) == pytest.approx(chances, rel=1e-12, abs=0)
            scale = 2.0 ** int(exponents[v])
            assert (b[v] * scale, d[v] * scale) == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("rows", [1, 64, 65, 130])
def test_sparse_moves_are_those_of_the_dense_matrix(rows: int) -> None:
    random = np.random.default_rng(rows)
    weights, matrix = random.random((rows, 7)), random_stochastic(random, (7, 7), zeros=0.6)
    factors, thin = random.random(7), sparse.csr_array(matrix)
    np.testing.assert_allclose(product(weights, thin), weights @ matrix, rtol=1e-12)
    np.testing.assert_array_equal(product(weights, matrix), weights @ matrix)
    for scaled in (scaled_rows(matrix, factors), scaled_rows(thin, factors).toarray()):
        np.testing.assert_allclose(scaled, np.diag(factors) @ matrix, rtol=1e-12)


def test_weights_are_rescaled_by_powers_of_two_where_they_leave_the_range() -> None:
    mobility = Mobility([[0.9, 0.1], [0.2, 0.8]])
    evidence = Evidence.start(EventModel(presence({0}, [2]), mobility), AnyPrior())
    plain = evidence.observe(np.array([0.5, 0.25])).advance()
    assert plain.exponents.tolist() == [0, 0]
    np.testing.assert_allclose(plain.tensor.sum(axis=(1, 2)), [0.5, 0.25], rtol=1e-12)
    for exponent in (-150, -800):  # one belief is enough to rescale
        column = np.array([np.ldexp(0.5, exponent), 0.25])
        moved = evidence.observe(column).advance()
        assert moved.exponents.tolist() == [exponent, -1]
        np.testing.assert_allclose(moved.tensor.sum(axis=(1, 2)), [0.5, 0.5], rtol=1e-12)


@pytest.mark.parametrize("steps", [[3, 4, 5], [2, 9_990]])
def test_ten_thousand_steps_neither_underflow_nor_drift(steps: list[int]) -> None:
    random = np.random.default_rng(8)
    mobility = Mobility([[0.9, 0.08, 0.02], [0.1, 0.8, 0.1], [0.01, 0.04, 0.95]])
    emissions = 10.0 ** -random.uniform(0, 3, (10_000, 3))
    watched = [0, 1, 2, 5, 10, 100, 1_000, 5_000, 9_989, 9_990, 9_999]
    found = privacy_loss(presence({0}, steps), mobility, list(emissions))[watched]
    expected = mp_presence_losses(mobility, [0], steps, emissions, watched)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert found.max() > 0.1


def test_beliefs_may_drift_apart_without_bound() -> None:
    # two cells that nobody leaves: after 5,000 steps one is e^-5000 times less likely
    mobility = Mobility([[1.0, 0.0, 0.0], [0.0, 0.6, 0.4], [0.0, 0.5, 0.5]])
    event = presence({2}, [1])
    still_open = AnyPriorOn([1, 2])
    loss = privacy_loss(event, mobility, [[0.9, 0.3, 0.3]] * 5_000, prior=still_open)
    np.testing.assert_allclose(loss, 0, atol=1e-10)
    steps = privacy_loss(event, mobility, [[0.9, 0.3, 0.3]] * 5_000, prior=AnyPrior())
    # who thought cell 0 (where the event cannot happen) likely is proved right, threefold a step
    np.testing.assert_allclose(steps[:360], np.log(3) * np.arange(1, 361), rtol=1e-9)
    assert steps[-1] > 400


def test_weights_that_underflow_pass_no_test() -> None:
    # from cell 0 the release has a probability that floating point can hardly hold
    mobility = Mobility([[1 - 1e-300, 1e-300], [0.5, 0.5]])
    matrix = EmissionMatrix([[1.0, 0.0], [1.0 - 1e-15, 1e-15]])
    guard = Protector(
        mobility,
        matrix,
        Protect(presence({1}, [3]), 5.0),
        seed=0,
        prior=AnyPrior(),
        calibration=EveryOutput(),
    )
    state = guard.beginning().arrive().observe(matrix.lottery()[:, 0], None).arrive()
    faint = matrix.lottery()[:, 1]
    assert not state.situation().allows(faint * 2.0**-60)
    losses = privacy_loss(presence({1}, [3]), mobility, [faint * 2.0**-60] * 40)
    assert not np.isnan(losses).any()


def test_an_event_too_faint_for_floating_point_counts_as_impossible() -> None:
    mobility = Mobility([[1.0, 5e-324], [0.0, 1.0]])
    with pytest.raises(EventError, match="cannot happen"):
        privacy_loss(presence({1}, [1]), mobility, [[0.5, 0.5]], prior=KnownPrior([1, 0]))
    with pytest.raises(EventError, match="cannot fail"):
        privacy_loss(~presence({1}, [1]), mobility, [[0.5, 0.5]], prior=KnownPrior([1, 0]))
    for event in (presence({1}, [1]), ~presence({1}, [1])):
        losses = privacy_loss(event, mobility, [[0.9, 0.3]] * 3, prior=AnyPrior())
        assert losses == pytest.approx(np.log(3) * np.array([1, 2, 3]), rel=1e-9)


def test_an_event_the_mobility_rules_out_is_refused() -> None:
    stuck = Mobility(np.eye(3))
    with pytest.raises(EventError, match="under this mobility and prior the event cannot happen"):
        privacy_loss(presence({0}, [4]), stuck, [np.ones(3)], prior=AnyPriorOn([1, 2]))
    with pytest.raises(EventError, match="under this mobility and prior the event cannot fail"):
        privacy_loss(presence({0}, [4]), stuck, [np.ones(3)], prior=AnyPriorOn([0]))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([[0.5, 0.5]], "column of step 0 must have one entry per cell \\(3\\), got 2"),
        ([[0.5] * 3, [0.5, 1.5, 0.5]], "column of step 1 holds 1.5 at cell 1"),
        ([[0.5, -0.5, 0.5]], "column of step 0 has 1 entries that are negative.*-0.5 at 1"),
        ([[0.5, np.nan, 0.5]], "column of step 0 has 1 entries that are not finite"),
        ([[0.5] * 3, [0.0] * 3], "release of step 1 is impossible"),
        (["abc"], "column of step 0 must be numbers, got str"),
    ],
)
def test_wrong_emissions_are_refused_with_their_place(columns: list[object], message: str) -> None:
    mobility = Mobility(np.full((3, 3), 1 / 3))
    with pytest.raises(EvidenceError, match=message):
        privacy_loss(presence({0}, [1]), mobility, columns)  # type: ignore[arg-type]


THREE = EventModel(presence({0}, [1]), Mobility(0.4 * np.eye(3) + 0.2))


def test_two_releases_of_one_step_are_one_with_both_columns() -> None:
    columns = np.array([0.9, 0.2, 0.4]), np.array([0.3, 0.5, 0.8])
    evidence = Evidence.start(THREE, AnyPrior())
    twice = evidence.observe(columns[0]).observe(columns[1])
    once = evidence.observe(columns[0] * columns[1])
    for step in (twice, once):
        assert step.released is not None
    np.testing.assert_allclose(twice.four_vectors().b, once.four_vectors().b, rtol=1e-15)
    np.testing.assert_allclose(twice.advance().tensor, once.advance().tensor, rtol=1e-15)


def test_beliefs_that_merge_keep_the_ends_of_the_odds_they_began_with() -> None:
    evidence = replace(
        Evidence.start(THREE, AnyPrior()),
        a=np.array([0.5, 0.9, 0.1]),
        not_a=np.array([0.5, 0.1, 0.9]),
    )
    one = evidence.merged(np.full((1, 3), 1 / 3))
    assert one.a.tolist() == [0.1, 0.9]
    assert one.not_a.tolist() == [0.9, 0.1]
    assert one.has_one_past
    assert one.exponents.tolist() == [0, 0]


@settings(deadline=None)
@given(random=generators())
def test_the_middle_of_all_beliefs_is_their_mean(random: np.random.Generator) -> None:
    model = EventModel(presence({0, 2}, [1, 3]), Mobility(random_stochastic(random, (4, 4))))
    near = NearPrior(random_stochastic(random, (4,)), 0.4)
    evidence = Evidence.start(model, near)
    mean = Evidence.start(model, KnownPrior(near.vertices(4).mean(axis=0)))
    for column in random.random((3, 4)):
        evidence, mean = evidence.observe(column).advance(), mean.observe(column).advance()
    higher = replace(
        evidence, tensor=np.ldexp(evidence.tensor, 40), exponents=evidence.exponents - 40
    )
    apart = np.array([0, 0, 200, 600])  # the same numbers with other exponents
    uneven = replace(
        evidence,
        tensor=np.ldexp(evidence.tensor, -apart[:, None, None]),
        exponents=evidence.exponents + apart,
    )
    refuted = replace(  # a fifth belief, impossible by now, with the exponent that it had then
        evidence,
        a=np.append(evidence.a, evidence.a.mean()),
        not_a=np.append(evidence.not_a, evidence.not_a.mean()),
        faint=(np.zeros(5, dtype=bool),) * 2,
        tensor=np.concatenate([evidence.tensor, 0 * evidence.tensor[:1]]),
        exponents=np.append(evidence.exponents - 3000, 0),
    )
    expected = mean.four_vectors()
    for each in (evidence, higher, uneven, refuted):
        found = each.middle().four_vectors()
        np.testing.assert_allclose(found.a, expected.a, rtol=1e-12)
        np.testing.assert_allclose(found.not_a, expected.not_a, rtol=1e-12)
        np.testing.assert_allclose(found.b / found.d, expected.b / expected.d, rtol=1e-12)
        assert each.middle().has_one_past


def test_one_past_is_that_of_one_belief_or_of_two_that_agree() -> None:
    def with_pasts(*rows: int) -> Evidence:
        evidence = Evidence.start(THREE, AnyPrior())
        chosen = list(rows)
        return replace(
            evidence,
            a=evidence.a[chosen],
            not_a=evidence.not_a[chosen],
            tensor=evidence.tensor[chosen],
            exponents=evidence.exponents[chosen],
        )

    assert with_pasts(0).has_one_past
    assert with_pasts(1, 1).has_one_past
    assert not with_pasts(0, 1).has_one_past
    assert not with_pasts(0, 0, 0).has_one_past
