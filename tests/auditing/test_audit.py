import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from priste import (
    AnyPrior,
    AuditError,
    EmissionMatrix,
    EveryOutput,
    Exponential,
    Grid,
    KnownPrior,
    LocationSet,
    Mobility,
    NearPrior,
    OptimalRemap,
    PlanarLaplace,
    Protect,
    Protector,
    Retry,
    at,
    audit,
    presence,
    privacy_loss,
)
from priste.auditing.walk import _odds
from priste.calibration import Calibration, CertifiedPlan, Situation
from priste.calibration.calibration import Outcome
from priste.checks import Array
from priste.evidence import FourVectors
from priste.priors import Prior
from priste.worst_case import Sides, WorstCase
from tests.oracles import all_paths, realised_by_enumeration, sequence_probabilities

LINE = Grid(1, 3)
MOBILITY = Mobility.gaussian(LINE, sigma=1.0)
EVENT = presence({0}, [1, 2])


def line(calibration: object, **changes: object) -> Protector:
    arguments: dict[str, object] = {
        "mobility": MOBILITY,
        "mechanism": Exponential(LINE, 1.0),
        "protections": Protect(EVENT, 0.5),
        "prior": AnyPrior(),
        "calibration": calibration,
    }
    return Protector(**{**arguments, **changes})  # type: ignore[arg-type]


def test_the_published_loop_leaks_what_we_say_it_leaks() -> None:
    result = audit(line(Retry()), 4)
    np.testing.assert_allclose(result.realised, [0.4571, 1.7840, 2.6600, 3.4031], rtol=0, atol=5e-5)
    assert result.promised == 0.5
    assert result.is_exact
    assert not result.kept
    assert result.n_sequences == 81


@pytest.mark.parametrize(
    "calibration", [Retry(), Retry(0.7, 3), EveryOutput(), EveryOutput(refine=4)]
)
def test_the_probabilities_of_all_sequences_sum_to_one_for_every_true_path(
    calibration: Retry | EveryOutput,
) -> None:
    protector = line(calibration)
    for path in all_paths(3, 3).tolist():
        assert sum(sequence_probabilities(protector, path).values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    "prior", [AnyPrior(), KnownPrior([0.2, 0.3, 0.5]), NearPrior([0.6, 0.2, 0.2], 0.2)]
)
@pytest.mark.parametrize("calibration", [Retry(weakenings=3), EveryOutput(weakenings=3)])
def test_the_audit_agrees_with_enumeration_of_paths_and_sequences(
    calibration: Retry | EveryOutput, prior: AnyPrior | KnownPrior | NearPrior
) -> None:
    protector = line(
        calibration,
        prior=prior,
        mechanism=LocationSet(Exponential(LINE, 1.5), 0.2, [0.2, 0.4, 0.4]),
        protections=[Protect(EVENT, 0.3), Protect(at({2}, 1), 0.2, sides="event")],
    )
    result = audit(protector, 2)
    for finding in result.findings:
        for steps in (1, 2):
            expected = realised_by_enumeration(
                protector, finding.protection, steps, prior.vertices(3)
            )
            assert finding.realised[steps - 1] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_default_calibration_keeps_the_same_promise() -> None:
    result = audit(line(None), 4)
    assert result.kept
    assert result.realised.max() <= 0.5 + 1e-9
    assert result.realised.max() > 0.45


def test_the_worst_sequence_and_belief_suffer_the_reported_loss() -> None:
    protector = line(EveryOutput())
    finding = audit(protector, 3).worst
    state, columns = protector.beginning(), []
    for output in finding.sequence:
        state = state.arrive()
        plan = protector.calibration.plan(state.situation())
        column = next(o.column for o in plan.outcomes() if o.output == output)
        columns.append(column)
        state = state.observe(column, plan.warm_start)
    suffered = privacy_loss(EVENT, MOBILITY, columns, prior=KnownPrior(finding.belief))[-1]
    assert suffered == pytest.approx(finding.realised.max(), rel=1e-9)


