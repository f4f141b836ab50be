import numpy as np
import pytest

from priste import AnyPrior, AnyPriorOn, KnownPrior, NearPrior, PriorError


def test_each_set_is_the_hull_of_its_vertices() -> None:
    belief = [0.2, 0.3, 0.5]
    np.testing.assert_array_equal(AnyPrior().vertices(3), np.eye(3))
    np.testing.assert_array_equal(AnyPriorOn([2, 0, 2]).vertices(3), np.eye(3)[[0, 2]])
    np.testing.assert_array_equal(KnownPrior(belief).vertices(3), [belief])
    near = NearPrior(belief, 0.1).vertices(3)
    np.testing.assert_allclose(near.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(near[1], [0.18, 0.37, 0.45], rtol=1e-14)


def test_near_prior_spans_from_known_to_any() -> None:
    belief = [0.2, 0.3, 0.5]
    np.testing.assert_array_equal(NearPrior(belief, 1).vertices(3), AnyPrior().vertices(3))
    np.testing.assert_array_equal(NearPrior(belief, 0).vertices(3)[0], belief)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: KnownPrior([0.5, 0.6]), "the known prior must sum to 1, its sum is 1.1"),
        (lambda: KnownPrior([1.5, -0.5]), "negative; the first is -0.5 at 1"),
        (lambda: KnownPrior([np.nan, 1]), "not finite; the first is nan at 0"),
        (lambda: KnownPrior([[1.0]]), r"must have 1 dimension\(s\), got shape \(1, 1\)"),
        (lambda: KnownPrior([0.5, 0.5]).vertices(3), r"one entry per cell \(3\), got 2"),
        (lambda: NearPrior([0.5, 0.5], 1.5), r"rho must lie in \[0, 1\], got 1.5"),
        (lambda: NearPrior([0.5, 0.5], "much"), r"rho must lie in \[0, 1\], got 'much'"),  # type: ignore[arg-type]
        (lambda: NearPrior([0.5, 0.5], 0.1).vertices(4), r"one entry per cell \(4\), got 2"),
        (
            lambda: AnyPriorOn([0, 7]).vertices(3),
            "cells off the map: 7; the map has 3 cells, 0 to 2",
        ),
        (lambda: AnyPriorOn([]), "AnyPriorOn has no cells"),
    ],
)
def test_what_is_no_belief_is_refused(build: object, message: str) -> None:
    with pytest.raises(PriorError, match=message):
        build()  # type: ignore[operator]
