import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priste import (
    AnyPrior,
    AnyPriorOn,
    EmissionMatrix,
    EventError,
    EveryOutput,
    Grid,
    KnownPrior,
    LocationSet,
    Mobility,
    NearPrior,
    NoNoise,
    OptimalRemap,
    PlanarLaplace,
    Prior,
    Protect,
    ProtectionError,
    Protector,
    audit,
    presence,
    privacy_loss,
)
from priste.calibration import Calibration, Situation
from priste.calibration.optimal import Loss
from priste.calibration.program import Program, SolverError
from priste.calibration.spending import RESERVE, rationed
from priste.calibration.weighing import weights
from priste.checks import Array
from priste.stream import PublicState
from tests.calibration.test_every_output import protectors
from tests.oracles import best_remap_loss
from tests.strategies import random_stochastic

GRID = Grid(4, 4)
MOBILITY = Mobility.gaussian(GRID, sigma=1.0)
EVENT = presence({0, 1, 4, 5}, [2, 3])
UNIFORM = np.full(16, 1 / 16)
ALONE = EmissionMatrix(np.eye(16))


def random_remap(random: np.random.Generator, grid: Grid) -> Calibration:
    return OptimalRemap(
        grid.distances,
        loss=["distance", "squared", "same cell"][random.integers(3)],
        spending=["all", "proportional", "rolling"][random.integers(3)],  # type: ignore[arg-type]
        avoid_secret=bool(random.integers(2)),
        margin=[0.0, 0.3][random.integers(2)],
        focus=[1.0, 3.0][random.integers(2)],
        thrift=[0.0, 0.3][random.integers(2)],
        gap=float(10 ** random.uniform(-4, -1)),
        rounds=int(random.integers(1, 30)),
        outputs=None if random.random() < 0.7 else int(random.integers(1, grid.n_cells + 1)),
    )


def test_no_sequence_anyone_can_see_exceeds_epsilon() -> None:
    audited, informative = 0, 0

    @settings(max_examples=450)
    @given(st.data())
    def keep_the_promise(data: st.DataObject) -> None:
        nonlocal audited, informative
        try:
            protector, steps = data.draw(protectors(random_remap))
        except EventError:
            return  # an event that cannot happen or cannot fail
        result = audit(protector, min(steps, 3))
        for finding in result.findings:
            assert finding.realised.max() <= finding.promised + 1e-9
        audited += 1
        informative += max(f.realised.max() / f.promised for f in result.findings) > 0.5

    keep_the_promise()
    assert audited >= 100
    assert informative >= 30


def test_the_belief_in_the_middle_keeps_a_margin_and_those_around_it_their_promise() -> None:
    line, epsilon, margin = Grid(1, 4), 0.8, 0.5
    near = NearPrior([0.4, 0.3, 0.2, 0.1], 0.4)
    middle = KnownPrior(near.vertices(4).mean(axis=0))
    mobility, event = Mobility.gaussian(line, 0.7), presence({0}, [1, 2])
    guard = Protector(
        mobility,
        PlanarLaplace(line, 2.0),
        Protect(event, epsilon),
        prior=near,
        calibration=OptimalRemap(margin=margin),
        eta=0.0,
    )
    largest: dict[Prior, float] = {near: 0.0, middle: 0.0}

    def follow(state: PublicState, columns: list[Array]) -> None:
        for prior in largest if columns else ():
            loss = privacy_loss(event, mobility, columns, prior=prior)[-1]
            largest[prior] = max(largest[prior], float(loss))
        if len(columns) < 3:
            now = state.arrive()
            for outcome in guard.calibration.plan(now.situation()).outcomes():
                follow(now.observe(outcome.column, None), [*columns, outcome.column])

    follow(guard.beginning(), [])
    assert largest[middle] == pytest.approx((1 - margin) * epsilon, rel=1e-5)  # a little room
    assert (1 - margin) * epsilon < largest[near] <= epsilon