def test_draws_and_outcomes_are_the_same_algorithm() -> None:
    for calibration in (Retry(weakenings=4), EveryOutput()):
        expected = sequence_probabilities(line(calibration), [0, 1])
        seen: dict[tuple[int, ...], int] = dict.fromkeys(expected, 0)
        for seed in range(1_200):
            guard = line(calibration, seed=seed)
            seen[tuple(guard.release(cell).cell for cell in (0, 1))] += 1
        for sequence, probability in expected.items():
            assert seen[sequence] / 1_200 == pytest.approx(probability, abs=0.05)


def test_a_sampled_audit_says_that_it_is_a_lower_bound() -> None:
    exact, sampled = audit(line(Retry()), 3), audit(line(Retry()), 3, samples=6, seed=1)
    assert not sampled.is_exact
    assert "lower bounds" in str(sampled)
    assert (sampled.realised <= exact.realised + 1e-12).all()
    assert sampled.realised[-1] > 1.0  # enough to convict the loop
    larger = Protector(
        Mobility.gaussian(Grid(5, 5), 1.0),
        Exponential(Grid(5, 5), 1.0),
        Protect(presence({0}, [2]), 0.5),
        prior=AnyPrior(),
        calibration=EveryOutput(),
    )
    assert audit(larger, 6, samples=2, seed=0).kept


def test_protecting_several_models_keeps_the_promise_under_each() -> None:
    other = Mobility.gaussian(LINE, sigma=0.5)
    alone = audit(line(EveryOutput()), 3, truth=other)
    assert not alone.kept  # the promise was made for another mobility
    assert "if people moved as Mobility(3 cells, one matrix)" in str(alone)
    together = line(EveryOutput(), mobility=[MOBILITY, other])
    assert audit(together, 3).kept
    assert audit(together, 3, truth=other).kept
    assert audit(together, 3, truth=MOBILITY).kept


@pytest.mark.parametrize("sides", ["both", "event"])
def test_what_is_spent_in_proportion_keeps_the_promise_under_each_of_several_models(
    sides: Sides,
) -> None:
    models = [MOBILITY, Mobility.gaussian(LINE, sigma=0.5)]
    asked = Protect(EVENT, 0.5, sides=sides)
    believed = NearPrior([0.5, 0.3, 0.2], 0.2)
    in_proportion = OptimalRemap(LINE.distances, spending="proportional")
    protector = line(in_proportion, mobility=models, protections=asked, prior=believed)
    vertices = believed.vertices(3)
    for model in models:
        losses = [realised_by_enumeration(protector, asked, n, vertices, model) for n in (1, 2, 3)]
        assert 0.1 < max(losses) <= 0.5 + 1e-9
    (finding,) = audit(protector, 3).findings
    assert finding.realised.max() <= 0.5


def test_each_event_is_audited_under_the_model_that_is_worst_for_it() -> None:
    models = [MOBILITY, Mobility.gaussian(LINE, sigma=0.5)]
    asked = [Protect(EVENT, 0.4), Protect(at({2}, 1), 0.9)]
    protector = line(EveryOutput(), mobility=models, protections=asked)
    result = audit(protector, 2)
    assert [finding.protection for finding in result.findings] == asked
    found = []
    for finding in result.findings:
        for steps in (1, 2):
            by_model = [
                realised_by_enumeration(protector, finding.protection, steps, np.eye(3), model)
                for model in models
            ]
            assert finding.realised[steps - 1] == pytest.approx(max(by_model), rel=1e-9)
            found.append(by_model)
    assert len({round(loss, 4) for by_model in found for loss in by_model}) == 8
    excess = [finding.realised.max() - finding.promised for finding in result.findings]
    assert result.worst is result.findings[int(np.argmax(excess))]


def test_a_sampled_audit_follows_the_worst_output() -> None:
    exact = audit(line(Retry()), 4)
    greedy = audit(line(Retry()), 4, samples=1, seed=0)
    np.testing.assert_allclose(greedy.realised, exact.realised, rtol=1e-12)
    assert greedy.worst.sequence == exact.worst.sequence == (0, 0, 0, 0)
    assert greedy.n_sequences == 1


