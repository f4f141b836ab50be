import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priste import EventError, at, at_least, pattern, presence
from priste.worlds import Worlds, compile_event
from tests.oracles import all_paths, truths
from tests.strategies import events, random_event


def final_worlds(worlds: Worlds, paths: np.ndarray) -> np.ndarray:
    world = np.zeros(len(paths), dtype=int)
    for step, move in worlds.moves.items():
        world = move[world, paths[:, step]]
    return world


@settings(max_examples=300)
@given(st.data(), st.integers(2, 4), st.integers(1, 5))
def test_worlds_decide_every_path_and_are_as_few_as_can_be(
    data: st.DataObject, n_cells: int, n_steps: int
) -> None:
    event = data.draw(events(n_cells, n_steps))
    paths = all_paths(n_cells, n_steps)
    holds = truths(event, paths)
    if holds.all() or not holds.any():
        with pytest.raises(EventError, match="cannot fail" if holds.all() else "cannot happen"):
            compile_event(event, n_cells)
        return
    worlds = compile_event(event, n_cells)
    np.testing.assert_array_equal(final_worlds(worlds, paths), holds)
    # Myhill-Nerode: after each step, as many worlds as there are distinct futures
    table = holds.reshape((n_cells,) * n_steps)
    count = 1
    for step in range(n_steps):
        futures = np.unique(table.reshape(n_cells ** (step + 1), -1), axis=0)
        if step in worlds.moves:
            count = int(worlds.moves[step].max()) + 1
        assert count == len(futures)


@pytest.mark.parametrize("length", [1, 2, 5, 40])
def test_presence_and_pattern_need_two_worlds(length: int) -> None:
    assert compile_event(presence({0, 2}, range(3, 3 + length)), 5).width == 2
    assert compile_event(pattern([{0, 2}, {1}] * length, start=2), 5).width == 2


def test_counting_to_k_needs_k_plus_one_worlds() -> None:
    visits = at_least(3, [at({0}, step) for step in range(2, 30, 3)])
    assert compile_event(visits, 4).width == 4
    assert compile_event(~visits, 4).width == 4


def test_nothing_is_paid_before_an_event_starts_or_after_it_is_decided() -> None:
    worlds = compile_event(presence({1}, [4, 9]), 3)
    assert list(worlds.moves) == [4, 9]
    assert worlds.moves[4].shape == (1, 3)
    decided = (at(0, 1) | (at(1, 1) & at(2, 1))) & (at(0, 1) | at(0, 7))
    assert compile_event(decided, 3).last_step == 1


def test_long_events_compile_quickly_because_equal_steps_are_shared() -> None:
    worlds = compile_event(presence(range(50), range(10_000)), 400)
    assert worlds.width == 2
    assert len({id(move) for move in worlds.moves.values()}) <= 3


def test_an_automaton_that_grows_too_wide_is_refused_with_its_width() -> None:
    # "back where I was ten steps ago" for each of ten steps: every past must be remembered
    event = at_least(1, [at(0, t) & at(0, t + 10) for t in range(10)])
    with pytest.raises(EventError, match=r"needs \d+ worlds at step \d+, the limit is 100"):
        compile_event(event, 2, max_worlds=100)
    assert compile_event(event, 2).width == 1024
    longer = at_least(1, [at(0, t) & at(0, t + 11) for t in range(11)])
    with pytest.raises(EventError, match="the limit is 1024"):
        compile_event(longer, 2)


def test_parts_that_are_shared_are_read_once() -> None:
    event = at(0, 0) | at(1, 1)
    for step in range(2, 60):
        event = at_least(2, [event, event, at(0, step)])
    assert compile_event(event, 3).last_step == 1


def test_nesting_without_end_is_refused_in_words() -> None:
    event = at(0, 0)
    for step in range(2_000):
        event = at(1, step) | (at(0, step + 1) & event)
    with pytest.raises(EventError, match="nested too deeply"):
        compile_event(event, 3)


def test_cells_off_the_map_are_refused() -> None:
    with pytest.raises(
        EventError, match="off the map at step 6: 9, 11; the map has 9 cells, 0 to 8"
    ):
        compile_event(at(0, 2) & at([3, 9, 11], 6), 9)


def test_parts_that_cannot_happen_add_nothing() -> None:
    never = [at(0, step) & at(1, step) for step in (1, 2, 3)]
    for k in (1, 2, 3):
        with pytest.raises(EventError, match="the event cannot happen"):
            compile_event(at_least(k, never), 3)
        with pytest.raises(EventError, match="the event cannot fail"):
            compile_event(~at_least(k, never), 3)
    worlds, alone = (compile_event(e, 3) for e in (at(0, 4) | never[0] | never[1], at(0, 4)))
    assert worlds.moves.keys() == alone.moves.keys() == {4}
    np.testing.assert_array_equal(worlds.moves[4], alone.moves[4])


def test_foregone_events_are_refused_with_the_verdict() -> None:
    with pytest.raises(EventError, match="the event cannot happen, so there is nothing to protect"):
        compile_event(at(0, 1) & at(1, 1), 3)
    with pytest.raises(EventError, match="the event cannot fail"):
        compile_event(at(range(3), 1), 3)


def test_counts_of_one_step_and_of_several_are_what_every_path_says() -> None:
    here = [at(cells, 1) for cells in ({0, 1}, {1, 2}, {0, 2}, {3})]
    there = [at({cell}, 2) for cell in (0, 1)]
    paths = all_paths(4, 3)
    for k in (1, 2, 3, 4, 5):
        for parts in (here, here + there):
            event = at_least(min(k, len(parts)), parts)
            for each in (event, ~event):
                holds = truths(each, paths)
                if holds.any() and not holds.all():
                    worlds = compile_event(each, 4)
                    np.testing.assert_array_equal(final_worlds(worlds, paths), holds)


def test_random_expressions_are_what_every_path_says() -> None:
    random, paths = np.random.default_rng(3), all_paths(3, 4)
    for _ in range(150):
        event = random_event(random, 3, 4, depth=3)
        holds = truths(event, paths)
        if holds.any() and not holds.all():
            worlds = compile_event(event, 3)
            np.testing.assert_array_equal(final_worlds(worlds, paths), holds)
