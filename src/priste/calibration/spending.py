"""How much of ε a step may spend, so that some is left for later steps."""

from dataclasses import replace
from typing import Literal

from priste.calibration.calibration import Situation
from priste.evidence import Evidence
from priste.protection import Protect
from priste.worst_case import GUARD, worst_case

Spending = Literal["all", "proportional", "rolling"]
"""All of ε at every step; in proportion to the time until the event's last step, and always a
tenth of what is left; or at each step an equal part of what is left, over the steps until then.

In proportion is for odds that may neither rise nor fall: those of one model could stand at the
limit above, and those of another at the one below. Odds that only must not rise use all of ε at
every step: their mean stays where it is, so the less they may rise the more seldom they can fall
far."""

RESERVE = 0.02
"""The share of ε that is not planned with.

Where the odds have moved as far as they may, every output must leave them exactly there, which no
rounded numbers can do. From this reserve each step gets a little room above the loss so far."""

_BREATH = 0.1  # of what is left: odds that may not rise cannot fall either, as their mean stays
_ROOM = 1e-6  # of ε, per step: for ε of 0.01 and more the reserve lasts for 20,000 steps


def rationed(situation: Situation, spending: Spending, margin: float = 0.0) -> Situation:
    """Return the situation with the ε that this step may use, a little above the loss so far.

    `margin` is the share of ε that is never used for the belief in the middle of all. Observers
    who believe something else about the start are surprised once already: they may lose all of ε.
    """
    conditions, middles = [], []
    for protection, evidence in zip(situation.protections, situation.evidence, strict=True):
        held_back = max(margin, RESERVE)
        if held_back > RESERVE and len(evidence.a) > 1:
            middles.append((protection, evidence.middle(), held_back))
            held_back = RESERVE
        conditions.append((protection, evidence, held_back))
    conditions += middles
    return replace(
        situation,
        protections=tuple(_rationed(p, e, spending, share) for p, e, share in conditions),
        evidence=tuple(e for _, e, _ in conditions),
    )


def _rationed(
    protection: Protect, evidence: Evidence, spending: Spending, held_back: float
) -> Protect:
    epsilon = (1 - held_back) * protection.epsilon
    spent = max(worst_case(evidence.four_vectors(), sides=protection.sides).loss, 0.0)
    left = max(evidence.model.worlds.last_step - evidence.step, 0)
    ration = epsilon
    if spending == "proportional" and protection.sides == "both":
        gone = evidence.step - evidence.model.first + 1
        ration = max(epsilon * gone / (gone + left), spent + _BREATH * (epsilon - spent))
    elif spending == "rolling":
        ration = spent + max(epsilon - spent, 0.0) / (left + 1)
    floor = spent + max(_ROOM * protection.epsilon, 10 * GUARD)
    return replace(protection, epsilon=min(max(ration, floor), protection.epsilon))
