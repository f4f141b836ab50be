"""Everything a user holds prints as one short line, and nothing but the diary shows a true cell."""

import re

import numpy as np
import pytest

import priste
from priste import (
    AnyPriorOn,
    EmissionMatrix,
    EveryOutput,
    Exponential,
    Grid,
    KnownPrior,
    LocationSet,
    Mobility,
    NearPrior,
    NoNoise,
    OptimalRemap,
    PlanarLaplace,
    Protect,
    Protector,
    Retry,
    Uniform,
    at,
    at_least,
    audit,
    pattern,
    presence,
)

GRID = Grid(20, 20)
MOBILITY = Mobility.gaussian(GRID, sigma=3.0)
CELLS = range(0, 390, 3)
EVENT = at_least(2, [at(CELLS, t) for t in range(4, 40)])
TRUE_CELL = 317


def objects() -> list[object]:
    noise = PlanarLaplace(GRID, 1.0)
    asked = [Protect(EVENT, 1.0, sides="event", name=name) for name in ("gym", "bar", "club")]
    guard = Protector(MOBILITY, noise, asked, prior=KnownPrior(MOBILITY.initial), seed=[1, 2])
    plan = guard.plan()
    release = next(r for r in (guard.release(TRUE_CELL) for _ in range(9)) if r.cell != TRUE_CELL)
    state = guard.beginning().arrive()
    line = Grid(1, 3)
    found = audit(
        Protector(
            Mobility.gaussian(line, 1.0),
            Exponential(line, 1.0),
            Protect(presence({0}, [1]), 0.5),
            calibration=EveryOutput(),
        ),
        2,
    )
    return [
        GRID,
        MOBILITY,
        EVENT,
        ~EVENT & presence(CELLS, range(0, 99, 7)),
        pattern([CELLS] * 30, 4),
        AnyPriorOn(CELLS),
        KnownPrior(MOBILITY.initial),
        NearPrior(MOBILITY.initial, 0.1),
        noise,
        NoNoise(GRID),
        Uniform(400),
        EmissionMatrix(np.eye(400)),
        LocationSet(noise, 0.1, MOBILITY.initial),
        asked[0],
        Retry(),
        OptimalRemap(GRID.distances, loss=GRID.distances**2),
        guard,
        plan,
        plan.warm_start,
        release,
        state,
        state.situation(),
        state.watched[0],
        state.beliefs[0],
        guard.account(),
        state.evidence[0],
        state.evidence[0].model,
        found,
        found.worst,
    ]


def test_everything_prints_as_one_short_line_without_a_true_cell() -> None:
    for thing in objects():
        text = repr(thing)
        assert len(text) <= 160, text
        assert "\n" not in text
        assert " at 0x" not in text
        assert not re.search(rf"\b{TRUE_CELL}\b", text), text


def test_only_the_diary_shows_the_true_cell() -> None:
    guard = Protector(
        MOBILITY,
        PlanarLaplace(GRID, 1.0),
        Protect(EVENT, 1.0),
        prior=KnownPrior(MOBILITY.initial),
        calibration=EveryOutput(),
    )
    release = guard.release(TRUE_CELL)
    assert str(TRUE_CELL) in repr(release.private)
    assert "private" not in repr(release)
    assert set(release.public()) == {"step", "cell"}


@pytest.mark.parametrize("name", priste.__all__)
def test_every_public_name_says_what_it_is(name: str) -> None:
    assert (getattr(priste, name).__doc__ or "").strip()
