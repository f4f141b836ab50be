"""The setting that predicts left-out days best, beside the mobility that is learned with it."""

import math
import warnings
from collections import Counter
from dataclasses import replace
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from priste import Grid, Mobility, presence
from priste.errors import MobilityError, UnobservedRowsWarning
from priste.fitting import RINGS
from priste.stream.activation import latest_activation
from priste.tracks.habits import GOING_HOME, habits_of, learned
from priste.tracks.held_out import Base, Days, Setting, _Scores, choose

GRID = Grid(3, 4)
RANDOM = np.random.default_rng(3)


def days(count: int = 8, period: int = 6, sigma: float = 0.8) -> Days:
    """Days of two runs each, of somebody who moves locally."""
    moves = Mobility.gaussian(GRID, sigma)
    runs, day, phase = [], [], []
    for number in range(count):
        for run, length in ((0, 9), (1, 4)):
            runs.append(moves.sample(length, seed=2 * number + run).tolist())
            day.append(number)
            phase.append(int(RANDOM.integers(period)))
    return Days(GRID, runs, day, phase, period, pd.Timedelta("1h"))


def log_likelihood(mobility: Mobility, held_out: Days) -> float:
    """The log-likelihood of the moves, state by state."""
    total = 0.0
    for run, phase in zip(held_out.runs, held_out.phase, strict=True):
        state = run[0]
        for t, cell in enumerate(run[1:]):
            matrix = mobility.transition(phase + t)
            row = sparse.csr_array(matrix)[[state]].toarray()[0]
            there = mobility.cell_of_state == cell
            total += math.log(row[there].sum())
            state = int(np.flatnonzero(there)[np.argmax(row[there])])
    return total