def test_another_set_of_beliefs_can_be_asked_about() -> None:
    protector = line(EveryOutput(), prior=KnownPrior([1 / 3] * 3))
    assert audit(protector, 2).kept
    result = audit(protector, 2, prior=AnyPrior())
    assert not result.kept
    assert "for beliefs in AnyPrior()" in str(result)


def test_long_streams_can_be_sampled() -> None:
    assert audit(line(EveryOutput(weakenings=2)), 400, samples=2, seed=0).kept


def test_the_odds_of_who_suffers_most_move_by_the_loss() -> None:
    finding = audit(line(Retry()), 3).worst
    for loss, (before, after) in zip(finding.realised, finding.odds, strict=True):
        assert abs(np.log(after / before)) == pytest.approx(loss, rel=1e-12)
    assert 0.27 < finding.odds[-1][0] < 2.1  # what the three cells allow to believe


def test_an_audit_prints_as_a_table() -> None:
    result = audit(line(Retry()), 2)
    text = str(result)
    assert "Audit of Retry(decay=0.5, weakenings=11) (exact, all 9 sequences of 2 releases)" in text
    assert "presence in {0} at steps 1 to 2: NOT KEPT" in text
    assert "0.5000    1.7840   1:" in text
    assert "→" in text
    assert "worst sequence: 0, 0" in text
    assert "<td>1.7840</td>" in result._repr_html_()
    assert "kept" in str(audit(line(EveryOutput()), 2))


def test_an_audit_leaves_the_protector_as_it_is() -> None:
    one, other = line(EveryOutput(), seed=3), line(EveryOutput(), seed=3)
    one.release(0), other.release(0)
    audit(one, 2)
    assert one.release(1) == other.release(1)


def test_progress_goes_from_nothing_to_all() -> None:
    shares: list[float] = []
    audit(line(EveryOutput()), 3, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)


def test_what_cannot_be_audited_is_refused() -> None:
    with pytest.raises(
        AuditError, match="more than 50 hidden states .* samples= for a lower bound"
    ):
        audit(line(EveryOutput()), 8, limit=50)
    with pytest.raises(AuditError, match="limit must be a whole number of at least 1, got None"):
        audit(line(EveryOutput()), 2, limit=None)  # type: ignore[arg-type]
    with pytest.raises(AuditError, match="steps must be a whole number of at least 1, got 0"):
        audit(line(EveryOutput()), 0)
    with pytest.raises(AuditError, match="truth has 2 cells, the protector's mobility 3"):
        audit(line(EveryOutput()), 2, truth=Mobility(np.eye(2)))


def test_a_truth_under_which_nothing_could_be_released_is_refused() -> None:
    anywhere = Protector(
        Mobility(np.full((3, 3), 1 / 3)),
        EmissionMatrix(np.eye(3)),
        Protect(at({0}, 2), 0.5),
        prior=AnyPrior(),
        calibration=EveryOutput(),
    )
    assert audit(anywhere, 2, sequences=[(0, 2)]).kept
    with pytest.raises(AuditError, match="impossible if people move as truth= says"):
        audit(anywhere, 2, sequences=[(0, 2)], truth=Mobility(np.eye(3)))


def test_a_released_stream_can_be_followed() -> None:
    protector = line(Retry())
    exact = audit(protector, 3)
    worst = exact.worst.sequence
    followed = audit(protector, 3, sequences=[worst])
    assert followed.realised[-1] == pytest.approx(exact.realised[-1], rel=1e-12)
    assert not followed.is_exact
    everything = audit(protector, 2, sequences=[(i, j, 0) for i in range(3) for j in range(3)])
    np.testing.assert_allclose(everything.realised, exact.realised[:2], rtol=1e-12, atol=0)


def test_what_cannot_have_been_released_is_not_followed() -> None:
    with pytest.raises(AuditError, match="never releases 7 at step 1 after 0"):
        audit(line(Retry()), 2, sequences=[(0, 7)])
    with pytest.raises(AuditError, match="a sequence of 1 releases cannot be followed for 2 steps"):
        audit(line(Retry()), 2, sequences=[(0,)])
    with pytest.raises(AuditError, match="no sequences"):
        audit(line(Retry()), 2, sequences=[])
    with pytest.raises(AuditError, match="a release must be a whole number of at least 0, got -1"):
        audit(line(Retry()), 2, sequences=[(0, -1)])


