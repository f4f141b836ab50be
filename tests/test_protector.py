from dataclasses import replace

import numpy as np
import pytest

import priste.protector
from priste import (
    AnyPrior,
    AnyPriorOn,
    EmissionMatrix,
    Event,
    EventError,
    EveryOutput,
    Exponential,
    Grid,
    KnownPrior,
    LocationSet,
    Mobility,
    MobilityError,
    NearPrior,
    OptimalRemap,
    PlanarLaplace,
    Prior,
    Protect,
    ProtectionError,
    Protector,
    Retry,
    at,
    audit,
    presence,
    privacy_loss,
)
from priste.calibration import CertifiedPlan
from priste.checks import Array
from priste.stream import PublicState
from priste.stream.share import DEFAULT_ETA
from priste.stream.watched import Watched
from tests.oracles import joint_by_enumeration, rising_loss_over_edges

GRID = Grid(2, 3)
MOBILITY = Mobility.gaussian(GRID, sigma=1.0)
NOISE = Exponential(GRID, 2.0)
EVENT = presence({0, 1}, [2, 3])
PATH = [0, 1, 4, 3, 0, 1, 2]


def protector(**changes: object) -> Protector:
    arguments: dict[str, object] = {
        "mobility": MOBILITY,
        "mechanism": NOISE,
        "protections": Protect(EVENT, 0.5),
        "prior": AnyPrior(),
        "calibration": Retry(),
        "seed": 3,
    }
    return Protector(**{**arguments, **changes})  # type: ignore[arg-type]


def test_a_release_shows_the_public_part_only() -> None:
    release = protector().release(4)
    assert "private" not in repr(release)
    assert repr(release).startswith(f"Release(step=0, cell={release.cell}, caveats=")
    assert release.public() == {"step": 0, "cell": release.cell}
    assert release.private.true_cell == 4
    assert release.private.budget >= 0


def test_without_a_seed_draws_are_the_system_s() -> None:
    assert any("seed" in caveat for caveat in protector().release(0).caveats)
    assert not protector(seed=None, calibration=None).release(0).caveats
    one = [protector().release(0).cell for _ in range(5)]
    assert len(set(one)) == 1
    assert len({protector(seed=None).release(0).cell for _ in range(200)}) > 1


@pytest.mark.parametrize(
    "prior",
    [
        KnownPrior(np.full(6, 1 / 6)),
        NearPrior(np.full(6, 1 / 6), 0.2),
        AnyPriorOn([0, 3, 5]),
    ],
)
def test_the_diary_s_losses_are_those_of_the_released_columns(prior: Prior) -> None:
    guard = protector(prior=prior)
    columns = []
    for cell in PATH:
        release = guard.release(cell)
        budget = release.private.budget
        emission = Exponential(GRID, budget).emission() if budget else np.full((6, 6), 1 / 6)
        columns.append(emission[:, release.cell])
        expected = privacy_loss(EVENT, MOBILITY, columns, prior=prior)[-1]
        assert release.private.losses["event 1"] == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_a_skipped_step_passes_time_and_tells_nothing() -> None:
    guard, other = protector(), protector()
    guard.release(0)
    before = guard.release(1).private.losses["event 1"]
    guard.skip()
    assert guard.step == 3
    after = guard.release(3)
    assert after.step == 3
    assert before <= 0.5
    steps = [release.step for release in other.stream([0, None, 4, None, None, 2])]
    assert steps == [0, 2, 5]


def test_skipping_equals_a_release_that_tells_nothing() -> None:
    guard = protector()
    guard.skip()
    release = guard.release(1)
    column = Exponential(GRID, release.private.budget).emission()[:, release.cell]
    expected = privacy_loss(EVENT, MOBILITY, [np.ones(6), column])[-1]
    assert release.private.losses["event 1"] == pytest.approx(expected, rel=1e-12)


