from collections.abc import Callable

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
    Exponential,
    Grid,
    KnownPrior,
    LocationSet,
    Mechanism,
    Mobility,
    NearPrior,
    PlanarLaplace,
    Prior,
    Protect,
    ProtectionError,
    Protector,
    audit,
    presence,
)
from priste.calibration import Calibration, Situation
from tests.oracles import realised_by_enumeration
from tests.strategies import events, generators, random_event, random_stochastic

MECHANISMS = ["laplace", "exponential", "matrix", "set of laplace", "set of matrix"]
PRIORS = ["any", "on", "known", "near"]


def random_mechanism(kind: str, grid: Grid, random: np.random.Generator) -> Mechanism:
    n, budget = grid.n_cells, 10 ** random.uniform(-1, 1.2)
    base: Mechanism = {
        "laplace": PlanarLaplace(grid, budget),
        "exponential": Exponential(grid, budget),
        "matrix": EmissionMatrix(random_stochastic(random, (n, n), zeros=0.3)),
    }[kind.removeprefix("set of ")]
    if not kind.startswith("set of"):
        return base
    return LocationSet(
        base, random.uniform(0, 0.5), random_stochastic(random, (n,)), grid.distances
    )


def random_prior(kind: str, n: int, random: np.random.Generator) -> Prior:
    belief = random_stochastic(random, (n,))
    priors: dict[str, Prior] = {
        "any": AnyPrior(),
        "on": AnyPriorOn(random.choice(n, size=random.integers(1, n + 1), replace=False).tolist()),
        "known": KnownPrior(belief),
        "near": NearPrior(belief, random.uniform(0, 1)),
    }
    return priors[kind]


def random_every_output(random: np.random.Generator, grid: Grid) -> Calibration:  # noqa: ARG001
    return EveryOutput(
        decay=float(random.uniform(0.2, 0.8)),
        weakenings=int(random.integers(0, 6)),
        refine=int(random.integers(0, 3)),
    )


@st.composite
def protectors(
    draw: st.DrawFn, calibration: Callable[[np.random.Generator, Grid], Calibration]
) -> tuple[Protector, int]:
    n_cells = draw(st.integers(2, 5))
    steps = draw(st.integers(2, {2: 5, 3: 5, 4: 4, 5: 3}[n_cells]))
    random = draw(generators())
    mobility = Mobility(random_stochastic(random, (steps + 6, n_cells, n_cells), zeros=0.2))
    protections = [
        Protect(event, float(10 ** random.uniform(-3, 0.5)), sides=sides)  # type: ignore[arg-type]
        for event, sides in draw(
            st.lists(
                st.tuples(events(n_cells, 5, depth=2), st.sampled_from(["both", "event"])),
                min_size=1,
                max_size=3,
            )
        )
    ]
    protector = Protector(
        mobility,
        random_mechanism(draw(st.sampled_from(MECHANISMS)), Grid(1, n_cells), random),
        protections,
        prior=random_prior(draw(st.sampled_from(PRIORS)), n_cells, random),
        calibration=calibration(random, Grid(1, n_cells)),
    )
    return protector, steps


def test_no_sequence_anyone_can_see_exceeds_epsilon() -> None:
    audited, informative, silent = 0, 0, 0

    @settings(max_examples=400)
    @given(st.data())
    def keep_the_promise(data: st.DataObject) -> None:
        nonlocal audited, informative, silent
        try:
            protector, steps = data.draw(protectors(random_every_output))
        except EventError:
            return  # an event that cannot happen or cannot fail
        result = audit(protector, steps)
        for finding in result.findings:
            assert finding.realised.max() <= finding.promised + 1e-9
        audited += 1
        largest = max(finding.realised.max() for finding in result.findings)
        informative += largest > 1e-4
        silent += largest < 1e-10

    keep_the_promise()
    assert audited >= 100
    assert informative >= 50  # the promise is not kept by saying nothing ...
    assert silent >= 5  # ... except where nothing else would do


GRID = Grid(2, 3)
MOBILITY = Mobility.gaussian(GRID, sigma=1.0)
EVENT = presence({0, 1}, [2, 3])


