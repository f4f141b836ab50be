import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priste.wording import as_factor, as_odds, promise


@pytest.mark.parametrize(
    ("odds", "words"),
    [
        (1 / 9, "1:9"),
        (math.exp(0.5) / 9, "1:5.46"),
        (3.0, "3:1"),
        (1.0, "even"),
        (1e-6, "1:1,000,000"),
        (0.0, "never"),
        (math.inf, "always"),
    ],
)
def test_odds_are_said_as_people_say_them(odds: float, words: str) -> None:
    assert as_odds(odds) == words


def read_back(words: str) -> float:
    if words == "even":
        return 1.0
    first, second = (float(part.replace(",", "")) for part in words.split(":"))
    return first / second


@given(st.floats(-18, 18).map(math.exp))
def test_odds_are_rounded_to_the_side_that_is_asked_for(odds: float) -> None:
    low, high = read_back(as_odds(odds, "down")), read_back(as_odds(odds, "up"))
    assert abs(low / odds - 1) < 0.011
    if as_odds(odds) != "even":
        assert low <= odds * (1 + 1e-8)
        assert high >= odds * (1 - 1e-8)


def test_epsilon_is_a_promise_about_odds() -> None:
    assert promise(0.5) == (
        "an observer who gave 1:9 before gives at least 1:14.9 and at most 1:5.45 now"
    )
    assert promise(0.5, sides="event") == (
        "an observer who gave 1:9 before gives at most 1:5.45 now"
    )


@given(st.floats(0.01, 20))
def test_a_factor_is_never_understated(epsilon: float) -> None:
    assert float(re.sub(",", "", as_factor(epsilon))) >= math.exp(epsilon) * (1 - 1e-8)