def first_step(prior: Prior, epsilon: float = 0.5, mechanism: object = ALONE) -> Situation:
    protect = Protect(EVENT, epsilon)
    protector = Protector(MOBILITY, mechanism, protect, prior=prior, calibration=EveryOutput())  # type: ignore[arg-type]
    return protector.beginning().arrive().situation()


def linear_cuts(situation: Situation, mechanism: Array, epsilon: float) -> list[Array]:
    """What the promise demands of a column of Q for one known prior, from the definition."""
    (evidence,) = situation.evidence
    (true,), (false,) = evidence.masses
    happens, fails = true / evidence.a[0], false / evidence.not_a[0]
    factor = math.exp(epsilon)
    return [mechanism.T @ (happens - factor * fails), mechanism.T @ (fails - factor * happens)]


def usable(epsilon: float, spent: float) -> float:
    """What a step may use: ε without the reserve, or a little more than what is spent."""
    return max(0.98 * epsilon, spent + max(1e-6 * epsilon, 1e-8))


LARGER = Grid(7, 7)
STRIP = presence({0, 1, 7, 8}, range(3, 8))


@pytest.mark.parametrize(
    ("epsilon", "noise", "sigma", "loss"),
    [
        (0.5, None, 1.0, "distance"),
        (0.1, None, 0.5, "distance"),
        (2.0, None, 0.5, "same cell"),
        (0.5, 2.0, 1.0, "squared"),
    ],
)
def test_with_a_known_prior_the_remap_is_the_optimum_of_the_whole_program(
    epsilon: float, noise: float | None, sigma: float, loss: Loss
) -> None:
    mobility = Mobility.gaussian(LARGER, sigma)
    mechanism = NoNoise(LARGER) if noise is None else PlanarLaplace(LARGER, noise)
    remap = OptimalRemap(loss=loss)
    prior = KnownPrior(np.full(49, 1 / 49))
    protector = Protector(
        mobility, mechanism, Protect(STRIP, epsilon), prior=prior, calibration=remap, seed=1
    )
    losses = {"distance": LARGER.distances, "squared": LARGER.distances**2}.get(
        loss, 1 - np.eye(49)
    )
    matrix, spent = mechanism.emission(), 0.0
    for cell in mobility.sample(9, seed=2).tolist():
        now = protector._left.arrive().situation()
        plan = remap.plan(now)
        cost = matrix.T @ (weights(now)[:, None] * losses)
        cuts = linear_cuts(now, matrix, usable(epsilon, spent))
        optimum = best_remap_loss(cost, [cut / np.abs(cut).max() for cut in cuts])
        assert plan.bound == pytest.approx(optimum, rel=1e-6, abs=1e-7)
        assert plan.expected_loss == pytest.approx(
            optimum, rel=2e-3, abs=1e-5
        )  # repaired and rounded
        assert not plan.remark
        spent = protector.release(cell).private.losses["event 1"]


PRIORS: list[Prior] = [KnownPrior(UNIFORM), NearPrior(UNIFORM, 0.1), AnyPrior()]


@pytest.mark.parametrize("prior", PRIORS)
def test_no_other_remap_that_passes_is_better(prior: Prior) -> None:
    now = first_step(prior)
    plan = OptimalRemap(GRID.distances, gap=1e-3, rounds=300, outputs=16).plan(now)
    allowed = rationed(now, "all")
    assert allowed.forbidden_output(plan.emission) is None
    assert plan.expected_loss <= 1.002 * plan.bound
    random, passed = np.random.default_rng(0), 0
    for attempt in range(300):
        other = random_stochastic(random, (16, 16))
        if attempt % 2:  # from the best one outwards
            other = 0.97 * plan.emission + 0.03 * other
        constant = random_stochastic(random, (16,))
        share = random.uniform(0, 0.5) ** (1 + attempt % 3)
        other = (1 - share) * other + share * constant
        if allowed.forbidden_output(other) is None:
            passed += 1
            assert (weights(now)[:, None] * other * GRID.distances).sum() >= plan.bound - 1e-9
    assert passed > 10


