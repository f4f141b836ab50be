import numpy as np
import pytest
from scipy import sparse

from priste import EmissionMatrix, Exponential, Grid, MechanismError, Uniform


def test_the_exponential_mechanism_falls_off_with_distance() -> None:
    grid = Grid(1, 3)
    expected = np.exp(-0.5 * grid.distances)
    emission = Exponential(grid, 0.5).emission()
    np.testing.assert_allclose(emission, expected / expected.sum(axis=1, keepdims=True), rtol=1e-15)
    assert Exponential(grid, 0.5).weaker(0.25).budget == 0.125
    ratio = emission[:, None, :] / emission[None, :, :]
    assert (ratio <= np.exp(2 * 0.5 * grid.distances)[:, :, None] * (1 + 1e-12)).all()


def test_a_matrix_weakens_towards_the_uniform_output() -> None:
    matrix = EmissionMatrix([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    weaker = matrix.weaker(0.5).weaker(0.5)
    assert weaker.budget == 0.25
    np.testing.assert_allclose(weaker.emission()[0], [0.5, 0.25, 0.25])
    np.testing.assert_array_equal(matrix.uninformative().emission(), np.full((2, 3), 1 / 3))
    np.testing.assert_array_equal(EmissionMatrix(sparse.eye_array(3)).emission(), np.eye(3))


def test_uniform_tells_nothing() -> None:
    uniform = Uniform(2, n_outputs=4, among=(1, 3))
    np.testing.assert_array_equal(uniform.emission(), [[0, 0.5, 0, 0.5]] * 2)
    assert uniform.weaker(0.5) is uniform
    assert uniform.uninformative() is uniform
    assert uniform.budget == 0
    np.testing.assert_array_equal(Uniform(1, among=(1, 1), n_outputs=2).emission(), [[0, 1]])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: EmissionMatrix([[0.5, 0.4]]), "emission matrix must sum to 1: row 0 sums to 0.9"),
        (lambda: EmissionMatrix([[np.nan, 1.0]]), "not finite"),
        (lambda: EmissionMatrix([[2.0, -1.0]]), "negative"),
        (lambda: EmissionMatrix([1.0]), r"2 dimension\(s\), got shape \(1,\)"),
        (
            lambda: EmissionMatrix([[1.0]], budget=2),
            r"budget \(a share\) must lie in \[0, 1\], got 2",
        ),
        (lambda: EmissionMatrix(np.empty((0, 0))), "is empty"),
        (lambda: Exponential(Grid(1, 2), 0), "budget must be a finite number above 0, got 0"),
        (lambda: Exponential("map", 1.0), "Exponential needs a Grid, got str"),  # type: ignore[arg-type]
        (lambda: Uniform(2, n_outputs=0), "n_outputs must be .* at least 1, got 0"),
        (lambda: Uniform(0), "n_cells must be a whole number of at least 1, got 0"),
        (lambda: Uniform(2, among=(5,)), "among names cells off the map: 5"),
    ],
)
def test_what_is_no_mechanism_is_refused(build: object, message: str) -> None:
    with pytest.raises(MechanismError, match=message):
        build()  # type: ignore[operator]
