import numpy as np
import pytest

from priste import (
    AnyPrior,
    Exponential,
    Grid,
    LocationSet,
    Mobility,
    Protect,
    Protector,
    Retry,
    audit,
    presence,
)
from priste.auditing.histories import Seen, _chances, _combined, _common, shares
from priste.errors import AuditError, HistoriesLostError
from priste.evidence import FourVectors
from tests.oracles import all_histories, loop_of_many_histories

LOOP = loop_of_many_histories()
LINE = Grid(1, 5)


def vectors(seen: Seen, number: int = 0) -> np.ndarray:
    found = seen.vectors(number)
    return np.ldexp([found.b, found.d], found.exponents)


@pytest.mark.parametrize("histories", [1, 2, 5])
def test_what_is_left_of_the_histories_is_right_in_the_mean(histories: int) -> None:
    everything = all_histories(LOOP, (2, 2))
    assert len(everything.histories) > 10
    random = np.random.default_rng(0)
    thinned = [everything.thinned(histories, random) for _ in range(2000)]
    assert {len(seen.histories) for seen in thinned} == {histories}
    found = np.array([vectors(seen) for seen in thinned])
    mean, error = found.mean(axis=0), found.std(axis=0) / np.sqrt(len(found))
    assert (np.abs(mean - vectors(everything)) < 4.5 * error).all()
    assert (error < 0.05 * vectors(everything)).all()


def test_no_model_loses_the_histories_that_it_needs() -> None:
    """One model holds a history for likely that another holds for next to impossible."""
    stays = Mobility(np.full((5, 5), 1e-6) + np.eye(5) * (1 - 5e-6))
    models = [stays, Mobility.gaussian(LINE, sigma=2.0)]
    loop = Protector(
        models, Exponential(LINE, 2.0), LOOP.protections, calibration=Retry(0.7), prior=AnyPrior()
    )
    everything = all_histories(loop, (4, 0))
    random = np.random.default_rng(0)
    thinned = [everything.thinned(2, random) for _ in range(2000)]
    for number in range(2):
        found = np.array([vectors(seen, number) for seen in thinned])
        mean, error = found.mean(axis=0), found.std(axis=0) / np.sqrt(len(found))
        exact = vectors(everything, number)
        assert (np.abs(mean - exact) <= 4.5 * error + 1e-12 * exact).all()


def test_a_draw_leaves_all_histories_where_there_are_no_more() -> None:
    everything = all_histories(LOOP, (2,))
    same = everything.thinned(len(everything.histories), np.random.default_rng(0))
    np.testing.assert_allclose(vectors(same), vectors(everything), rtol=1e-14)


def test_shares_are_those_of_the_probabilities() -> None:
    one, other = all_histories(LOOP, (0, 0)), all_histories(LOOP, (0, 2))
    totals = np.array([vectors(seen).sum(axis=0)[1] for seen in (one, other)])
    np.testing.assert_allclose(shares([one, other], 1), totals / totals.sum(), rtol=1e-14)


def test_few_histories_estimate_what_all_of_them_tell() -> None:
    sequence = [2, 2, 1]
    exact = audit(LOOP, 3, sequences=[sequence])
    assert exact.n_exact == 3
    some = [audit(LOOP, 3, sequences=[sequence], histories=6, seed=seed) for seed in range(100)]
    depth = some[0].n_exact
    assert depth == 2
    for one in some:
        assert one.n_exact == depth
        np.testing.assert_allclose(one.realised[:depth], exact.realised[:depth], rtol=1e-12)
    last = np.array([one.realised[-1] for one in some])
    assert last.std() > 0
    assert last.mean() == pytest.approx(exact.realised[-1], rel=0.1)
    for shown in (str(some[0]), some[0]._repr_html_()):
        assert f"estimated after {depth} releases, from some of the hidden histories" in shown
    all_of_them = audit(LOOP, 3, sequences=[sequence], histories=10_000, seed=0)
    np.testing.assert_allclose(all_of_them.realised, exact.realised, rtol=1e-14)


def test_histories_that_lead_nowhere_are_said_to() -> None:
    line = Grid(1, 6)
    mobility = Mobility.gaussian(line, 1.0)
    loop = Protector(
        mobility,
        LocationSet(Exponential(line, 2.0), 0.5, np.full(6, 1 / 6)),
        Protect(presence({0}, [1, 2, 3]), 0.2),
        calibration=Retry(),
        seed=3,
        prior=AnyPrior(),
    )
    released = [r.cell for r in loop.stream(mobility.sample(6, seed=3).tolist())]
    with pytest.raises(HistoriesLostError, match="none of the 1 hidden histories that were kept"):
        audit(loop, 6, sequences=[released], histories=1, seed=0)
    assert audit(loop, 6, sequences=[released], histories=8, seed=0).n_exact < 6