def situation(protector: Protector, columns: list[np.ndarray]) -> Situation:
    state = protector.beginning()
    for column in columns:
        state = state.arrive().observe(column, None)
    return state.arrive().situation()


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0])
def test_the_strongest_candidate_of_which_every_output_passes_is_chosen(epsilon: float) -> None:
    protector = Protector(
        MOBILITY,
        Exponential(GRID, 4.0),
        Protect(EVENT, epsilon),
        prior=AnyPrior(),
        calibration=EveryOutput(),
    )
    now = situation(protector, [])
    chosen, tried = EveryOutput().choose(now)
    candidate: Mechanism = Exponential(GRID, 4.0)
    for _ in range(tried - 1):
        assert not all(now.allows(column) for column in candidate.lottery().T)
        candidate = candidate.weaker(0.5)
    assert chosen.budget == candidate.budget
    assert all(now.allows(column) for column in chosen.lottery().T)


def test_refining_gives_a_larger_budget_that_still_passes() -> None:
    protector = Protector(
        MOBILITY,
        Exponential(GRID, 4.0),
        Protect(EVENT, 0.4),
        prior=AnyPrior(),
        calibration=EveryOutput(),
    )
    now = situation(protector, [])
    plain, _ = EveryOutput().choose(now)
    refined, _ = EveryOutput(refine=12).choose(now)
    assert plain.budget < refined.budget < 2 * plain.budget
    assert all(now.allows(column) for column in refined.lottery().T)
    beyond = refined.with_budget(refined.budget * 1.001)
    assert not all(now.allows(column) for column in beyond.lottery().T)


def test_only_mechanisms_that_tell_something_are_tested() -> None:
    now = situation(
        Protector(
            MOBILITY,
            Exponential(GRID, 4.0),
            Protect(EVENT, 1e-6),
            prior=AnyPrior(),
            calibration=EveryOutput(),
        ),
        [],
    )
    for weakenings, refine in ((0, 0), (3, 0), (3, 2)):
        chosen, tried = EveryOutput(weakenings=weakenings, refine=refine).choose(now)
        assert tried == 1 + weakenings + refine
        assert chosen.budget == 0
    assert EveryOutput() == EveryOutput(decay=0.5, weakenings=11, refine=0)


def test_the_guarantee_needs_no_caveat() -> None:
    protector = Protector(
        MOBILITY, Exponential(GRID, 4.0), Protect(EVENT, 0.4), calibration=EveryOutput()
    )
    assert protector.release(0).caveats == ()


def test_refining_ends_where_numbers_do() -> None:
    protector = Protector(
        MOBILITY,
        Exponential(GRID, 4.0),
        Protect(EVENT, 0.4),
        prior=AnyPrior(),
        calibration=EveryOutput(),
    )
    refined, _ = EveryOutput(refine=2_000).choose(situation(protector, []))
    assert refined.budget == EveryOutput(refine=90).choose(situation(protector, []))[0].budget


class Chatty(Exponential):
    """Its version that should tell nothing tells something."""

    def uninformative(self) -> Mechanism:  # type: ignore[override]
        return EmissionMatrix(np.eye(6), budget=0.5)


def test_a_last_resort_that_tells_something_is_refused() -> None:
    protector = Protector(
        MOBILITY,
        Chatty(GRID, 4.0),
        Protect(EVENT, 1e-9),
        prior=AnyPrior(),
        calibration=EveryOutput(),
    )
    with pytest.raises(ProtectionError, match="uninformative version of Chatty must have budget 0"):
        protector.release(0)


def test_an_independent_judge_finds_the_promise_kept_under_every_model() -> None:
    judged = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        n, outputs = int(random.integers(2, 4)), int(random.integers(2, 4))
        models = [Mobility(random_stochastic(random, (n, n), zeros=0.2)) for _ in range(2)]
        event = random_event(random, n, 3, depth=2)
        prior = random_prior(PRIORS[seed % 4], n, random)
        matrix = EmissionMatrix(random_stochastic(random, (n, outputs), zeros=0.2))
        protection = Protect(event, float(10 ** random.uniform(-2, 0)))
        try:
            protector = Protector(
                models, matrix, protection, prior=prior, calibration=EveryOutput()
            )
        except EventError:
            continue
        for model in models:
            realised = realised_by_enumeration(protector, protection, 2, prior.vertices(n), model)
            assert realised <= protection.epsilon + 1e-9
            judged += realised > 1e-6
    assert judged >= 30


