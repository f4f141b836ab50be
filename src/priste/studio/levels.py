"""The choices of the page as named levels, each with a sentence: nobody has to set a ρ or an α."""

import math
from typing import Any, NamedTuple

from priste.errors import StudioError
from priste.tracks.adversary import Adversary
from priste.wording import as_factor, as_odds
from priste.worst_case import Sides

EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
"""The strengths of a promise that the page offers, strongest first."""

BELIEVED = 1 / 9
"""The odds that an ε is explained with."""


class Level(NamedTuple):
    """A choice, what it is called, and what it means."""

    key: str
    name: str
    sentence: str
    value: Any


OBSERVERS = (
    Level(
        "known",
        "Knows your habits",
        "An observer who believes about the start of your day what your habits say.",
        Adversary("known"),
    ),
    Level(
        "near",
        "Knows your habits and a little more",
        "A tenth of what the observer believes about the start of your day may be anything.",
        Adversary("near"),
    ),
    Level(
        "any",
        "May know where your day began",
        "Whatever the observer believes about the start of your day. Costs the most.",
        Adversary("any"),
    ),
)

NOISES = (
    Level(
        "none", "None", "Only the secrets are protected; elsewhere you may be shown exactly.", None
    ),
    Level(
        "street", "A few streets", "Each fix is first blurred by noise of 250 m on average.", 8.0
    ),
    Level("district", "A district", "Each fix is first blurred by noise of 2 km on average.", 1.0),
    Level(
        "town",
        "A town",
        "Each fix is first blurred by noise of 10 km on average. What is shown is then the "
        "likeliest place, so it may still be close to you if your habits give you away.",
        0.2,
    ),
)

HABITS = (
    Level(
        "quick",
        "A first look",
        "One simple model of your habits: a picture in seconds.",
        {"habits": 1, "order": 1, "base": "local", "smoothing": 1.0},
    ),
    Level(
        "careful",
        "Careful",
        "Several models, the best at predicting days left out; an observer may have any of them. "
        "Takes minutes.",
        {},
    ),
)


SIDES = (
    Level(
        "both",
        "that I was there, or that I was not",
        "Somebody who is elsewhere all day is shown less exactly, so that this stays in doubt.",
        "both",
    ),
    Level(
        "event",
        "that I was there",
        "An observer may become sure that you were not there. What is shown can be more exact. "
        "Choose it if having been elsewhere is no secret.",
        "event",
    ),
)


def level(levels: tuple[Level, ...], key: object, what: str) -> Level:
    """Return the level of a key."""
    for each in levels:
        if each.key == key:
            return each
    raise StudioError(f"{what} must be one of {', '.join(each.key for each in levels)}")


def in_words(epsilon: float, sides: Sides = "both") -> str:
    """Return what an ε means, in one sentence."""
    low = as_odds(BELIEVED * math.exp(-epsilon), "down")
    high = as_odds(BELIEVED * math.exp(epsilon), "up")
    reach, way = (
        (f"between {low} and {high}", "either way")
        if sides == "both"
        else (f"at {high} at most", "upwards")
    )
    return (
        f"An observer who gave {as_odds(BELIEVED)} before ends {reach} "
        f"(a factor of {as_factor(epsilon)} at most, {way})."
    )


def in_words_of_each(epsilon: float) -> dict[str, str]:
    """Return what an ε means, for each of the sides that a secret may have."""
    return {each.key: in_words(epsilon, each.value) for each in SIDES}
