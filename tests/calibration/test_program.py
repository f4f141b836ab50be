from types import SimpleNamespace

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priste.calibration.program import Program, SolverError, _without_dust
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
    optimum = best_remap_loss(cost, [*cuts, -np.ones(n)])
    np.testing.assert_allclose(program.objective, optimum, rtol=1e-8)
    assert optimum * (1 - 1e-6) - 1e-8 <= program.bound <= optimum * (1 + 1e-8)


@settings(max_examples=60)
@given(generators(), st.integers(1, 7), st.integers(1, 30), st.integers(1, 3), st.floats(0, 3))
def test_what_charged_lines_give_above_zero_is_paid_for(
    random: np.random.Generator, n: int, m: int, n_charged: int, price: float
) -> None:
    cost, charged = random.random((n, m)), random.normal(0, 1, (n_charged, n))
    cut = random.normal(0, 1, n)
    cut -= max(cut.sum(), 0) / n + 0.01
    program = Program(cost, time_limit=10.0)
    program.allow(np.arange(m) == np.full((n, 1), m - 1))
    program.charge(charged, price)
    program.solve()
    program.cut([(j, cut) for j in range(m)])
    remap = program.solve()
    np.testing.assert_allclose(remap.sum(axis=1), 1, rtol=1e-12)
    assert remap.shape == (n, m)
    assert (cut @ remap <= 1e-8).all()
    paid = price * np.maximum(charged @ remap, 0).sum()
    optimum = best_remap_loss(cost, [cut], list(charged), price)
    assert (cost * remap).sum() + paid == pytest.approx(optimum, rel=1e-6)
    assert program.objective == pytest.approx(optimum, rel=1e-8)
    assert optimum * (1 - 1e-6) - 1e-8 <= program.bound <= optimum * (1 + 1e-8)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_with_many_columns_those_that_help_are_found(unit: float) -> None:
    random = np.random.default_rng(0)
    cost, cuts = random.random((6, 70)), random.normal(-0.3, 1, (2, 6))
    cuts -= np.maximum(cuts.sum(axis=1, keepdims=True), 0) / 6 + 0.01
    program = Program(unit * cost, time_limit=10.0)
    program.cut([])
    program.cut([(j, cut) for j in range(70) for cut in cuts])
    program.allow(np.arange(70) == np.full((6, 1), 69))
    assert program.objective == np.inf
    assert program.bound == 0.0
    remap = program.solve()
    optimum = unit * best_remap_loss(cost, list(cuts))
    assert program.objective == pytest.approx(optimum, rel=1e-6)
    assert program.bound == pytest.approx(optimum, rel=2e-7)
    assert (unit * cost * remap).sum() == pytest.approx(optimum, rel=1e-6)
    variables = program._known.sum()
    assert variables < 300  # few of them were needed
    program.allow(program._known.copy())
    assert len(program._row) == len(program._column) == variables


@pytest.mark.parametrize("shape", [(6, 30), (12, 4)])
def test_nothing_goes_below_the_bound_wherever_the_search_for_variables_ends(
    shape: tuple[int, int],
) -> None:
    for seed in range(5):
        cost = np.random.default_rng(seed).random(shape)
        program = Program(cost, time_limit=10.0, near_enough=1e3)  # at once
        program.allow(np.arange(shape[1]) == np.full((shape[0], 1), 1))
        program.solve()
        assert program.bound <= cost.min(axis=1).sum() + 1e-9
        assert program.objective == pytest.approx(cost[:, 1].sum(), rel=1e-9)


def test_the_search_for_variables_goes_on_while_they_gain_a_share_of_the_objective() -> None:
    for other, found in ((0.004, 0.004), (0.006, 0.01)):
        program = Program(np.array([[0.01, other]]), time_limit=10.0, near_enough=0.5)
        program.allow(np.array([[True, False]]))
        program.solve()
        assert program.objective == pytest.approx(found, rel=1e-9)


def test_a_cut_holds_for_its_own_column_alone() -> None:
    cost = np.array([[1.0, 4.0, 6.0], [2.0, 1.0, 6.0]])
    program = Program(cost, time_limit=10.0)
    program.allow(np.ones((2, 3), dtype=bool))
    assert program.solve().tolist() == [[1, 0, 0], [0, 1, 0]]
    program.cut([(0, np.array([1.0, -0.5]))])  # row 1 gives it twice as often
    np.testing.assert_allclose(program.solve(), [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], atol=1e-9)
    assert program.objective == pytest.approx(4.5, rel=1e-9)
    program.cut([(1, np.array([1.0, -1.0])), (2, np.array([-1.0, 1.0]))])
    np.testing.assert_allclose(program.solve(), [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]], atol=1e-9)
    assert program.objective == pytest.approx(5.0, rel=1e-9)
    assert program.n_cuts == 3