@pytest.mark.parametrize("base", ["uniform", "local", "usual"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("time_of_day", [False, True])
def test_the_score_is_the_likelihood_of_the_mobility_that_is_learned(
    base: str, order: int, time_of_day: bool
) -> None:
    everything = days()
    train, test = everything.of(range(5)), everything.of([5, 6, 7])
    setting = Setting(base, 1.5, order, time_of_day)  # type: ignore[arg-type]
    mobility = learned(train, setting)
    expected = log_likelihood(mobility, test)
    assert _Scores(train, test, setting.base).of(setting) == pytest.approx(expected, rel=1e-9)


def test_people_who_move_locally_are_predicted_by_a_local_base() -> None:
    choice = choose(days(12), bases=["uniform", "local"])
    assert choice.setting.base == "local"
    assert choice.nats > choice.held_out[Setting()]
    assert choice.nats > choice.usual_places
    assert choice.setting.order == 1  # more is not worth it
    assert not choice.setting.time_of_day


def test_what_is_given_is_kept_and_a_single_day_leaves_nothing_out() -> None:
    choice = choose(days(), bases=["uniform"], smoothings=[0.7], orders=[2], times_of_day=[True])
    assert choice.setting == Setting("uniform", 0.7, 2, True)
    assert math.isfinite(choice.nats)
    alone = choose(days(1), bases=["uniform", "local"])
    assert alone.setting.base == "local"
    assert math.isnan(alone.nats)


def test_habits_share_their_start_and_differ_where_nobody_was_seen() -> None:
    seen = days(5, sigma=0.3)
    habits = habits_of(seen, Setting("usual", 5.0), 7, lambda _: None)
    likeliest, anywhere, resting, wandering, *_ = habits
    for habit in habits:
        np.testing.assert_array_equal(habit.initial, likeliest.initial)
    unseen, visited = likeliest.unobserved[0], seen.runs[0][0]
    stay = [m.transition(0)[unseen, unseen] for m in (anywhere, resting)]
    assert stay == pytest.approx([1 / 12, math.exp(-1 / 8)])  # eight hours on average
    back = [m.transition(0)[unseen, visited] for m in (wandering, likeliest)]
    away = 0.9**6  # a tenth comes back every ten minutes
    assert back[1] == pytest.approx(away * back[0] + (1 - away) * _share_of(visited, seen))
    assert len({m.transition(0).tobytes() for m in habits}) == 7
    again = habits_of(seen, Setting("usual", 5.0), 7, lambda _: None)
    for one, other in zip(habits, again, strict=True):
        np.testing.assert_array_equal(one.transition(0), other.transition(0))


def test_how_long_people_may_stay_in_new_places_does_not_depend_on_the_step() -> None:
    seen = days(5, sigma=0.3)
    after_an_hour = []
    for step, steps in (("1h", 1), ("10min", 6), ("1min", 60)):
        in_steps = replace(seen, step=pd.Timedelta(step))
        habits = habits_of(in_steps, Setting("usual", 5.0), 3, lambda _: None)
        unseen = habits[0].unobserved[0]
        after_an_hour.append(habits[2].transition(0)[unseen, unseen] ** steps)
    np.testing.assert_allclose(after_an_hour, after_an_hour[0], rtol=1e-12, atol=0)


def test_the_third_habit_stays_where_little_is_known_and_nowhere_for_ever() -> None:
    stay, seen = math.exp(-1 / 8), days(5, sigma=2.0)
    settled = replace(seen, runs=[*seen.runs, [7] * 60], day=[*seen.day, 9], phase=[*seen.phase, 0])
    resting = habits_of(settled, Setting("usual"), 3, lambda _: None)[2].transition(0)
    for setting in (Setting("uniform"), Setting("usual", 5.0, 2, True)):  # simple, whatever fits
        other = habits_of(settled, setting, 3, lambda _: None)[2].transition(0)
        np.testing.assert_array_equal(other, resting)
    base = Mobility.by_distance(settled.grid, settled.runs, returning=GOING_HOME)
    plain, sticky = (
        learned(settled, Setting(), each).transition(0) for each in (base, _rested(base, stay))
    )
    expected = np.minimum(np.diag(sticky), np.maximum(np.diag(plain), stay))
    np.testing.assert_allclose(np.diag(resting), expected, rtol=1e-12, atol=0)
    assert sticky[7, 7] > plain[7, 7] > stay
    np.testing.assert_allclose(resting[7], plain[7], rtol=1e-12, atol=0)
    for cell in range(12):  # whoever leaves moves as they would without resting
        others = np.arange(12) != cell
        moving, known = resting[cell, others], plain[cell, others]
        np.testing.assert_allclose(moving / moving.sum(), known / known.sum(), rtol=1e-12, atol=0)


def _rested(base: Mobility, stay: float) -> Mobility:
    """Return a base that stays with a chance of `stay` at least, or moves as it did."""
    rows = np.array(base.transition(0))
    idle = np.diag(rows).copy()
    there = np.maximum(idle, stay)
    np.fill_diagonal(rows, 0.0)
    rows *= ((1 - there) / (1 - idle))[:, None]
    np.fill_diagonal(rows, there)
    return Mobility(rows)


@pytest.mark.parametrize(
    ("city", "runs"),
    [(Grid(1, 1), [[0, 0]]), (Grid(2, 2), [[0], [3]]), (Grid(2, 2, elsewhere=True), [[0, 4, 4]])],
    ids=["a single cell", "no moves", "off the map"],
)
def test_the_third_habit_can_be_learned_from_little(city: Grid, runs: list[list[int]]) -> None:
    seen = Days(city, runs, range(len(runs)), [0] * len(runs), 24, pd.Timedelta("1h"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        habits = habits_of(seen, Setting("usual"), 3, lambda _: None)
    rows = habits[2].transition(0)
    assert (rows >= 0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-12, atol=0)


def test_an_event_need_not_be_tracked_for_weeks_because_people_may_rest() -> None:
    """A place that is never left, or one after the other to rest at, would be remembered."""
    city = Grid(12, 12)
    random = np.random.default_rng(0)
    home = [[17, 17, 18, 17] * 8 + random.choice([17, 18, 29, 30, 42], 8).tolist() for _ in "12345"]
    away = [*home, [90] * 80, [100, 101] * 40]
    seen = Days(city, away, range(7), [0] * 7, 144, pd.Timedelta("10min"))
    habits = habits_of(seen, Setting("usual", 5.0), 4, lambda _: None)
    event, week = presence([17], steps=range(3000, 3036)), 7 * 144
    leads = [3000 - latest_activation(event, habit, 0, 0.01).step for habit in habits]
    assert leads[2] < week


@pytest.mark.parametrize("step", ["1D", "14D", "366D"])
def test_in_long_steps_the_third_habit_stays_as_long_as_others(step: str) -> None:
    home = replace(days(2), runs=[[3] * 50, [3] * 50], step=pd.Timedelta(step))
    for base in get_args(Base):
        habits = habits_of(home, Setting(base), 3, lambda _: None)
        at_home, without = habits[2].transition(0)[3, 3], learned(home, Setting(base)).transition(0)
        assert at_home >= without[3, 3] - 1e-15


def _share_of(cell: int, seen: Days) -> float:
    """How much of all time was spent in a cell."""
    return float(np.mean(np.concatenate([np.asarray(run) for run in seen.runs]) == cell))


def test_people_come_back_by_the_clock_and_not_by_the_step() -> None:
    seen, shares = days(1), {"5min": 1 - 0.9**0.5, "10min": 0.1, "25min": 1 - 0.9**2.5, "1D": 0.9}
    for step, share in shares.items():  # not all, however long a step is
        base = replace(seen, step=pd.Timedelta(step)).base("usual")
        expected = Mobility.by_distance(GRID, seen.runs, returning=share)
        assert base is not None
        np.testing.assert_allclose(base.transition(0), expected.transition(0), rtol=1e-12, atol=0)


def test_who_is_thought_to_wander_on_also_comes_back_for_others() -> None:
    seen = days(5)
    coming_back = learned(seen, Setting("usual", 5.0)).transition(0)
    *_, fourth = habits_of(seen, Setting("local", 5.0), 4, lambda _: None)
    np.testing.assert_array_equal(fourth.transition(0), coming_back)


def test_in_the_long_run_people_are_where_they_usually_are() -> None:
    """A base of distances alone leaves people in places where they never were."""
    city, home = Grid(15, 15), [16, 17, 31, 32]
    moves = np.random.default_rng(0).choice(home, 200).tolist()
    for returning, least, most in ((0.0, 0.0, 0.3), (0.1, 0.7, 1.0)):
        base = Mobility.by_distance(city, [moves], returning=returning)
        with pytest.warns(UnobservedRowsWarning):
            mobility = Mobility.fit([moves], city.n_cells, smoothing=10.0, base=base)
        for_long = np.linalg.matrix_power(mobility.transition(0), 10_000)[0]
        assert least <= for_long[home].sum() <= most


def test_a_share_of_moves_lies_between_none_and_all() -> None:
    with pytest.raises(MobilityError, match=r"returning must lie in \[0, 1\], got 1.5"):
        Mobility.by_distance(GRID, [[0, 1]], returning=1.5)


def test_distances_alone_are_learned() -> None:
    base = Mobility.by_distance(GRID, [[0, 1, 2, 3], [4, 5]])
    matrix = base.transition(0)
    steps = GRID.distances
    for cell in range(12):
        ring = np.isclose(steps[cell], 1.0)
        assert len(set(np.round(matrix[cell][ring], 12))) == 1  # cells of a ring are alike
    assert matrix[5][1] > matrix[5][5]  # all four moves went to the next cell


def test_leaving_the_map_and_coming_back_is_learned_whatever_the_distance() -> None:
    grid = Grid(3, 4, elsewhere=True)
    away = grid.n_squares
    paths = [[0, 1, 2, away, away, away, 7], [7, 7, 3, 2, away, away]]
    matrix = Mobility.by_distance(grid, paths).transition(0)
    moved = Counter(ring_of(grid, a, b) for a, b in [(0, 1), (1, 2), (7, 7), (7, 3), (3, 2)])
    for cell in range(12):
        rings = {ring_of(grid, cell, other) for other in range(12)}
        staying = sum(moved[ring] + 0.5 for ring in rings)
        assert matrix[cell, away] == pytest.approx(2.5 / (2.5 + staying))  # left twice
    assert matrix[away, away] == pytest.approx(3.5 / (3.5 + 1.5))  # stayed three times, back once
    np.testing.assert_allclose(matrix[away, :12], 1.5 / 5 / 12)
    coming_back = Mobility.by_distance(grid, paths, returning=0.25).transition(0)
    usual = np.bincount(np.concatenate(paths), minlength=13) / 13  # 13 steps, 5 of them away
    np.testing.assert_allclose(coming_back, 0.75 * matrix + 0.25 * usual, rtol=1e-12)


def ring_of(grid: Grid, here: int, there: int) -> int:
    return int(np.digitize(grid.distances[here, there], RINGS))
