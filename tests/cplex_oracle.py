"""The worst belief by CPLEX's global solver: the program of the paper, and a form for any scale."""

import numpy as np
import pytest
from reproduction.quadratic import NoOptimum, is_installed, smallest_value, theorem_checks

from priste.checks import Array

__all__ = ["NoOptimum", "balanced_form", "needs_cplex", "smallest_value", "theorem_checks"]

needs_cplex = pytest.mark.skipif(
    not is_installed(), reason="CPLEX is not installed (not every Python has a wheel of it)"
)


def balanced_form(a: Array, not_a: Array, b: Array, d: Array, epsilon: float) -> Array:
    """The first inequality as one quadratic form, cells weighed so that a solver can see them all.

    Substituting π_i = x_i / √(b_i + d_i) changes no sign. Entries beyond what decides a sign are
    cut off at a million, for the solver's sake.
    """
    total = b + d
    unit = np.sqrt(np.where(total > 0, total, 1.0))
    p, q, beta, delta = a / unit, not_a / unit, b / unit, d / unit
    rising = np.exp(epsilon) * np.outer(p, delta) - np.outer(beta, q)
    return np.asarray(np.clip((rising + rising.T) / 2, -1e6, 1e6))