@dataclass(frozen=True, eq=False)
class Always:
    """Draws from the same matrix at every step, whatever was promised."""

    emission: Array
    forgotten: int | None = None
    is_guarantee: ClassVar[bool] = False

    def plan(self, _: Situation) -> "Forgetful":
        return Forgetful(self.emission, 0.0, tried=1 if self.forgotten is None else self.forgotten)


class Forgetful(CertifiedPlan):
    """A plan that forgets the outcome with the number `tried`, unless that is 1."""

    def outcomes(self) -> Iterator[Outcome]:
        return (o for o in super().outcomes() if self.tried == 1 or o.output != self.tried)


def test_outcomes_that_are_incomplete_are_noticed_under_a_single_belief() -> None:
    emission = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.5, 0.25, 0.25]])
    assert audit(line(Always(emission)), 2).n_sequences == 9
    with pytest.raises(AuditError, match="do not sum to one"):
        audit(line(Always(emission, forgotten=2)), 2)


def test_hidden_states_are_counted_and_refused_beyond_the_limit() -> None:
    protector = line(Always(np.full((3, 3), 1 / 3)))
    for steps, visited in ((1, 1), (2, 4), (3, 13)):
        assert audit(protector, steps, limit=visited).n_sequences == 3**steps
    for steps, limit, depth in ((2, 3, 1), (2, 2, 0), (3, 12, 2), (3, 9, 1), (3, 8, 0)):
        with pytest.raises(AuditError, match=f"{limit} hidden states .{depth} of {steps} releases"):
            audit(protector, steps, limit=limit)
    with pytest.raises(AuditError, match="limit must be a whole number of at least 1, got 0"):
        audit(protector, 1, limit=0)


@pytest.mark.parametrize("cell", [0, 1, 2])
def test_the_worst_output_is_followed_wherever_it_is(cell: int) -> None:
    telling = np.full((3, 3), 0.2) + 0.4 * np.eye(3)
    asked = Protect(presence({cell}, [0, 1, 2]), 0.5, sides="event")
    protector = line(Always(telling), protections=asked)
    exact = audit(protector, 2)
    greedy = audit(protector, 2, samples=1, seed=0)
    np.testing.assert_allclose(greedy.realised, exact.realised, rtol=1e-12)
    assert greedy.worst.sequence == (cell, cell)
    assert not greedy.is_exact
    assert greedy.n_sequences == 1


