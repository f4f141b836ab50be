from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from priste import EventError, Protector
from priste.calibration.bounds import Bound
from tests.calibration.test_every_output import protectors, random_every_output


def drawn_bounds(protector: Protector) -> list[Bound]:
    state = protector.beginning().arrive()
    now = state.situation()
    return [Bound.of(p, e, None) for p, e in zip(now.protections, now.evidence, strict=True)]


@settings(max_examples=80)
@given(st.data())
def test_a_column_breaks_a_cut_or_keeps_the_promise(data: st.DataObject) -> None:
    try:
        protector, _ = data.draw(protectors(random_every_output))
    except EventError:
        return
    now = protector.beginning().arrive().situation()
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    for protection, evidence, bound in zip(
        now.protections, now.evidence, drawn_bounds(protector), strict=True
    ):
        column = random.random(len(now.belief)) * (random.random(len(now.belief)) > 0.2)
        if not column.any():
            continue
        column /= column.max()
        for belief in bound.broken(column):
            assert bound.cut(belief) @ column > 0
        missing = bound.missing(column)
        single = replace(now, protections=(protection,), evidence=(evidence,))
        if missing == 0:
            assert not bound.broken(column)
            assert not bound.failing(column[:, None]).any()
        mended = column + missing
        assert single.allows(mended / mended.max())
        if missing > 1e-6:
            assert bound.broken(column)
            assert not single.allows(column + 0.9 * missing)
        assert all(np.abs(cut).max() <= 1 for cut in bound.central())
