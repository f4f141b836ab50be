"""The lines that columns are given next, beside a slow choice one by one."""

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from priste.calibration.broken_lines import BrokenLines
from priste.calibration.interior import Interior
from priste.calibration.odds_lines import OddsLines
from priste.checks import Array
from tests.calibration.test_odds_lines import random_bound, random_column

LEAST = 1e-3


def slowly(excess: Array, vertex: Array, alike: Any, most: int) -> list[int]:
    """The lines of a column: always the worst of those that are left."""
    left, chosen = {int(k) for k in np.flatnonzero(excess > LEAST)}, list[int]()
    while left and len(chosen) < most:
        worst = max(left, key=lambda line: (excess[line], -vertex[line]))
        chosen.append(worst)
        near = {int(vertex[worst]), *(int(other) for other in alike[vertex[worst]])}
        left = {line for line in left if int(vertex[line]) not in near}
    return chosen


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 70))
def test_columns_get_the_worst_lines_of_vertices_that_are_not_alike(
    seed: int, most: int, n_columns: int
) -> None:
    bound = random_bound(seed)
    lines, random = OddsLines([bound]), np.random.default_rng(seed)
    n_vertices = len(np.unique(lines.vertex))
    nearest = np.argsort(random.random((n_vertices, n_vertices)), axis=1)[:, :3]
    alike = [near[: random.integers(0, 4)] for near in nearest]  # a vertex among them or not
    n_rows = bound.true.shape[1]
    columns = np.stack([random_column(seed + 7 * k, n_rows) for k in range(n_columns)], axis=1)
    program = Interior(np.ones(columns.shape), lines.middle(), lines.rows)
    program.x[:, :n_rows] = columns.T
    program.x[:, n_rows:] *= random.uniform(0, 3, program.x[:, n_rows:].shape)
    has_parts = lines.rows(np.arange(lines.n_lines)).any(axis=1)
    some = np.flatnonzero(has_parts & (random.random(lines.n_lines) < 0.2))
    program.add_to_all(some)  # which are not given again
    excess = lines.excess(program.columns, program.mus)
    excess[:, some] = -np.inf
    BrokenLines(lines, lines, alike)._add(program, LEAST, most)
    given = program.given
    assert len(set(zip(given.column.tolist(), given.line.tolist(), strict=True))) == len(given.line)
    for column, mine in enumerate(excess):
        found = np.setdiff1d(given.line[given.column == column], some)
        expected = slowly(mine, lines.vertex, alike, most)
        assert len(set(lines.vertex[found])) == len(found)
        # lines of a vertex may be broken by the same
        np.testing.assert_allclose(np.sort(mine[found]), np.sort(mine[expected]), rtol=1e-9)


def test_where_nothing_is_broken_nothing_is_given() -> None:
    lines = OddsLines([random_bound(3)])
    program = Interior(np.ones((lines.n_rows, 40)), lines.middle(), lines.rows)
    alike = [np.array([v]) for v in range(len(np.unique(lines.vertex)))]
    # nothing is broken by more than its size
    BrokenLines(lines, lines, alike)._add(program, 1.0, 5)
    assert len(program.given.line) == 0


def test_no_vertices_need_no_lines() -> None:
    nobody = replace(random_bound(3), a=np.zeros(4), true=np.zeros((4, 3)))
    lines = OddsLines([nobody])
    assert lines.sides == []
    program = Interior(np.ones((3, 2)), lines.middle(), lines.rows)
    BrokenLines(lines, lines, []).add_broken(program)
    assert len(program.given.line) == 0