def test_a_stronger_adversary_costs_more() -> None:
    near = [NearPrior(UNIFORM, 0.01), NearPrior(UNIFORM, 0.3)]
    priors: list[Prior] = [KnownPrior(UNIFORM), *near, AnyPrior()]
    remap = OptimalRemap(GRID.distances, gap=1e-3, rounds=200)
    losses = [remap.plan(first_step(prior)).expected_loss for prior in priors]
    assert losses == sorted(losses)
    assert losses[0] < 0.5 * losses[-1]
    region = remap.plan(first_step(AnyPriorOn([0, 5, 10, 15]))).expected_loss
    assert region < losses[-1]  # cells where nobody believes the person to be cost nothing


def test_it_is_much_better_than_weaker_noise() -> None:
    protect, prior = Protect(EVENT, 0.5), KnownPrior(UNIFORM)
    errors = []
    for calibration in (OptimalRemap(GRID.distances), EveryOutput()):
        found = []
        for seed in range(4):
            guard = Protector(
                MOBILITY,
                PlanarLaplace(GRID, 3.0),
                protect,
                prior=prior,
                calibration=calibration,
                seed=seed,
            )
            path = MOBILITY.sample(8, seed=seed).tolist()
            found += [GRID.distances[r.private.true_cell, r.cell] for r in guard.stream(path)]
        errors.append(np.mean(found))
    assert errors[0] < 0.6 * errors[1]


def test_the_location_privacy_of_the_mechanism_is_kept() -> None:
    noise = PlanarLaplace(GRID, 1.5)
    plan = OptimalRemap().plan(first_step(NearPrior(UNIFORM, 0.1), mechanism=noise))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(plan.emission[:, None, :] / plan.emission[None, :, :])
    allowed = 1.5 * GRID.distances[:, :, None]
    assert (
        ratios[np.isfinite(ratios)]
        <= np.broadcast_to(allowed, ratios.shape)[np.isfinite(ratios)] + 1e-6
    ).all()
    assert not np.isinf(ratios).any()  # what is possible from one cell is from all


def test_nothing_public_depends_on_the_true_cell() -> None:
    """Two people, each released until their outputs agree, leave the same public state."""
    prior, protect = NearPrior(UNIFORM, 0.1), Protect(EVENT, 0.05)
    by_outputs: dict[tuple[int, ...], list[tuple[int, Protector]]] = {}
    for path, seed in product(([5, 6], [10, 6]), range(12)):
        remap = OptimalRemap(GRID.distances, outputs=4)
        protector = Protector(MOBILITY, ALONE, protect, prior=prior, calibration=remap, seed=seed)
        outputs = tuple(protector.release(cell).cell for cell in path)
        by_outputs.setdefault(outputs, []).append((path[0], protector))
    shared = [found for found in by_outputs.values() if len({first for first, _ in found}) == 2]
    assert shared
    for found in shared:
        states = [protector._left for _, protector in found]
        for state in states[1:]:
            now, then = (s.whereabouts.by_model for s in (state, states[0]))
            np.testing.assert_array_equal(now, then)
            assert state.warm_start is not None
            assert states[0].warm_start is not None
            assert state.warm_start.beliefs == states[0].warm_start.beliefs
            for mine, other in zip(state.evidence, states[0].evidence, strict=True):
                np.testing.assert_array_equal(mine.released, other.released)


def test_what_a_step_learned_saves_work_at_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    solves = 0
    solved = Program.solve

    def counted(program: Program) -> Array:
        nonlocal solves
        solves += 1
        return solved(program)

    monkeypatch.setattr(Program, "solve", counted)
    remap = OptimalRemap(GRID.distances, outputs=16, gap=1e-4)
    prior = NearPrior(UNIFORM, 0.1)
    protector = Protector(
        MOBILITY, ALONE, Protect(EVENT, 0.5), prior=prior, calibration=remap, eta=0, seed=0
    )
    counts = {"warm": 0, "cold": 0}
    for cell in (3, 3, 7, 6, 6):
        now = protector._left.arrive().situation()
        for how, situation in (("warm", now), ("cold", replace(now, warm_start=None))):
            solves = 0
            remap.plan(situation)
            counts[how] += solves
        protector.release(cell)
    assert now.warm_start is not None
    assert now.warm_start.beliefs
    assert counts["warm"] < counts["cold"]


