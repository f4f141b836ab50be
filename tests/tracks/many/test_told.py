"""What parts tell, summed up without keeping what they tell it of."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priste.tracks.cleaning import Account
from priste.tracks.many.told import MOST_NAMED, Spread, Told, together

sizes = st.lists(st.floats(1e-3, 1e4), min_size=1, max_size=60)


@given(sizes, sizes, st.floats(0.01, 1.0))
def test_a_spread_has_the_mean_and_the_quantiles_of_all_values(
    one: list[float], other: list[float], share: float
) -> None:
    spreads = Spread(), Spread()
    for spread, values in zip(spreads, (one, other), strict=True):
        spread.add(np.array(values))
    both, everything = spreads[0] + spreads[1], np.sort(one + other)
    assert (both.count, both.largest) == (len(everything), everything[-1])
    assert both.mean == pytest.approx(everything.mean())
    exact = np.quantile(everything, share, method="inverted_cdf")
    assert both.quantile(share) == pytest.approx(exact, rel=0.065)


def test_what_is_told_survives_its_file_and_adds_up() -> None:
    told = Told(people=3, released=2, account=Account(9, 7, {"late": 2}, 1))
    told.errors.add(np.array([0.5, 2.0]))
    told.refuse("somebody", "no fix can be used")
    again = Told.from_json(json.loads(json.dumps(told.to_json())))
    assert again == told
    both = told + again
    assert (both.people, both.n_refused, both.errors.count) == (6, 2, 4)
    assert both.account == Account(18, 14, {"late": 4}, 2)


def test_of_many_refused_only_the_first_are_named(tmp_path: Path) -> None:
    told = Told()
    for k in range(MOST_NAMED + 5):
        one = Told()
        one.refuse(f"person {k}", "why")
        told += one
    assert (len(told.refused), told.n_refused) == (MOST_NAMED + 5, MOST_NAMED + 5)
    told.save(tmp_path / "one.json")
    told = together([tmp_path / "one.json"] * 2)
    assert (len(told.refused), told.n_refused) == (MOST_NAMED, 2 * MOST_NAMED + 10)
