"""Random events, mobilities and emissions for property tests."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from priste.checks import Array
from priste.events import Event, at, at_least
from priste.evidence import FourVectors
from priste.worst_case import worst_case


def events(n_cells: int, n_steps: int, depth: int = 4) -> st.SearchStrategy[Event]:
    """Boolean expressions nested up to `depth` levels above their atoms."""
    atoms = st.builds(
        at,
        st.sets(st.integers(0, n_cells - 1), min_size=1, max_size=n_cells),
        st.integers(0, n_steps - 1),
    )
    level: st.SearchStrategy[Event] = atoms
    for _ in range(depth):
        inner = level
        several = st.lists(inner, min_size=2, max_size=3)
        counted = several.flatmap(
            lambda parts: st.integers(1, len(parts)).map(lambda k: at_least(k, parts))
        )
        level = st.one_of(
            inner,
            inner.map(lambda e: ~e),
            st.tuples(inner, inner).map(lambda two: two[0] & two[1]),
            st.tuples(inner, inner).map(lambda two: two[0] | two[1]),
            counted,
        )
    return level


def random_event(random: np.random.Generator, n_cells: int, n_steps: int, depth: int) -> Event:
    """A Boolean expression with `depth` levels above its atoms, not biased to the simple."""
    if depth == 0:
        size = int(random.integers(1, n_cells))
        return at(
            random.choice(n_cells, size, replace=False).tolist(), int(random.integers(n_steps))
        )
    parts = [
        random_event(random, n_cells, n_steps, int(random.integers(depth)) if i else depth - 1)
        for i in range(int(random.integers(2, 4)))
    ]
    match int(random.integers(4)):
        case 0:
            return parts[0] & parts[1]
        case 1:
            return parts[0] | parts[1]
        case 2:
            return ~parts[0]
        case _:
            return at_least(int(random.integers(1, len(parts) + 1)), parts)


def random_stochastic(
    random: np.random.Generator, shape: tuple[int, ...], zeros: float = 0.0
) -> Array:
    """Rows that are distributions, a share of their entries exactly zero."""
    weights = random.random(shape) * (random.random(shape) >= zeros)
    empty = weights.sum(axis=-1) == 0
    weights[empty, random.integers(shape[-1])] = 1.0
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def generators() -> st.SearchStrategy[Any]:
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


def far_apart(random: np.random.Generator, orders: int) -> FourVectors:
    """Four vectors with likelihoods spread over many binary orders, and odds moderate or extreme.

    Half of them have prior odds of everyday size, so that a promise can hold for all pairs but one.
    """
    n = int(random.integers(2, 7))
    if random.random() < 0.5:
        a = random.uniform(0.1, 0.9, n)
        not_a = 1 - a
    else:
        small = np.exp2(-random.uniform(0, random.choice([1, 50, 800]), n))
        a = np.where(random.random(n) < 0.5, small / 2, 1 - small / 2)
        a[random.random(n) < 0.1] = random.integers(2)
        not_a = np.where(a == 1 - small / 2, small / 2, 1 - a)
    moves = np.exp2(random.choice([0.1, 0.5, 2.0]) * random.standard_normal((2, n)))
    exponents = random.integers(-orders, orders + 1, n)
    if random.random() < 0.3:  # a few clusters: rows near each other, far from the rest
        exponents = random.choice(exponents[:2], n) + random.integers(-20, 21, n)
    return FourVectors(a, not_a, a * moves[0], not_a * moves[1], exponents)


def near_the_loss(random: np.random.Generator, vectors: FourVectors) -> float:
    """An ε at which a verdict is not obvious: near the loss that is claimed, where it is finite."""
    loss = worst_case(vectors).loss
    if not 1e-3 < loss < 100:
        return float(random.choice([0.05, 0.5, 2.0, 20.0]))
    return float(loss * random.choice([0.5, 1 - 1e-6, 1 + 1e-6, 1.05]))
