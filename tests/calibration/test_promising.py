"""Which variables of a remap's program are worth having from the start."""

import numpy as np

from priste.calibration.promising import _PER_OUTPUT, _PER_ROW, cheapest, promising


def test_every_row_and_every_output_gets_its_cheapest() -> None:
    reduced = np.random.default_rng(0).random((30, 20))
    wanted = cheapest(reduced)
    for row, marked in zip(reduced, wanted, strict=True):
        assert set(np.argsort(row)[:_PER_ROW]) <= set(np.flatnonzero(marked))
    for column, marked in zip(reduced.T, wanted.T, strict=True):
        assert set(np.argsort(column)[:_PER_OUTPUT]) <= set(np.flatnonzero(marked))
    assert wanted.sum() <= 30 * _PER_ROW + 20 * _PER_OUTPUT


def test_fewer_outputs_than_wanted_are_all_marked() -> None:
    assert cheapest(np.arange(3.0)[:, None]).all()


def test_everybody_may_go_to_the_hub_and_lenders_go_where_it_costs_them_least() -> None:
    cost = np.abs(np.subtract.outer(np.arange(40.0), np.arange(40.0)))
    gain = np.where(np.arange(40) < 20, 1.0, -1.0)
    wanted = promising(cost, 7, [gain])
    assert wanted[:, 7].all()
    assert wanted[12:20, 39].all()  # the eight nearest of those who have something to lend
    assert not wanted[:12, 39].any()
