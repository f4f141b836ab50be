import math
from dataclasses import replace

import numpy as np
import pytest

from priste import (
    AnyPrior,
    EmissionMatrix,
    EveryOutput,
    Grid,
    Mobility,
    PlanarLaplace,
    Protect,
    Protector,
    Retry,
    at,
    presence,
)
from priste.calibration import Calibration, CertifiedPlan, Situation
from priste.calibration.calibration import Draw
from priste.evidence import EventModel, Evidence
from priste.randomness import Randomness

STAYS = Mobility(np.eye(3))
EVENTS = at(0, 0), at(1, 0)
COLUMNS = np.array([[1.0, 0.5, 1.0, 1.0], [1.0, 1.0, 0.5, 1.0], [1.0, 1.0, 1.0, 0.5]])


def situation(epsilon: float) -> Situation:
    """Two promises about where somebody is now."""
    protections = tuple(Protect(event, epsilon) for event in EVENTS)
    evidence = tuple(Evidence.start(EventModel(event, STAYS), AnyPrior()) for event in EVENTS)
    return Situation(EmissionMatrix(np.eye(3)), protections, evidence, np.full(3, 1 / 3))


def test_an_output_is_allowed_if_it_keeps_every_promise() -> None:
    assert situation(0.5).allowed(COLUMNS).tolist() == [True, False, False, False]
    assert situation(1.0).allowed(COLUMNS).tolist() == [True] * 4
    one_sided = situation(0.5)
    for column, allowed in zip(COLUMNS.T, one_sided.allowed(COLUMNS), strict=True):
        assert one_sided.allows(column) == allowed


def test_the_output_that_breaks_a_promise_is_named_whichever_promise_it_is() -> None:
    assert situation(1.0).forbidden_output(COLUMNS) is None
    for output in (1, 2, 3):
        assert situation(0.5).forbidden_output(COLUMNS[:, [0, output]]) == 1
        assert situation(0.5).forbidden_output(COLUMNS[:, [output, 0]]) == 0
    one = replace(situation(0.5), evidence=situation(0.5).evidence[:1])
    assert repr(one).startswith("Situation(EmissionMatrix")
    assert repr(one).endswith("1 promises)")


@pytest.mark.parametrize("calibration", [EveryOutput(), Retry()])
def test_who_keeps_a_release_does_not_keep_the_matrix_it_was_drawn_from(
    calibration: Calibration,
) -> None:
    mobility = Mobility.gaussian(Grid(3, 3), sigma=1.0)
    protection = Protect(presence([4], steps=[1]), 1.0)
    mechanism = PlanarLaplace(Grid(3, 3), 1.0)
    guard = Protector(mobility, mechanism, protection, calibration=calibration, seed=1)
    column = guard.release(0).column
    assert column.base is None
    assert not column.flags.writeable


def test_a_plan_can_end_in_every_output_that_occurs() -> None:
    emission = np.array([[0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 1.0, 0.0], [0.25, 0.0, 0.75, 0.0]])
    plan = CertifiedPlan(emission, 2.0)
    outcomes = list(plan.outcomes())
    assert [outcome.output for outcome in outcomes] == [0, 2]
    for outcome in outcomes:
        assert outcome.column.tolist() == outcome.likelihood.tolist()
        assert outcome.column.tolist() == emission[:, outcome.output].tolist()
    draw = plan.draw(1, Randomness(0))
    assert (draw.output, draw.budget, draw.attempts) == (2, 2.0, 1)
    assert draw.column.tolist() == [0.5, 1.0, 0.75]
    assert Draw(2, emission[:, 2], 2.0).attempts == 1
    assert (plan.tried, plan.bound, plan.remark, plan.warm_start) == (1, 0.0, "", None)
    assert math.isnan(plan.expected_loss)
    assert repr(plan) == "CertifiedPlan(3 cells, 4 outputs, budget 2)"
