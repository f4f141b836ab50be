import math

import pytest

from priste.odds import as_odds, promise


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


def test_epsilon_is_a_promise_about_odds() -> None:
    assert promise(0.5) == (
        "an observer who gave 1:9 before gives at least 1:14.8 and at most 1:5.46 now"
    )
