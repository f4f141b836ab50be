import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from priste import Grid, MechanismError, PlanarLaplace
from priste.mechanisms.planar_laplace import Axis, _box_mass, _box_masses, interval_masses


@settings(max_examples=30)
@given(st.integers(1, 6), st.integers(1, 6), st.floats(0.2, 3), st.floats(-8, 1.3), st.booleans())
def test_geo_indistinguishable_for_every_triple_of_cells(
    rows: int, columns: int, size: float, magnitude: float, elsewhere: bool
) -> None:
    budget = 10**magnitude
    grid = Grid(rows, columns, size, elsewhere)
    emission = PlanarLaplace(grid, budget).emission()
    assert_geo_indistinguishable(emission, grid, budget)


def test_geo_indistinguishable_on_the_paper_s_map() -> None:
    for grid in (Grid(20, 20), Grid(20, 20, elsewhere=True)):
        for budget in (0.2, 2.0):
            assert_geo_indistinguishable(PlanarLaplace(grid, budget).emission(), grid, budget)


def assert_geo_indistinguishable(emission: np.ndarray, grid: Grid, budget: float) -> None:
    factor = np.exp(budget * grid.distances * (1 + 1e-9)) * (1 + 1e-12)
    for x in range(grid.n_cells):
        assert (emission[x] <= factor[x][:, None] * emission).all()


def test_an_enormous_budget_is_the_truth_itself() -> None:
    np.testing.assert_array_equal(PlanarLaplace(Grid(3, 4), 1e300).emission(), np.eye(12))
    ringed = Grid(3, 4, elsewhere=True)
    np.testing.assert_array_equal(PlanarLaplace(ringed, 1e300).emission(), np.eye(13))


def test_rows_are_distributions_without_zeros() -> None:
    for elsewhere in (False, True):
        emission = PlanarLaplace(Grid(7, 5, elsewhere=elsewhere), 0.7).emission()
        np.testing.assert_allclose(emission.sum(axis=1), 1, rtol=1e-12)
        assert emission.min() > 0


@pytest.mark.parametrize("budget", [0.05, 0.7, 4.0])
def test_noise_that_falls_off_the_map_is_elsewhere(budget: float) -> None:
    """Along each ray from the centre of a cell, what lies beyond the map's border."""
    grid = Grid(5, 4, 1.5, elsewhere=True)
    emission = PlanarLaplace(grid, budget).emission()
    for cell in (0, 2, 9):
        x, y = grid.centres[cell]

        def beyond(angle: float, x: float = x, y: float = y) -> float:
            across, up = math.cos(angle), math.sin(angle)
            to_side = ((6.0 if across > 0 else 0.0) - x) / across
            to_end = ((7.5 if up > 0 else 0.0) - y) / up
            reach = budget * min(to_side, to_end)
            return (1 + reach) * math.exp(-reach) / (2 * math.pi)

        corners = [math.atan2(v - y, u - x) for u in (0.0, 6.0) for v in (0.0, 7.5)]
        turns = sorted([*corners, -math.pi, -math.pi / 2, 0.0, math.pi / 2, math.pi])
        mass = sum(quad(beyond, a, b, epsabs=0, epsrel=1e-11)[0] for a, b in pairwise(turns))
        assert emission[cell, -1] == pytest.approx(mass, rel=1e-9)


def test_who_is_elsewhere_is_shown_on_the_map_as_rarely_as_indistinguishability_allows() -> None:
    grid, budget = Grid(4, 5, elsewhere=True), 0.9
    emission = PlanarLaplace(grid, budget).emission()
    least = np.exp(-budget * grid.distances[:-1, -1:]) * emission[:-1, :-1]
    np.testing.assert_allclose(emission[-1, :-1], least.max(axis=0), rtol=1e-12)
    assert emission[-1, -1] > 0.9