def test_where_only_the_uniform_output_passes_it_is_released() -> None:
    certain = EmissionMatrix(np.eye(6))
    protector = Protector(
        MOBILITY,
        certain,
        Protect(EVENT, 1e-3),
        calibration=EveryOutput(weakenings=0),
        seed=0,
        prior=AnyPrior(),
    )
    release = protector.release(3)
    assert release.private.budget == 0.0
    assert release.private.losses["event 1"] < 1e-12


def test_the_choice_is_the_same_for_every_true_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    public = []
    for true_path in ([0, 0, 0, 0], [5, 5, 5, 5], [0, 1, 4, 3]):
        protector = Protector(
            MOBILITY,
            LocationSet(Exponential(GRID, 4.0), 0.1, np.full(6, 1 / 6)),
            [Protect(EVENT, 0.4), Protect(presence({5}, [1]), 0.7)],
            calibration=EveryOutput(refine=3),
            prior=AnyPrior(),
        )
        # the same releases, whatever the truth: all that follows from them must be the same
        seen = iter([1, 0, 3, 4])
        monkeypatch.setattr(protector._randomness, "draw", lambda _, seen=seen: next(seen))
        releases = [protector.release(cell) for cell in true_path]
        state = protector._left
        public.append(
            (
                [(r.step, r.cell, r.caveats) for r in releases],
                [(r.private.budget, r.private.attempts, r.private.losses) for r in releases],
                [e.tensor.tobytes() for e in state.evidence],
                [b.tobytes() for b in state.whereabouts.by_model],
            )
        )
    assert public[0] == public[1] == public[2]


def test_all_outputs_at_once_agree_with_one_by_one() -> None:
    random = np.random.default_rng(2)
    grid = Grid(10, 10)
    protector = Protector(
        Mobility.gaussian(grid, 1.5),
        PlanarLaplace(grid, 1.0),
        Protect(presence(range(9), [1, 2]), 0.3),
        prior=AnyPrior(),
        calibration=EveryOutput(),
    )
    now = situation(protector, [PlanarLaplace(grid, 0.02).lottery()[:, 44]])
    verdicts = set()
    for budget in 10 ** random.uniform(-3, 0, 12):
        emission = PlanarLaplace(grid, float(budget)).lottery()
        forbidden = now.forbidden_output(emission, hint=int(random.integers(100)))
        allowed = [now.allows(column) for column in emission.T]
        assert (forbidden is None) == all(allowed)
        assert forbidden is None or not allowed[forbidden]
        verdicts.add(forbidden is None)
    assert verdicts == {True, False}


def test_draws_come_from_the_chosen_lottery_and_are_accounted_with_it() -> None:
    protector = Protector(
        MOBILITY,
        Exponential(GRID, 4.0),
        Protect(EVENT, 0.4),
        seed=5,
        prior=AnyPrior(),
        calibration=EveryOutput(),
    )
    now = situation(protector, [])
    chosen, _ = protector.calibration.choose(now)  # type: ignore[attr-defined]
    for _ in range(50):
        draw = protector.calibration.plan(now).draw(2, protector._randomness)
        assert draw.column.tolist() == chosen.lottery()[:, draw.output].tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"decay": 1.0}, "decay must lie strictly between 0 and 1, got 1.0"),
        ({"decay": 0.0}, "decay must be a finite number above 0, got 0.0"),
        ({"weakenings": -1}, "weakenings must be a whole number of at least 0, got -1"),
        ({"refine": 0.5}, "refine must be a whole number of at least 0, got 0.5"),
    ],
)
def test_wrong_parameters_are_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ProtectionError, match=message):
        EveryOutput(**arguments)  # type: ignore[arg-type]