def test_every_second_sample_is_drawn_as_the_algorithm_would(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[int] = []

    def shares(children: list[object], belief: int) -> Array:
        drawn.append(belief)
        return np.asarray(np.eye(len(children))[-1])  # the last of them, surely

    monkeypatch.setattr("priste.auditing.walk.shares", shares)
    progress: list[float] = []
    telling = np.array([[0.9, 0.1], [0.1, 0.9], [0.1, 0.9]])
    protector = line(Always(telling), protections=Protect(EVENT, 0.5, sides="event"))
    result = audit(protector, 2, samples=5, seed=0, progress=progress.append)
    assert len(drawn) == 2 * 2  # two samples of two steps
    assert set(drawn) <= {0, 1, 2}
    assert result.n_sequences == 2  # the worst one, and the last one
    assert progress == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert result.worst.sequence == (0, 0)
    with pytest.raises(AuditError, match="samples must be a whole number of at least 1, got 0"):
        audit(protector, 2, samples=0)


def test_given_sequences_are_counted_once_and_progress_is_told() -> None:
    progress: list[float] = []
    protector = line(Always(np.full((3, 3), 1 / 3)))
    result = audit(
        protector, 2, sequences=[(0, 1), (0, 1), (2, 2)], histories=1, progress=progress.append
    )
    assert progress == [1 / 3, 2 / 3, 1.0]
    assert (result.n_sequences, result.n_exact, result.is_exact) == (2, 2, False)
    np.testing.assert_allclose(result.realised, 0, atol=1e-12)


def test_a_model_that_rules_a_sequence_out_leaves_the_others_to_be_judged() -> None:
    anywhere, stays = Mobility(np.full((3, 3), 1 / 3)), Mobility(np.eye(3))
    asked = [Protect(at({0}, 2), 0.5), Protect(at({1}, 2), 0.5)]
    protector = line(Always(np.eye(3)), mobility=[anywhere, stays], protections=asked)
    result = audit(protector, 2, sequences=[(0, 2)])
    assert [finding.realised[1] for finding in result.findings] == pytest.approx([0, 0], abs=1e-12)
    assert [finding.realised[0] for finding in result.findings] == [math.inf, math.inf]


def test_a_worst_belief_that_is_only_approached_is_called_a_limit() -> None:
    mobility = Mobility([[0.8, 0.1, 0.1], [0.5, 0.4, 0.1], [0.2, 0.4, 0.4]])
    protector = line(Always(np.eye(3)), mobility=mobility, protections=Protect(at({0}, 1), 0.5))
    finding = audit(protector=protector, steps=1).worst
    assert finding.is_limit
    assert sorted(finding.belief.tolist()) == [0.0, 0.0, 1.0]
    assert finding.realised[0] == pytest.approx(np.log(4 / 0.25), rel=1e-9)
    known = audit(protector, 1, prior=KnownPrior([0.2, 0.3, 0.5])).worst
    assert not known.is_limit
    np.testing.assert_allclose(known.belief, [0.2, 0.3, 0.5], rtol=1e-12)
    near = audit(line(EveryOutput()), 2).worst
    assert not near.is_limit
    assert near.belief.sum() == pytest.approx(1, rel=1e-12)


def test_odds_move_by_the_loss_up_or_down() -> None:
    vectors = FourVectors(
        np.array([0.2, 1.0]), np.array([0.8, 0.0]), np.ones(2), np.ones(2), np.zeros(2, dtype=int)
    )
    up = WorstCase(math.log(3), True, (0, 0), (1.0, 0.0))
    assert _odds(up, vectors) == pytest.approx((0.25, 0.75), rel=1e-12)
    assert _odds(up._replace(rising=False), vectors) == pytest.approx((0.25, 0.25 / 3), rel=1e-12)
    mixed = WorstCase(math.log(2), True, (0, 1), (0.5, 0.5))
    assert _odds(mixed, vectors) == pytest.approx((1.5, 3.0), rel=1e-12)
    certain = WorstCase(math.inf, False, (0, 1), (0.0, 1.0))
    assert _odds(certain, vectors) == (math.inf, math.inf)
    assert _odds(certain._replace(vertices=(0, 0)), vectors)[1] < 1e-300


@pytest.mark.parametrize(
    ("calibration", "prior", "secret"),
    [
        (OptimalRemap(), NearPrior([0.4, 0.3, 0.2, 0.1], 0.3), {3}),
        (OptimalRemap(), AnyPrior(), {0}),
        (EveryOutput(), AnyPrior(), {3}),
        (EveryOutput(), NearPrior([0.4, 0.3, 0.2, 0.1], 0.3), {1, 3}),
    ],
)
def test_elsewhere_is_a_state_like_others(
    calibration: Calibration, prior: Prior, secret: set[int]
) -> None:
    """By our audit and by enumeration of all paths and sequences, whoever leaves the map or not."""
    grid = Grid(1, 3, elsewhere=True)
    moves = np.array(
        [[0.6, 0.2, 0.1, 0.1], [0.2, 0.5, 0.2, 0.1], [0.1, 0.2, 0.5, 0.2], [0.05, 0.1, 0.15, 0.7]]
    )
    protection = Protect(presence(secret, [1, 2]), 0.6)
    protector = Protector(
        Mobility(moves, [0.4, 0.3, 0.2, 0.1]),
        PlanarLaplace(grid, 1.0),
        protection,
        prior=prior,
        calibration=calibration,
    )
    found = audit(protector, 3)
    assert found.is_exact
    assert found.kept
    vertices = prior.vertices(4)
    worst = realised_by_enumeration(protector, protection, 3, vertices)
    assert worst == pytest.approx(found.realised[-1], rel=1e-8)
    assert 0.1 < worst <= 0.6 + 1e-9
