"""Observers who do not know which model is true: by enumeration of every path."""

from collections.abc import Iterator

import numpy as np
import pytest

from priste import (
    AnyPrior,
    EmissionMatrix,
    EveryOutput,
    KnownPrior,
    Mobility,
    NearPrior,
    OptimalRemap,
    Prior,
    Protect,
    Protector,
    at,
    audit,
    presence,
)
from priste.calibration import Calibration
from priste.checks import Array
from priste.errors import ProtectionError, StreamFileError
from priste.evidence import EventModel, Evidence
from priste.mixture import Mixture
from priste.stream import PublicState
from tests.oracles import joint_by_enumeration, rising_loss_over_edges

RARELY, OFTEN = (Mobility([[1 - p, p], [1 - p, p]]) for p in (0.1, 0.9))
HALF = KnownPrior([0.5, 0.5])
TRUTH = EmissionMatrix(np.eye(2))


def protector(
    event: object = None,
    *,
    prior: Prior = HALF,
    calibration: Calibration | None = None,
    mixtures: bool = True,
    epsilon: float = 0.5,
) -> Protector:
    return Protector(
        (RARELY, OFTEN),
        TRUTH,
        Protect(at({1}, 2) if event is None else event, epsilon),  # type: ignore[arg-type]
        prior=prior,
        calibration=calibration or OptimalRemap(1 - np.eye(2)),
        eta=0.0,
        mixtures=mixtures,
    )


def sequences(guard: Protector, steps: int) -> Iterator[list[Array]]:
    """Yield the columns of every sequence that can be released."""

    def follow(state: PublicState, columns: list[Array]) -> Iterator[list[Array]]:
        if len(columns) == steps:
            yield columns
            return
        now = state.arrive()
        plan = guard.calibration.plan(now.situation())
        for outcome in plan.outcomes():
            after = now.observe(outcome.column, plan.warm_start)
            yield from follow(after, [*columns, outcome.likelihood])

    yield from follow(guard.beginning(), [])


def largest_loss(guard: Protector, steps: int, models: tuple[Mobility, ...]) -> float:
    """The largest change of the odds of anybody who holds a mixture of the models."""
    event, vertices = guard.protections[0].event, guard.prior.vertices(2)
    losses = []
    for columns in sequences(guard, steps):
        rows = []
        for model in models:
            moves = [model.transition(t) for t in range(max(steps, event.steps[-1] + 1) - 1)]
            for v in vertices:
                before = joint_by_enumeration(event, moves, v, [])
                rows.append((*before, *joint_by_enumeration(event, moves, v, columns)))
        a, not_a, b, d = np.array(rows).T
        losses += [rising_loss_over_edges(a, not_a, b, d), rising_loss_over_edges(not_a, a, d, b)]
    return max(losses)


def test_a_mixture_learns_more_than_each_model_where_it_is_not_asked_for() -> None:
    guard = protector(mixtures=False)
    assert max(largest_loss(guard, 3, (model,)) for model in (RARELY, OFTEN)) <= 0.5
    assert largest_loss(guard, 3, (RARELY, OFTEN)) > 1.5


@pytest.mark.parametrize("prior", [HALF, AnyPrior()])
@pytest.mark.parametrize("calibration", [OptimalRemap(1 - np.eye(2)), EveryOutput()])
@pytest.mark.parametrize("event", [at({1}, 2), presence({0}, [1, 2])])
def test_no_mixture_learns_more_than_promised(
    event: object, prior: Prior, calibration: Calibration
) -> None:
    guard = protector(event, prior=prior, calibration=calibration)
    assert largest_loss(guard, 3, (RARELY, OFTEN)) <= 0.5 + 1e-9


def test_the_audit_is_about_mixtures() -> None:
    guard = protector(epsilon=0.7)
    found = audit(guard, 3)
    assert found.kept
    assert max(found.realised) == pytest.approx(largest_loss(guard, 3, (RARELY, OFTEN)), abs=1e-9)


def test_a_stream_against_mixtures_tracks_everything_for_ever() -> None:
    guard = protector()
    for _ in range(6):
        guard.release(0)
    (entry,) = guard.account()
    assert (entry.state, entry.beliefs) == ("live", 2)
    guard.add(Protect(at({0}, 9), 1.0, name="later"))
    assert [e.beliefs for e in guard.account()] == [2, 2]
    assert all(loss <= 1.0 for loss in guard.release(1).private.losses.values())


def test_what_mixtures_were_told_before_counts_for_what_is_asked_for_later() -> None:
    guard = protector(at({1}, 1), epsilon=3.0)
    for cell in (1, 1, 1):
        guard.release(cell)
    told = guard.account()["event 1"].moved
    assert told > 0.5
    with pytest.raises(ProtectionError, match="cannot be protected"):
        guard.add(Protect(at({1}, 6), 0.05, name="later"))


def test_what_is_not_possible_with_mixtures_is_said() -> None:
    guard = protector()
    with pytest.raises(ProtectionError, match="keeps these models"):
        guard.exchange((OFTEN, RARELY))
    with pytest.raises(StreamFileError, match="cannot be saved"):
        guard.save("nowhere")


def test_a_mixture_follows_each_model_by_itself() -> None:
    event, columns = at({1}, 2), [np.array([0.9, 0.3]), np.array([0.2, 0.6])]
    parts = [Evidence.start(EventModel(event, model), AnyPrior()) for model in (RARELY, OFTEN)]
    mixture = Mixture.of_models(parts)
    assert not mixture.has_one_past
    assert (mixture.step, mixture.model.event) == (0, event)
    for look_first in (False, True):
        for together in (False, True):  # two releases of one step, or one of each of two
            whole, each = mixture, list(parts)
            if look_first:
                whole.four_vectors()
            for column in columns:
                whole, each = whole.observe(column), [part.observe(column) for part in each]
                if look_first:
                    whole.four_vectors()
                if not together:
                    whole, each = whole.advance(), [part.advance() for part in each]
            found = whole.four_vectors()
            expected = [part.four_vectors() for part in each]
            for name in ("a", "not_a", "b", "d", "exponents"):
                wanted = np.concatenate([getattr(vectors, name) for vectors in expected])
                np.testing.assert_allclose(getattr(found, name), wanted, rtol=1e-14)


def test_in_the_middle_of_mixtures_each_model_has_the_mean_of_its_beliefs() -> None:
    near = NearPrior([0.5, 0.5], 0.6)
    calibration = OptimalRemap(1 - np.eye(2), margin=0.5)
    guard = protector(prior=near, calibration=calibration)
    known = protector(prior=KnownPrior(near.vertices(2).mean(axis=0)))
    for _ in range(300):  # the models drift apart by hundreds of binary orders
        for each in (guard, known):
            each.repeat(np.array([0.9, 0.1]))
    (mixture,), (expected,) = (each.state.arrive().evidence for each in (guard, known))
    found, wanted = mixture.middle().four_vectors(), expected.four_vectors()
    np.testing.assert_allclose(found.a, wanted.a, rtol=1e-12)
    assert np.ptp(wanted.exponents) > 200
    for name in ("b", "d"):
        ratio = getattr(found, name) / getattr(wanted, name)
        orders = found.exponents - wanted.exponents
        np.testing.assert_allclose(np.log2(ratio) + orders, 0.0, atol=1e-9)
    assert audit(protector(prior=near, calibration=calibration), steps=3).kept