def test_mechanisms_need_not_release_cells() -> None:
    random = np.random.default_rng(0)
    for n_outputs in (4, 30):
        mechanism = EmissionMatrix(random_stochastic(random, (16, n_outputs)))
        for limit in (60.0, 1e-9):
            remap = OptimalRemap(GRID.distances, time_limit=limit)
            protector = Protector(
                MOBILITY,
                mechanism,
                Protect(EVENT, 0.5),
                prior=KnownPrior(UNIFORM),
                calibration=remap,
                seed=0,
            )
            assert 0 <= protector.release(3).cell < 16


def test_merging_does_not_care_how_the_mechanism_numbers_its_outputs() -> None:
    order = np.random.default_rng(0).permutation(16)
    remap = OptimalRemap(GRID.distances, outputs=6)
    plain = remap.plan(first_step(NearPrior(UNIFORM, 0.1)))
    mixed = remap.plan(
        first_step(NearPrior(UNIFORM, 0.1), mechanism=EmissionMatrix(np.eye(16)[order]))
    )
    assert mixed.expected_loss == pytest.approx(plain.expected_loss, rel=0.02)


def test_nothing_outside_a_location_set_is_released() -> None:
    belief = np.array([0.3, 0.3, 0.3, *[0.1 / 13] * 13])
    inner = LocationSet(PlanarLaplace(GRID, 1.0), 0.2, belief)
    now = (
        Protector(MOBILITY, inner, Protect(EVENT, 0.5), prior=AnyPrior(), calibration=EveryOutput())
        .beginning()
        .arrive()
        .situation()
    )
    plan = OptimalRemap().plan(now)
    allowed = np.flatnonzero(now.mechanism.emission().any(axis=0))
    assert set(np.flatnonzero(plan.emission.any(axis=0))) <= set(allowed)
    assert len(allowed) < 16


def test_running_out_of_rounds_is_said() -> None:
    plan = OptimalRemap(GRID.distances, rounds=1, outputs=16).plan(first_step(AnyPrior()))
    assert "not within 0.01 of the bound" in plan.remark


def test_if_the_solver_fails_something_certified_serves_and_the_diary_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(program: Program) -> Array:
        raise SolverError(f"no idea about {program.n_columns} columns")

    monkeypatch.setattr(Program, "solve", fail)
    for mechanism in (PlanarLaplace(GRID, 1.0), ALONE):
        remap = OptimalRemap(GRID.distances)
        protector = Protector(
            MOBILITY, mechanism, Protect(EVENT, 0.5), prior=AnyPrior(), calibration=remap, seed=0
        )
        release = protector.release(3)
        assert "the solver found no optimum (no idea" in release.private.remark
        assert "same answer from everywhere" in release.private.remark or (
            "EveryOutput" in release.private.remark
        )
        assert release.private.losses["event 1"] <= 0.5
        assert "remark" not in release.public()


def test_when_the_time_is_up_the_best_so_far_serves() -> None:
    remap = OptimalRemap(GRID.distances, time_limit=1e-9)
    protector = Protector(
        MOBILITY, ALONE, Protect(EVENT, 0.5), prior=AnyPrior(), calibration=remap, seed=0
    )
    release = protector.release(3)
    assert release.private.remark
    assert release.private.losses["event 1"] <= 0.5


@pytest.mark.parametrize("spending", ["all", "proportional", "rolling"])
def test_a_step_may_use_what_its_spending_says(spending: str) -> None:
    remap = OptimalRemap(GRID.distances, spending=spending)  # type: ignore[arg-type]
    protector = Protector(
        MOBILITY, ALONE, Protect(EVENT, 1.0), prior=KnownPrior(UNIFORM), calibration=remap, seed=0
    )
    losses = [protector.release(cell).private.losses["event 1"] for cell in (5, 6, 10, 10, 9)]
    most = 1 - RESERVE + 1e-5
    limits = {"all": [most] * 5, "proportional": [most * k / 4 for k in (1, 2, 3, 4, 4)]}
    limits["rolling"] = [most / 4, *[most] * 4]
    assert all(loss <= limit for loss, limit in zip(losses, limits[spending], strict=True))
    assert max(losses) > 0.1


