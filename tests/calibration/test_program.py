import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priste.calibration.program import Program, SolverError
from tests.oracles import best_remap_loss
from tests.strategies import generators


@settings(max_examples=60)
@given(generators(), st.integers(1, 9), st.integers(1, 9), st.integers(0, 4))
def test_few_variables_and_late_cuts_give_the_optimum_of_the_whole_program(
    random: np.random.Generator, n: int, m: int, n_cuts: int
) -> None:
    cost = random.random((n, m))
    cuts = random.normal(0, 1, (n_cuts, n))
    cuts -= np.maximum(cuts.sum(axis=1, keepdims=True), 0) / n + 0.01  # constants keep them
    program = Program(cost, time_limit=10.0)
    program.allow(np.eye(n, m, dtype=bool))
    program.allow(np.arange(m) == m - 1)
    for cut in cuts:
        program.solve()
        program.cut([(j, cut) for j in range(m)])
    remap = program.solve()
    np.testing.assert_allclose(remap.sum(axis=1), 1, rtol=1e-12)
    assert (remap >= 0).all()
    assert (cuts @ remap <= 1e-8).all()
    assert program.n_cuts == n_cuts * m
    np.testing.assert_allclose((cost * remap).sum(), program.objective, rtol=1e-8)
    np.testing.assert_allclose(
        program.objective, best_remap_loss(cost, [*cuts, -np.ones(n)]), rtol=1e-8
    )


def test_a_program_without_a_solution_says_so() -> None:
    program = Program(np.ones((2, 2)), time_limit=10.0)
    program.allow(np.ones((2, 2), dtype=bool))
    program.cut([(0, np.ones(2)), (1, np.ones(2))])
    with pytest.raises(SolverError, match="Infeasible"):
        program.solve()
