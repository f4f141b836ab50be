import random

import numpy as np
import pytest

from priste import ProtectionError
from priste.dyadic import dyadic
from priste.randomness import KeyedRandomness, Randomness


@pytest.fixture(autouse=True)
def system_draws() -> None:
    """Leave the system's own draws in place: they are what is tested here."""


@pytest.mark.parametrize("seed", [4, None])
def test_draws_follow_the_probabilities_and_never_hit_a_zero(seed: int | None) -> None:
    randomness = Randomness(seed)
    row = dyadic(np.array([[0.0, 0.3, 0.0, 0.7, 0.0]]))[0]
    drawn = np.bincount([randomness.draw(row) for _ in range(40_000)], minlength=5)
    assert drawn[[0, 2, 4]].sum() == 0
    assert drawn[1] / 40_000 == pytest.approx(0.3, abs=0.02)  # eight standard deviations


def test_a_seed_is_reproducible_and_without_one_the_system_decides() -> None:
    one, other = Randomness(seed=4), Randomness(seed=4)
    assert [one.bits() for _ in range(5)] == [other.bits() for _ in range(5)]
    secure = Randomness()
    assert secure.is_secure
    assert not one.is_secure
    assert len({secure.bits() for _ in range(100)}) == 100
    assert all(0 <= secure.bits() < 2**53 for _ in range(100))


def test_a_seed_is_whatever_numpy_takes() -> None:
    for seed in (7, [7, 8], np.random.SeedSequence(7), np.random.PCG64(7)):
        assert not Randomness(seed).is_secure
    generator = np.random.default_rng(7)
    assert Randomness(generator).bits() == Randomness(7).bits()


@pytest.mark.parametrize("seed", [-1, "seven", 1.5])
def test_a_wrong_seed_is_refused(seed: object) -> None:
    with pytest.raises(ProtectionError, match="seed must be what numpy.random.default_rng takes"):
        Randomness(seed)  # type: ignore[arg-type]


def test_no_seed_of_a_library_reaches_the_secure_draws() -> None:
    drawn = []
    for _ in range(2):
        random.seed(7)
        np.random.seed(7)  # noqa: NPY002
        secure = Randomness()
        drawn.append([secure.bits() for _ in range(8)])
    assert drawn[0] != drawn[1]


def test_secure_draws_use_all_bits_and_no_more() -> None:
    drawn = [Randomness().bits() for _ in range(200)]
    assert {bit for bits in drawn for bit in range(60) if bits >> bit & 1} == set(range(53))


def test_a_seed_draws_any_ticket() -> None:
    seeded = Randomness(seed=0)
    drawn = [seeded.bits() for _ in range(200)]
    assert {bit for bits in drawn for bit in range(60) if bits >> bit & 1} == set(range(53))


def test_keyed_draws_follow_from_key_and_label() -> None:
    def drawn(key: bytes, label: str) -> list[int]:
        source = KeyedRandomness(key, label)
        return [source.bits() for _ in range(5)]

    assert drawn(b"k" * 32, "a") == drawn(b"k" * 32, "a")
    different = [drawn(b"k" * 32, "a"), drawn(b"k" * 32, "b"), drawn(b"l" * 32, "a")]
    assert len({bits for each in different for bits in each}) == 15


def test_keyed_bits_are_even() -> None:
    source = KeyedRandomness(b"k" * 32, "even")
    bits = np.array([source.bits() for _ in range(4000)])
    assert ((bits >= 0) & (bits < 2**53)).all()
    ones = (bits[:, None] >> np.arange(53)) & 1
    assert np.abs(ones.mean(axis=0) - 0.5).max() < 0.05  # six standard deviations


def test_a_position_holds_nothing_of_the_key() -> None:
    source = KeyedRandomness(b"k" * 32, "a")
    assert source.position is None
    assert source.is_secure