def test_the_retry_loop_says_that_it_is_no_guarantee() -> None:
    release = protector(seed=None, calibration=Retry()).release(0)
    assert release.caveats == (
        "Retry does not guarantee ε; priste.audit computes what is realised",
    )


def test_several_events_keep_their_own_epsilon() -> None:
    guard = protector(protections=[Protect(EVENT, 0.3), Protect(at(5, 4), 0.8, sides="event")])
    for release in guard.stream(PATH * 3):
        first, second = release.private.losses.values()
        assert first <= 0.3 + 1e-9
        assert second <= 0.8 + 1e-9


def test_models_of_higher_order_protect_cells() -> None:
    mobility = Mobility.fit([MOBILITY.sample(2_000, seed=1)], 6, order=2)
    assert mobility.n_states > 6
    guard = protector(mobility=mobility)
    assert all(release.private.losses["event 1"] <= 0.5 + 1e-9 for release in guard.stream(PATH))
    location_set = LocationSet(Exponential(GRID, 2.0), 0.2, np.full(6, 1 / 6))
    guard = protector(mobility=mobility, mechanism=location_set)
    assert all(release.private.losses["event 1"] <= 0.5 + 1e-9 for release in guard.stream(PATH))


def test_unless_asked_otherwise_a_tenth_of_the_belief_is_free_and_the_remap_is_optimal() -> None:
    initial = np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    guard = protector(
        mobility=[Mobility(MOBILITY.transition(0), initial), MOBILITY],
        prior=None,
        calibration=None,
    )
    expected = 0.9 * initial + 0.1 * np.eye(6)
    np.testing.assert_allclose(guard.prior.vertices(6), expected, rtol=1e-12)
    assert isinstance(guard.calibration, OptimalRemap)
    assert guard.calibration.loss == "distance"
    no_map = protector(mechanism=EmissionMatrix(np.eye(6)), calibration=None)
    assert isinstance(no_map.calibration, OptimalRemap)
    assert no_map.calibration.loss == "same cell"


def test_a_mechanism_may_have_other_outputs_than_cells() -> None:
    pairs = np.repeat(np.eye(3), 2, axis=0)
    assert protector(mechanism=EmissionMatrix(0.9 * pairs + 0.1 / 3)).release(5).cell < 3


def test_releases_are_compared_by_what_is_public() -> None:
    release = protector().release(4)
    elsewhere = replace(release.private, true_cell=1)
    assert replace(release, private=elsewhere, column=np.zeros(6)) == release
    assert replace(release, cell=(release.cell + 1) % 6) != release


def losses_by_enumeration(event: Event, model: Mobility, columns: list[Array]) -> float:
    """The two-sided loss over any belief, from every trajectory."""
    transitions = [model.transition(0)] * 7
    before = [joint_by_enumeration(event, transitions, start, []) for start in np.eye(6)]
    after = [joint_by_enumeration(event, transitions, start, columns) for start in np.eye(6)]
    (a, not_a), (b, d) = np.array(before).T, np.array(after).T
    return max(rising_loss_over_edges(a, not_a, b, d), rising_loss_over_edges(not_a, a, d, b))


def test_each_event_has_its_own_loss_under_the_model_that_is_worst_for_it() -> None:
    models = [MOBILITY, Mobility.gaussian(GRID, sigma=0.5), Mobility.gaussian(GRID, sigma=3.0)]
    events = [EVENT, at({5}, 1), presence({2, 3}, [1, 2])]
    guard = protector(mobility=models, protections=[Protect(event, 0.7) for event in events])
    columns: list[Array] = []
    for cell in (0, 5):
        release = guard.release(cell)
        columns.append(release.column)
        by_model = [[losses_by_enumeration(e, m, columns) for m in models] for e in events]
        worst = [max(losses) for losses in by_model]
        assert list(release.private.losses.values()) == pytest.approx(worst, rel=1e-8)
    assert len({round(loss, 3) for losses in by_model for loss in losses}) == 9