def test_histories_are_thinned_out_for_given_sequences_only() -> None:
    with pytest.raises(AuditError, match="histories= needs sequences="):
        audit(LOOP, 2, histories=3)
    with pytest.raises(AuditError, match="histories must be a whole number of at least 1, got 0"):
        audit(LOOP, 2, sequences=[(0, 0)], histories=0)


def test_histories_of_different_orders_add_up() -> None:
    a, not_a = np.array([0.25, 0.5]), np.array([0.75, 0.5])
    one = FourVectors(a, not_a, np.array([0.5, 0.75]), np.array([1.0, 0.5]), np.array([0, -900]))
    other = FourVectors(a, not_a, np.array([0.5, 0.5]), np.array([0.25, 1.0]), np.array([-2, -898]))
    both = _combined([one, other])
    assert both.exponents.tolist() == [0, -898]
    assert both.b.tolist() == [0.5 + 0.125, 0.1875 + 0.5]
    assert both.d.tolist() == [1.0 + 0.0625, 0.125 + 1.0]
    assert (both.a.tolist(), both.not_a.tolist()) == (a.tolist(), not_a.tolist())
    assert _combined([other]) is other


def test_probabilities_are_compared_at_the_scale_of_the_largest() -> None:
    totals = [
        (np.array([0.5, 0.75, 0.0, 1.5]), np.array([0, -900, 7, 3])),
        (np.array([0.5, 0.0, 0.0, 0.5]), np.array([-3, 5, 2, 3])),
    ]
    assert _common(totals).tolist() == [[0.5, 0.75, 0.0, 1.5], [0.0625, 0.0, 0.0, 0.5]]


def test_chances_grow_with_the_largest_share_and_sum_to_the_number() -> None:
    weights = np.array([[0.3, 0.0, 0.0], [0.1, 0.2, 0.0], [0.0, 0.2, 0.0], [0.0, 0.1, 0.0]])
    np.testing.assert_allclose(  # the largest shares are 3/4, 2/5, 2/5 and 1/5, of 7/4
        _chances(weights, 1), np.array([15, 8, 8, 4]) / 35, rtol=1e-12
    )
    np.testing.assert_allclose(_chances(weights, 3), [1, 0.8, 0.8, 0.4], rtol=1e-12)
    np.testing.assert_allclose(_chances(weights, 4), 1, rtol=1e-12)
    assert _chances(np.array([[0.7], [0.0]]), 2).tolist() == [1.0, 0.0]


def test_what_is_impossible_under_a_belief_is_shared_evenly() -> None:
    one, other = all_histories(LOOP, (0,)), all_histories(LOOP, (1,))

    def weighed(weight: float) -> list[Seen]:
        return [
            seen._replace(histories=[history.weighed(weight) for history in seen.histories])
            for seen in (one, other)
        ]

    assert shares(weighed(0.0), 0).tolist() == [0.5, 0.5]
    for weight in (1e-9, 1e9):
        np.testing.assert_allclose(shares(weighed(weight), 2), shares([one, other], 2), rtol=1e-12)


def test_a_total_is_that_of_the_first_model_unless_another_is_asked_for() -> None:
    models = [Mobility.gaussian(LINE, sigma=2.0), Mobility.gaussian(LINE, sigma=0.3)]
    loop = Protector(
        models, Exponential(LINE, 2.0), LOOP.protections, calibration=Retry(0.7), prior=AnyPrior()
    )
    seen = all_histories(loop, (4, 0))
    for number, total in ((0, seen.total()), (1, seen.total(1))):
        expected = vectors(seen, number).sum(axis=0)
        np.testing.assert_allclose(np.ldexp(*total), expected, rtol=1e-12)
    assert (np.abs(vectors(seen, 0) - vectors(seen, 1)) > 1e-6).any()


def test_losses_are_exact_up_to_the_step_that_first_had_too_many_histories() -> None:
    counts = [len(all_histories(LOOP, sequence).histories) for sequence in ((2,), (2, 2))]
    exact = audit(LOOP, 2, sequences=[(2, 2)])
    enough = audit(LOOP, 2, sequences=[(2, 2)], histories=counts[0], seed=0)
    assert enough.n_exact == 2
    np.testing.assert_allclose(enough.realised, exact.realised, rtol=1e-12)
    fewer = audit(LOOP, 2, sequences=[(2, 2), (2, 0)], histories=counts[0] - 1, seed=0)
    assert fewer.n_exact == 1
    assert fewer.realised[0] == pytest.approx(exact.realised[0], rel=1e-12)
    assert fewer.realised[1] != pytest.approx(exact.realised[1], rel=1e-12)
    assert audit(LOOP, 1, sequences=[(2,)], histories=1, seed=0).n_exact == 1