def test_losses_other_than_distance_can_be_minimised() -> None:
    now = first_step(KnownPrior(UNIFORM))
    squared = OptimalRemap(GRID.distances, loss="squared").plan(now)
    hit = OptimalRemap(loss="same cell").plan(now)
    own = OptimalRemap(loss=GRID.distances).plan(now)
    assert own.expected_loss == pytest.approx(
        OptimalRemap(GRID.distances).plan(now).expected_loss, rel=1e-9
    )
    for plan, losses in ((squared, GRID.distances**2), (hit, 1 - np.eye(16))):
        assert plan.expected_loss == pytest.approx(
            (UNIFORM[:, None] * plan.emission * losses).sum()
        )
        others = [p for p in (squared, hit, own) if p is not plan]
        for other in others:
            assert plan.expected_loss <= (UNIFORM[:, None] * other.emission * losses).sum() + 1e-9


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ProtectionError, match="spending must be one of all, proportional, rolling"):
        OptimalRemap(spending="some")  # type: ignore[arg-type]
    with pytest.raises(ProtectionError, match="loss must be one of distance, squared, same cell"):
        OptimalRemap(loss="far")
    with pytest.raises(ProtectionError, match="must be a square matrix, got shape"):
        OptimalRemap(np.ones((2, 3)))
    with pytest.raises(ProtectionError, match="does not know how far cells are apart"):
        OptimalRemap().plan(first_step(KnownPrior(UNIFORM)))
    with pytest.raises(ProtectionError, match="losses are for 3 cells, the mobility has 16"):
        OptimalRemap(np.ones((3, 3))).plan(first_step(KnownPrior(UNIFORM)))
    with pytest.raises(ProtectionError, match="gap must be"):
        OptimalRemap(gap=0)
    with pytest.raises(ProtectionError, match="margin"):
        OptimalRemap(margin=1)
    with pytest.raises(ProtectionError, match="focus must be a finite number above 0, got 0"):
        OptimalRemap(focus=0)
    with pytest.raises(ProtectionError, match="thrift must be a finite number of at least 0, got"):
        OptimalRemap(thrift=-0.1)
    for name in ("rounds", "outputs"):
        with pytest.raises(ProtectionError, match=f"{name} must be a whole number of at least 1"):
            OptimalRemap(**{name: 0})  # type: ignore[arg-type]
        assert getattr(OptimalRemap(**{name: 1}), name) == 1  # type: ignore[arg-type]
    for wrong in (np.empty(0), np.ones(4)):
        with pytest.raises(ProtectionError, match="distances must have 2 dimension"):
            OptimalRemap(wrong)
    with pytest.raises(ProtectionError, match="loss must be a square matrix, got shape \\(0, 0\\)"):
        OptimalRemap(loss=np.empty((0, 0)))


def test_what_is_asked_for_unless_said_otherwise() -> None:
    assert repr(OptimalRemap(GRID.distances)) == (
        "OptimalRemap(spending='all', margin=0.0, focus=1.0, thrift=0.0, avoid_secret=False, "
        "gap=0.01, outputs=None)"
    )
    assert (OptimalRemap().rounds, OptimalRemap().time_limit) == (100, 120)
    assert OptimalRemap().loss == "distance"
    assert OptimalRemap().distances is None
    assert OptimalRemap.is_guarantee


def test_given_distances_count_before_those_that_the_mechanism_knows() -> None:
    now = first_step(KnownPrior(UNIFORM), mechanism=NoNoise(GRID))
    own, given = OptimalRemap().plan(now), OptimalRemap(3 * GRID.distances).plan(now)
    assert given.expected_loss == pytest.approx(3 * own.expected_loss, rel=1e-6)


