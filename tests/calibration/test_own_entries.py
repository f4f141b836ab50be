"""Vertices in parts: what they have in common, and an entry of each one's own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priste.calibration.own_entries import OwnEntries
from priste.checks import Array

SEEDS = st.integers(0, 2**32 - 1)


def random_vertices(seed: int, *, common: bool) -> tuple[Array, Array]:
    """Vertices of any scale that speak of an entry each; two may speak of the same."""
    random = np.random.default_rng(seed)
    n_vertices, n_entries = int(random.integers(8, 20)), int(random.integers(6, 12))
    entry = random.permutation(np.arange(n_vertices) % n_entries)
    true, false = (np.tile(random.random(n_entries) * common, (n_vertices, 1)) for _ in range(2))
    for part in (true, false):
        part[np.arange(n_vertices), entry] += random.random(n_vertices)
    scale = np.exp(random.normal(size=(n_vertices, 1)))
    return true * scale, false * scale


@settings(max_examples=100)
@given(SEEDS, st.booleans())
def test_the_parts_add_up(seed: int, common: bool) -> None:
    true, false = random_vertices(seed, common=common)
    own = OwnEntries.of(true, false)
    assert own is not None
    every = np.arange(len(true))
    for whole, shared, mine in (
        (true, own.common_true, own.own_true),
        (false, own.common_false, own.own_false),
    ):
        rebuilt = own.scale[:, None] * shared
        rebuilt[every, own.entry] += mine
        np.testing.assert_allclose(rebuilt, whole, rtol=1e-8, atol=1e-12)


@settings(max_examples=50)
@given(SEEDS, st.sampled_from([1e-6, 0.1]))
def test_a_second_entry_of_ones_own_is_noticed(seed: int, much: float) -> None:
    true, false = random_vertices(seed, common=True)
    own = OwnEntries.of(true, false)
    assert own is not None
    vertex = seed % len(true)
    other = (own.entry[vertex] + 1) % true.shape[1]
    true[vertex, other] += much * (true + false)[vertex].max()
    assert OwnEntries.of(true, false) is None


@pytest.mark.parametrize("which", [0, 3, slice(None)])
def test_vertices_that_are_impossible_have_nothing(which: int | slice) -> None:
    true, false = random_vertices(1, common=True)
    true[which] = false[which] = 0.0
    own = OwnEntries.of(true, false)
    if which == 3:
        assert own is not None
        assert own.scale[3] == own.own_true[3] == own.own_false[3] == 0
    else:
        assert own is None