def laplace_in_box(x: tuple[float, float], y: tuple[float, float], budget: float) -> float:
    """The noise's mass in a box: its density, summed over both axes by the tanh-sinh rule.

    Nodes crowd at the ends of each piece, so the density's peak may stand there.
    """
    t = np.arange(-3.5, 3.5, 1 / 16)
    nodes = np.tanh(math.pi / 2 * np.sinh(t))
    shares = math.pi / 32 * np.cosh(t) / np.cosh(math.pi / 2 * np.sinh(t)) ** 2

    def rule(ends: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
        low, high = np.clip(ends, -60 / budget, 60 / budget)  # beyond is less than 1e-24
        cuts = np.array([-20, -5, -1, 0, 1, 5, 20]) / budget
        edges = [low, *cuts[(low < cuts) & (cuts < high)], high]
        halves = [((b - a) / 2, (a + b) / 2) for a, b in pairwise(edges)]
        at = np.concatenate([middle + half * nodes for half, middle in halves])
        return at, np.concatenate([half * shares for half, _ in halves])

    (u, du), (v, dv) = rule(x), rule(y)
    density = budget**2 / (2 * math.pi) * np.exp(-budget * np.hypot(u[:, None], v))
    return float(du @ density @ dv)


@pytest.mark.parametrize(
    ("budget", "pairs"),
    [
        (0.8, [(6, 9), (13, 5), (9, 1), (2, 16), (0, 19)]),
        (6.0, [(6, 10), (5, 4), (2, 16)]),
        (0.05, [(6, 9), (5, 4)]),
    ],
)
def test_each_entry_is_the_mass_of_the_noise_in_its_cell(
    budget: float, pairs: list[tuple[int, int]]
) -> None:
    emission = PlanarLaplace(Grid(5, 4), budget).emission()

    def extent(cell: int, count: int) -> tuple[float, float]:
        return (-math.inf if cell == 0 else cell, math.inf if cell == count - 1 else cell + 1)

    for true, output in pairs:
        (true_row, true_column), (row, column) = divmod(true, 4), divmod(output, 4)
        x_low, x_high = (e - true_column - 0.5 for e in extent(column, 4))
        y_low, y_high = (e - true_row - 0.5 for e in extent(row, 5))
        expected = laplace_in_box((x_low, x_high), (y_low, y_high), budget)
        assert emission[true, output] == pytest.approx(expected, rel=1e-9)


@settings(max_examples=30)
@given(st.integers(1, 9), st.integers(1, 9), st.floats(1e-5, 1))
def test_small_maps_take_a_shortcut_to_the_same_numbers(
    rows: int, columns: int, width: float
) -> None:
    across, down = Axis.of(columns), Axis.of(rows)
    side = 3.0 * width / max(rows, columns)
    direct = _box_masses(side * across.low, side * across.high, side * down.low, side * down.high)
    np.testing.assert_allclose(interval_masses(across, down, side), direct, rtol=3e-10)


@settings(max_examples=60)
@given(
    st.floats(0.01, 40),
    st.floats(0.01, 3),
    st.just(0.0) | st.floats(0.01, 40),
    st.floats(0.01, 3),
)
def test_boxes_add_up_to_one_part_in_a_billion(
    x: float, width: float, y: float, height: float
) -> None:
    whole = _box_mass(x, x + 2 * width, y, y + height)
    parts = _box_mass(x, x + width, y, y + height) + _box_mass(
        x + width, x + 2 * width, y, y + height
    )
    assert whole == pytest.approx(parts, rel=1e-10, abs=0)
    endless = _box_mass(x, math.inf, y, y + height)
    beyond = _box_mass(x, x + width, y, y + height) + _box_mass(x + width, math.inf, y, y + height)
    assert endless == pytest.approx(beyond, rel=1e-9, abs=0)


@pytest.mark.parametrize("budget", [0.3, 2.0])
def test_the_radius_follows_its_law(budget: float) -> None:
    # on a fine, wide map the mass within r of the true cell is 1 - (1 + αr) e^{-αr}
    grid = Grid(61, 61, cell_size=0.5)
    centre = grid.cell(30, 30)
    row = PlanarLaplace(grid, budget).emission()[centre]
    for radius in (2.0, 5.0, 8.0):
        law = 1 - (1 + budget * radius) * math.exp(-budget * radius)
        assert row[grid.distances[centre] <= radius].sum() == pytest.approx(law, abs=0.03)


def test_weaker_versions_have_a_smaller_budget_and_end_in_nothing() -> None:
    mechanism = PlanarLaplace(Grid(3, 3), 2.0)
    assert mechanism.weaker(0.5).budget == 1.0
    assert mechanism.weaker(0.5) is mechanism.weaker(0.5)
    np.testing.assert_array_equal(mechanism.uninformative().emission(), np.full((9, 9), 1 / 9))
    assert mechanism.uninformative().budget == 0


@pytest.mark.parametrize("budget", [0, -1, math.nan, math.inf, "much"])
def test_a_wrong_budget_is_refused(budget: object) -> None:
    with pytest.raises(MechanismError, match="budget must be a finite number above 0, got"):
        PlanarLaplace(Grid(2, 2), budget)  # type: ignore[arg-type]
