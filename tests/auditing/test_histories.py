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
from priste.auditing.histories import Seen, shares
from priste.errors import AuditError, HistoriesLostError
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