def fail_once(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
    """Make the next call of a function raise, and only that."""
    works = getattr(owner, name)

    def broken(*_: object, **__: object) -> None:
        monkeypatch.setattr(owner, name, works)
        raise OSError(f"{name} is broken")

    monkeypatch.setattr(owner, name, broken)


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize("part", ["plan", "draw", "observe", "moved", "Diary", "Release"])
def test_after_an_error_the_stream_goes_on_as_if_nothing_had_been(
    part: str, planned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard, untouched = (protector(calibration=EveryOutput()) for _ in range(2))
    for each in (guard, untouched):
        monkeypatch.setattr(each._randomness, "draw", lambda row: int(np.argmax(row)))
        each.release(0)
    if planned and part != "plan":
        guard.plan()
    before = guard._left
    owners = {
        "plan": EveryOutput,
        "draw": guard._randomness,
        "observe": PublicState,
        "moved": Watched,
    }
    fail_once(monkeypatch, owners.get(part, priste.protector), part)
    with pytest.raises(OSError, match=f"{part} is broken"):
        guard.release(4)
    assert guard.step == 1
    assert guard._left is before
    for cell in PATH:
        one, other = guard.release(cell), untouched.release(cell)
        assert one == other
        assert one.private == other.private
        np.testing.assert_array_equal(one.column, other.column)


def test_a_skip_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = protector()
    guard.release(0)
    before, plan = guard._left, guard.plan()
    fail_once(monkeypatch, PublicState, "arrive")
    with pytest.raises(OSError, match="arrive is broken"):
        guard.skip()
    assert guard._left is before
    assert guard.plan() is plan
    guard.skip()
    assert guard.plan() is not plan


@pytest.mark.parametrize(
    ("true_cell", "problem"),
    [
        (6, "it is above 5"),
        (77777, "it is above 5"),
        (-1, "it is negative"),
        (2.5, "not a whole number but of type float"),
        (True, "not a whole number but of type bool"),
        (None, "of type NoneType"),
    ],
)
def test_a_true_cell_off_the_map_is_refused_unnamed_and_nothing_changes(
    true_cell: object, problem: str
) -> None:
    guard, untouched = protector(), protector()
    guard.release(0)
    untouched.release(0)
    with pytest.raises(ProtectionError, match=f"step 1 is not on the map: .*{problem}") as caught:
        guard.release(true_cell)  # type: ignore[arg-type]
    assert "77777" not in str(caught.value)
    assert "cells are 0 to 5" in str(caught.value)
    assert guard.step == 1
    for cell in PATH:
        one, other = guard.release(cell), untouched.release(cell)
        assert one == other
        assert one.private == other.private


def test_a_mobility_that_ends_refuses_the_step_beyond_it_and_no_other() -> None:
    guard = protector(mobility=Mobility([MOBILITY.transition(0)] * 4))
    for cell in PATH[:5]:
        guard.release(cell)
    with pytest.raises(MobilityError, match="has 4 transitions"):
        guard.release(0)
    assert guard.step == 5


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"protections": EVENT}, ProtectionError, "must be Protect\\(event, epsilon\\)"),
        ({"protections": None}, ProtectionError, "must be Protect\\(event, epsilon\\)"),
        ({"protections": [EVENT]}, ProtectionError, "must be Protect\\(event, epsilon\\)"),
        (
            {"protections": [Protect(EVENT, 0.5), EVENT]},
            ProtectionError,
            "must be Protect\\(event, epsilon\\)",
        ),
        ({"mobility": [MOBILITY, np.eye(6)]}, ProtectionError, "a Mobility or several"),
        ({"mobility": []}, ProtectionError, "a Mobility or several"),
        (
            {"mobility": [MOBILITY, Mobility(np.eye(5))]},
            ProtectionError,
            "the mechanism has 6 cells, the mobility 5",
        ),
        ({"protections": Protect(at(9, 1), 0.5)}, EventError, "off the map at step 1: 9"),
        (
            {"mechanism": Exponential(Grid(1, 3), 1.0)},
            ProtectionError,
            "the mechanism has 3 cells, the mobility 6",
        ),
        ({"mobility": np.eye(6)}, ProtectionError, r"wrap a matrix: Mobility\(matrix\)"),
        ({"mechanism": np.eye(6)}, ProtectionError, "got ndarray; wrap a matrix: EmissionMatrix"),
        ({"prior": [0.5, 0.5]}, ProtectionError, "prior must be like .*, got list"),
        ({"calibration": Retry}, ProtectionError, "calibration must be like .*, got Retry"),
        ({"prior": KnownPrior([0.5, 0.5])}, ValueError, r"one entry per cell \(6\), got 2"),
        ({"seed": "abc"}, ProtectionError, "seed must be"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    changes: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        protector(**changes)


@pytest.mark.parametrize("epsilon", [0, -0.5, float("nan"), float("inf"), "small"])
def test_a_wrong_epsilon_is_refused(epsilon: object) -> None:
    with pytest.raises(ProtectionError, match="epsilon must be a finite number above 0, got"):
        Protect(EVENT, epsilon)  # type: ignore[arg-type]


def test_a_wrong_protection_is_refused() -> None:
    with pytest.raises(ProtectionError, match="takes an event made of at, presence, ..., got str"):
        Protect("hospital", 0.5)  # type: ignore[arg-type]
    with pytest.raises(ProtectionError, match="sides must be one of both, event, got 'none'"):
        Protect(EVENT, 0.5, sides="none")  # type: ignore[arg-type]


def test_the_default_serves_people() -> None:
    """The optimal remap against beliefs near the model's: an error well below a random cell's."""
    city = Grid(12, 12)
    mobility = Mobility.gaussian(city, sigma=2.0)
    clinic = presence(city.disc(3.0, 3.0, radius=1.5), range(8, 12))
    guard = Protector(mobility, PlanarLaplace(city, 1.0), Protect(clinic, 1.0), seed=0)
    assert isinstance(guard.calibration, OptimalRemap)
    assert isinstance(guard.prior, NearPrior)
    assert guard.prior.rho == 0.1
    np.testing.assert_array_equal(guard.prior.belief, mobility.initial)
    path = mobility.sample(12, seed=0).tolist()
    errors = [city.distances[cell, guard.release(cell).cell] for cell in path]
    assert np.mean(errors) < 2.5 < 0.5 * city.distances.mean()


def test_without_distances_the_default_hits_the_true_cell_as_often_as_it_can() -> None:
    matrix = EmissionMatrix(0.9 * np.eye(6) + 0.1 / 6)
    guard = Protector(MOBILITY, matrix, Protect(EVENT, 0.5), seed=0)
    assert guard.release(3).private.losses["event 1"] <= 0.5


@pytest.mark.parametrize("calibration", [OptimalRemap(), EveryOutput()])
def test_anybody_can_make_the_plans_again_and_finds_the_released_columns(
    calibration: OptimalRemap | EveryOutput,
) -> None:
    """From public things alone: the model, the events, and what was released."""
    prior = NearPrior(np.full(6, 1 / 6), 0.2)
    guard = protector(seed=1, prior=prior, calibration=calibration)
    releases = [guard.release(cell) for cell in PATH]
    stranger = protector(seed=None, prior=prior, calibration=calibration)
    state = stranger.beginning()
    for release in releases:
        state = state.arrive()
        plan = calibration.plan(state.situation())
        np.testing.assert_array_equal(plan.emission[:, release.cell], release.column)
        state = state.observe(release.column, plan.warm_start)
    assert any(not np.array_equal(r.column, releases[0].column) for r in releases)


def test_the_plan_of_the_next_release_is_the_one_it_is_drawn_from() -> None:
    guard = protector(calibration=OptimalRemap())
    for cell in PATH[:3]:
        plan = guard.plan()
        assert guard.plan() is plan  # made once
        release = guard.release(cell)
        assert isinstance(plan, CertifiedPlan)
        np.testing.assert_array_equal(plan.emission[:, release.cell], release.column)
    assert guard.step == 3


def test_only_a_stream_as_it_began_can_be_audited() -> None:
    guard = protector(calibration=EveryOutput())
    later = Protect(at({1}, 9), 1.0, name="later")
    guard.add(later)  # before the first release: as if it had been asked for at the start
    assert len(guard.beginning().watched) == 2
    guard.release(0)
    guard.add(Protect(at({1}, 12), 1.0, name="much later"))
    with pytest.raises(ProtectionError, match="other events or models than it began with"):
        audit(guard, 2)


def test_a_stream_may_begin_without_events() -> None:
    guard = protector(protections=[])
    first = guard.release(PATH[0])
    guard.add(Protect(EVENT, 0.5))
    assert guard.release(PATH[1]).step == first.step + 1
    assert [entry.epsilon for entry in guard.account()] == [0.5]


def test_a_protector_says_how_many_events_it_has() -> None:
    one = Protect(at({0}, 3), 1.0)
    guard = Protector(MOBILITY, NOISE, one)
    assert repr(guard) == "Protector(1 event, OptimalRemap, next step 0)"
    guard.add(Protect(at({1}, 3), 1.0))
    assert repr(guard) == "Protector(2 events, OptimalRemap, next step 0)"


def test_against_mixtures_nothing_waits() -> None:
    models = (MOBILITY, MOBILITY)
    assert Protector(models, NOISE, (), mixtures=True).eta == 0
    assert Protector(models, NOISE, ()).eta == DEFAULT_ETA


def test_each_of_several_additions_must_be_a_protection() -> None:
    guard = Protector(MOBILITY, NOISE, ())
    with pytest.raises(ProtectionError, match="add takes one or more"):
        guard.add([Protect(at({0}, 3), 1.0), at({1}, 3)])  # type: ignore[list-item]
    assert len(guard.account()) == 0


@pytest.mark.parametrize("several", [False, True])
def test_an_exchange_at_the_start_can_be_audited_from_there_and_a_later_one_cannot(
    several: bool,
) -> None:
    n = MOBILITY.n_cells
    other = Mobility(np.full((n, n), 1 / n))
    guard = Protector(MOBILITY, NOISE, Protect(at({0}, 30), 1.0))
    guard.exchange([other] if several else other)
    assert guard.mobilities == (other,)
    assert guard.beginning().mobilities == (other,)
    guard.skip()
    assert guard.beginning().step == -1
    guard.exchange(MOBILITY)
    with pytest.raises(ProtectionError, match="the stream has gone on"):
        guard.beginning()
    guard.exchange(other)
    with pytest.raises(ProtectionError, match="the stream has gone on"):
        guard.beginning()


def test_a_protector_at_a_state_cannot_be_audited_from_its_beginning() -> None:
    guard = Protector(MOBILITY, NOISE, Protect(at({0}, 3), 1.0))
    again = Protector.at(guard.state, guard.calibration, guard.draws)
    with pytest.raises(ProtectionError, match="the stream has gone on"):
        again.beginning()


def test_a_release_that_is_repeated_leaves_what_the_drawn_one_left() -> None:
    events = [Protect(at({0}, 2), 1.0, name="a"), Protect(at({1}, 3), 0.5, name="b")]
    drawn, repeated = (Protector(MOBILITY, NOISE, events, seed=4) for _ in range(2))
    for cell in (0, 1, None, 0, 1):
        if cell is None:
            drawn.skip()
            repeated.skip()
        else:
            release = drawn.release(cell)
            assert repeated.repeat(release.column) == release.private.losses
        assert str(drawn.account()) == str(repeated.account())
    assert repeated.draws != drawn.draws