def test_without_a_solver_the_better_of_two_simple_plans_serves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: Program) -> Array:
        raise SolverError("no")

    monkeypatch.setattr(Program, "solve", fail)
    remarks = []
    for epsilon, prior in ((0.1, AnyPrior()), (5.0, KnownPrior(UNIFORM))):
        now = first_step(prior, epsilon, PlanarLaplace(GRID, 2.0))
        plan = OptimalRemap().plan(now)
        noise = EveryOutput().plan(rationed(now, "all")).emission
        expected = [
            float((weights(now)[:, None] * noise * GRID.distances).sum()),
            float((weights(now) @ GRID.distances).min()),
        ]
        assert plan.expected_loss == pytest.approx(min(expected), rel=1e-12)
        remarks.append(plan.remark)
    assert remarks[0].endswith("the same answer from everywhere")
    assert remarks[1].endswith("weakened noise instead (EveryOutput)")


@pytest.mark.parametrize("prior", [KnownPrior(UNIFORM), NearPrior(UNIFORM, 0.1), AnyPrior()])
def test_no_cell_is_released_while_an_event_asks_about_it(prior: Prior) -> None:
    options = {"prior": prior, "seed": 3}
    noise = PlanarLaplace(GRID, 1.0)
    remap = OptimalRemap(avoid_secret=True)
    protector = Protector(MOBILITY, noise, Protect(EVENT, 0.5), calibration=remap, **options)  # type: ignore[arg-type]
    for cell in (5, 5, 5, 4, 5, 5):
        plan = protector.plan()
        step = protector.release(cell).step
        shown = plan.emission.any(axis=0)  # type: ignore[attr-defined]
        assert not (step in (2, 3) and shown[[0, 1, 4, 5]].any())
        assert step > 1 or shown[[0, 1, 4, 5]].any()
    assert audit(
        Protector(MOBILITY, noise, Protect(EVENT, 0.5), calibration=remap, **options),  # type: ignore[arg-type]
        steps=4,
        samples=20,
        seed=1,
    ).kept


def test_the_remap_that_avoids_cells_is_the_best_of_those_that_do() -> None:
    remap, noise = OptimalRemap(avoid_secret=True), PlanarLaplace(GRID, 1.0)
    protector = Protector(
        MOBILITY, noise, Protect(EVENT, 0.5), prior=KnownPrior(UNIFORM), calibration=remap, seed=1
    )
    matrix, spent = noise.emission(), 0.0
    for cell in (5, 6, 5, 4):
        now = protector._left.arrive().situation()
        plan = remap.plan(now)
        allowed = [c for c in range(16) if now.evidence[0].step < 2 or c not in (0, 1, 4, 5)]
        cost = matrix.T @ (weights(now)[:, None] * GRID.distances[:, allowed])
        cuts = linear_cuts(now, matrix, usable(0.5, spent))
        optimum = best_remap_loss(cost, [cut / np.abs(cut).max() for cut in cuts])
        assert plan.bound == pytest.approx(optimum, rel=1e-6, abs=1e-7)
        assert plan.expected_loss == pytest.approx(optimum, rel=2e-3, abs=1e-5)
        spent = protector.release(cell).private.losses["event 1"]


def test_where_everything_is_secret_nothing_is_avoided() -> None:
    everywhere = presence(range(16), [1]) & presence([3], [2])
    protector = Protector(
        MOBILITY,
        PlanarLaplace(GRID, 1.0),
        Protect(everywhere, 0.5),
        calibration=OptimalRemap(avoid_secret=True),
        seed=1,
    )
    assert [protector.release(cell).step for cell in (3, 3, 3)] == [0, 1, 2]


def test_when_the_solver_fails_secret_cells_are_avoided_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise SolverError("planted")

    monkeypatch.setattr(Program, "solve", fail)
    protector = Protector(
        MOBILITY,
        PlanarLaplace(GRID, 1.0),
        Protect(presence([5, 6, 9, 10], [0]), 0.5),
        prior=KnownPrior(UNIFORM),
        calibration=OptimalRemap(avoid_secret=True),
    )
    plan = protector.plan()
    assert "the same answer from everywhere" in plan.remark
    assert not plan.emission[:, [5, 6, 9, 10]].any()  # type: ignore[attr-defined]
