"""Exponents from points, verdicts, and that every curve can be measured."""

import numpy as np
import pytest
from benchmarks.scaling import summary
from benchmarks.scaling.curves import CURVES
from benchmarks.scaling.fit import Fit, fitted, verdict


def test_the_fit_takes_the_upper_decade_and_says_how_far_points_move_it() -> None:
    sizes = [1, 10, 20, 50, 100]
    fit = fitted(sizes, [99.0] + [3.0 * size**2 for size in sizes[1:]])
    assert fit is not None
    np.testing.assert_allclose(fit[:3], 2.0, rtol=0, atol=1e-12)
    assert fit.start == 10
    bent = fitted(sizes, [1.0, 10.0, 20.0, 50.0, 200.0])
    assert bent is not None
    assert bent.low < bent.exponent < bent.high


def test_too_few_visible_points_give_no_exponent() -> None:
    assert fitted([10, 20, 50, 100], [0.1, 0.2, 5.0, 6.0], visible=1.0) is None
    assert verdict(None, 1.0) == "too small to see"


@pytest.mark.parametrize(
    ("exponent", "expected"), [(2.1, "as the model"), (2.3, "worse"), (1.5, "better")]
)
def test_a_verdict_allows_for_caches(exponent: float, expected: str) -> None:
    assert verdict(Fit(exponent, exponent, exponent, 1), 2.0) == expected


@pytest.mark.parametrize("name", CURVES)
def test_every_curve_has_a_smallest_case_and_a_summary(name: str) -> None:
    curve = CURVES[name]
    curve.prepare(curve.smallest)()
    points = [[float(size), 1e-3 * size**curve.time, 2.0] for size in curve.sizes]
    kept = summary(curve, points)
    assert kept["time"]["verdict"] == "as the model"
    assert kept["points"] == points
