"""A GPU computes what the processor computes, and leaves to it what is unclear."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import priste
from priste import (
    AnyPrior,
    EveryOutput,
    Grid,
    KnownPrior,
    Mobility,
    NearPrior,
    NoGpuWarning,
    PlanarLaplace,
    Protect,
    Protector,
    accelerator,
    presence,
    use_gpu,
)
from priste.checks import FAINTEST, Array
from priste.evidence import EventModel, Evidence, FourVectors
from priste.gpu.device import Gpu
from priste.gpu.kernel import FAILS, HOLDS, UNSURE
from priste.gpu.noise import snapped_laplace
from priste.worst_case import GUARD, Sides, first_beyond, is_beyond, survives_disclosure, worst_case
from tests.gpu.stand_in import KINDS, device_of

CITY = Grid(4, 5)
HABITS = Mobility.gaussian(CITY, sigma=1.0)
SECRET = presence(CITY.disc(1, 1, radius=1.0), steps=range(1, 4))


@pytest.fixture(params=KINDS)
def device(request: pytest.FixtureRequest) -> Gpu:
    return device_of(request.param)


@pytest.fixture
def gpu(device: Gpu, monkeypatch: pytest.MonkeyPatch) -> Gpu:
    monkeypatch.setattr(accelerator, "_used", device)
    return device


def evidence_at(step: int, seed: int, prior: priste.Prior) -> Evidence:
    """Evidence after releases of random columns."""
    random = np.random.default_rng(seed)
    found = Evidence.start(EventModel(SECRET, HABITS), prior)
    for _ in range(step):
        found = found.observe(random.random(CITY.n_cells) ** 3).advance()
    return found


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 5),
    st.integers(0, 10**6),
    st.sampled_from([AnyPrior(), NearPrior(HABITS.initial, 0.1)]),
    st.sampled_from(["both", "event"]),
    st.floats(0.05, 3.0),
    st.floats(0.0, 4.0),
)
def test_verdicts_are_those_of_the_processor(
    kind: str,
    step: int,
    seed: int,
    prior: priste.Prior,
    sides: Sides,
    epsilon: float,
    sharpness: float,
) -> None:
    evidence, random = evidence_at(step, seed, prior), np.random.default_rng(seed)
    columns = np.exp(-sharpness * random.random((CITY.n_cells, 8)))
    device = device_of(kind)
    bound, both = float(np.exp(epsilon - GUARD)), sides == "both"
    b, d = (device.copy_of(columns).T @ mass.T for mass in device.masses(evidence))
    found = device.verdicts(evidence, b, d, bound, both)
    expected = is_beyond(evidence, columns, epsilon, sides=sides)
    sure = found != UNSURE
    assert (found[sure] == np.where(expected, FAILS, HOLDS)[sure]).all()
    assert sure.all() or step > 2  # rarely is anything that close


def test_what_lies_within_rounding_is_unsure(device: Gpu) -> None:
    evidence = evidence_at(2, 3, AnyPrior())
    column = np.exp(-np.random.default_rng(3).random((CITY.n_cells, 1)))
    b, d = (device.copy_of(column).T @ mass.T for mass in device.masses(evidence))
    vectors = FourVectors(
        evidence.a, evidence.not_a, device.fetched(b[0]), device.fetched(d[0]), evidence.exponents
    )
    bound = float(np.exp(worst_case(vectors).loss))
    for factor, verdict in (
        (1 - 1e-9, FAILS),
        (1 - 1e-13, UNSURE),
        (1.0, UNSURE),
        (1 + 1e-13, UNSURE),
        (1 + 1e-9, HOLDS),
    ):
        assert device.verdicts(evidence, b, d, bound * factor, True).tolist() == [verdict]


def test_what_cannot_be_compared_is_unsure(device: Gpu) -> None:
    evidence = evidence_at(0, 0, AnyPrior())
    b, d = (np.array([0.5 * mass.sum(axis=1)]) for mass in evidence.masses)

    def verdict(b: Array, d: Array) -> int:
        return int(device.verdicts(evidence, device.copy_of(b), device.copy_of(d), 2.0, True)[0])

    assert verdict(b, d) == HOLDS
    for spoiled in (0.0 * b, np.where(np.arange(20) == 7, FAINTEST / 4, b), np.nan * b):
        other = 0 * d if not spoiled.any() else np.where(np.arange(20) == 7, 0, d)
        assert verdict(spoiled, other) == UNSURE


@pytest.mark.parametrize("mixtures", [False, True])
def test_evidence_that_is_not_worth_the_way_is_tested_here(
    device: Gpu, monkeypatch: pytest.MonkeyPatch, mixtures: bool
) -> None:
    monkeypatch.setattr(device, "pays_from", CITY.n_cells**2)  # the noise is, one belief is not
    monkeypatch.setattr(accelerator, "_used", device)
    habits = [HABITS, Mobility.gaussian(CITY, sigma=1.3)]
    stream = Protector(
        habits if mixtures else HABITS,
        PlanarLaplace(CITY, 1.0),
        Protect(SECRET, 0.5),
        prior=KnownPrior(HABITS.initial),
        calibration=EveryOutput(),
        mixtures=mixtures,
        seed=5,
    )
    made = list(stream.stream([3, 4, 9, 8, 7]))
    assert max(max(r.private.losses.values(), default=0.0) for r in made) <= 0.5


@pytest.mark.usefixtures("gpu")
def test_an_output_is_found_as_the_processor_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(30):
        evidence = evidence_at(seed % 4, seed, AnyPrior())
        random = np.random.default_rng(seed)
        emission = np.exp(-random.random((CITY.n_cells, 12)) * random.random() * 2)
        emission[:, 3] = 0.0
        found = first_beyond(evidence, emission, 0.7, hint=5)
        with monkeypatch.context() as patched:
            patched.setattr(accelerator, "_used", None)
            beyond = np.flatnonzero(is_beyond(evidence, np.delete(emission, 3, 1), 0.7))
            settled = survives_disclosure(evidence, 0.7)
        beyond = np.where(beyond >= 3, beyond + 1, beyond)
        assert (found is None) == (len(beyond) == 0)
        assert found is None or found in beyond
        assert survives_disclosure(evidence, 0.7) == settled


@pytest.mark.parametrize("sigma", [0.8, 2.0])
def test_evidence_moves_as_on_the_processor(
    device: Gpu, monkeypatch: pytest.MonkeyPatch, sigma: float
) -> None:
    habits = Mobility.gaussian(CITY, sigma=sigma)
    random = np.random.default_rng(1)
    here = there = Evidence.start(EventModel(SECRET, habits), AnyPrior())
    for _ in range(6):
        column = random.random(CITY.n_cells) ** 40  # some vanish: rows are rescaled
        here = here.observe(column).advance()
        with monkeypatch.context() as patched:
            patched.setattr(accelerator, "_used", device)
            there = there.observe(column)
            vectors = there.four_vectors()
            there = there.advance()
        assert (there.exponents == here.exponents).all()
        np.testing.assert_allclose(there.tensor, here.tensor, rtol=1e-12)
        true = device.fetched(device.masses(there)[0])
        np.testing.assert_allclose(true, here.masses[0], rtol=1e-12)
    assert len(vectors) == 5
    assert here.exponents.any()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_noise_is_that_of_the_processor(device: Gpu, elsewhere: bool) -> None:
    city = Grid(5, 3, cell_size=0.7, elsewhere=elsewhere)
    np.testing.assert_allclose(
        device.fetched(snapped_laplace(device.xp, city, 1.3)),
        PlanarLaplace(city, 1.3).emission(),
        rtol=1e-13,
    )


def releases(seed: int) -> list[tuple[int, float]]:
    stream = Protector(
        HABITS,
        PlanarLaplace(CITY, 1.0),
        Protect(SECRET, 0.5),
        prior=AnyPrior(),
        calibration=EveryOutput(),
        seed=seed,
    )
    made = stream.stream([3, 4, 9, 8, 7])
    return [(r.cell, max(r.private.losses.values(), default=0.0)) for r in made]


def test_a_stream_is_that_of_the_processor(device: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    here = releases(5)
    monkeypatch.setattr(accelerator, "_used", device)
    there = releases(5)
    assert [cell for cell, _ in there] == [cell for cell, _ in here]
    np.testing.assert_allclose([loss for _, loss in there], [loss for _, loss in here], atol=1e-9)
    assert max(loss for _, loss in there) <= 0.5


def test_what_is_certified_on_the_device_is_what_is_drawn_from(gpu: Gpu) -> None:
    noise = PlanarLaplace(CITY, 1.0)
    certified = noise.to_certify()
    assert np.array_equal(noise.lottery(), gpu.fetched(certified))


def test_a_copy_goes_with_its_array(device: Gpu) -> None:
    array = np.arange(6.0)
    assert device.copy_of(array) is device.copy_of(array)
    known = len(device._copies)
    del array
    assert len(device._copies) == known - 1


def test_a_machine_without_a_gpu_says_so_and_goes_on() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        used = use_gpu()
    try:
        if not used:
            assert [each.category for each in said] == [NoGpuWarning]
            assert "no GPU is used" in str(said[0].message)
            assert releases(5)
    finally:
        use_gpu(False)
    assert accelerator.accelerator(10**9) is None