class Rounding:
    """A solver whose values are a little below what they should be."""

    def __init__(self, highs: highspy.Highs) -> None:
        self._highs = highs

    def __getattr__(self, name: str) -> object:
        return getattr(self._highs, name)

    def getSolution(self) -> SimpleNamespace:
        solution = self._highs.getSolution()
        values = np.array(solution.col_value) - 1e-11
        return SimpleNamespace(row_dual=solution.row_dual, col_value=values)


def test_what_rounding_makes_negative_is_nothing() -> None:
    program = Program(np.array([[1.0, 2.0], [2.0, 1.0]]), time_limit=10.0)
    program.allow(np.ones((2, 2), dtype=bool))
    program._highs = Rounding(program._highs)  # type: ignore[assignment]
    assert program.solve().tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_the_solver_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    program = Program(np.ones((2, 2)), time_limit=10.0)
    program.allow(np.ones((2, 2), dtype=bool))
    program.solve()
    assert capfd.readouterr().out == ""


def test_what_is_too_small_for_the_solver_makes_a_cut_no_weaker() -> None:
    cut = np.array([1.0, -1.0, 1e-13, -1e-13, 1e-12, -1e-12, 0.0])
    assert _without_dust(cut).tolist() == [1.0, -1.0, 1e-12, 0.0, 1e-12, -1e-12, 0.0]


def test_costs_that_are_no_numbers_end_the_search() -> None:
    program = Program(np.full((2, 3), np.nan), time_limit=10.0)
    program.allow(np.eye(2, 3, dtype=bool))
    with pytest.raises(SolverError):
        program.solve()


def test_a_program_without_a_solution_says_so() -> None:
    program = Program(np.ones((2, 2)), time_limit=10.0)
    program.allow(np.ones((2, 2), dtype=bool))
    program.cut([(0, np.ones(2)), (1, np.ones(2))])
    with pytest.raises(SolverError, match="Infeasible"):
        program.solve()


class Moody:
    """A solver that ends each run as it is told to."""

    def __init__(self, *moods: str) -> None:
        self.moods: list[highspy.HighsModelStatus] = [
            getattr(highspy.HighsModelStatus, f"k{mood}") for mood in moods
        ]
        self.strategies: list[int | str] = []
        self.said: list[str] = []
        self.presolved: list[int | str] = []

    def setOptionValue(self, option: str, value: int | str) -> None:
        (self.presolved if option == "presolve" else self.strategies).append(value)

    def run(self) -> None:
        self.said.append("run")

    def clearSolver(self) -> None:
        self.said.append("clear")

    def getModelStatus(self) -> highspy.HighsModelStatus:
        return self.moods[self.said.count("run") - 1]

    def modelStatusToString(self, status: highspy.HighsModelStatus) -> str:
        return str(status)


@pytest.mark.parametrize(
    ("moods", "runs", "ends"),
    [
        (["Optimal"], 1, None),
        (["Unknown", "Optimal"], 2, None),
        (["Unknown", "Unknown", "Optimal"], 3, None),
        (["Unknown", "Unknown", "Unknown", "Optimal"], 4, None),
        (["Unknown", "Unknown", "Unknown", "SolveError"], 4, "SolveError"),
        (["Unknown", "TimeLimit", "Optimal"], 2, "TimeLimit"),
        (["Infeasible", "Optimal"], 1, "Infeasible"),
    ],
)
def test_a_solver_that_fails_is_asked_again_from_scratch_and_then_in_another_way(
    moods: list[str], runs: int, ends: str | None
) -> None:
    dual, primal = 1, 4  # what HiGHS calls them
    program, moody = Program(np.ones((2, 2)), time_limit=10.0), Moody(*moods)
    program._highs = moody  # type: ignore[assignment]
    if ends is None:
        program._run(dual)
    else:
        with pytest.raises(SolverError, match=ends):
            program._run(dual)
    assert moody.strategies == [dual, dual, primal, dual][:runs]
    assert moody.presolved == ["off", "off", "off", "on"][:runs]
    assert moody.said[: 2 * runs - 1] == (4 * ["run", "clear"])[: 2 * runs - 1]
