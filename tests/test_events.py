from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priste import Event, EventError, Mobility, at, at_least, pattern, presence, prior_probability
from priste.events import At, Withheld
from tests.oracles import all_paths, truths
from tests.strategies import events


@given(st.data(), st.integers(2, 3), st.integers(1, 4))
def test_an_event_holds_for_the_paths_it_should(
    data: st.DataObject, n_cells: int, n_steps: int
) -> None:
    event = data.draw(events(n_cells, n_steps))
    paths = all_paths(n_cells, n_steps)
    assert [event.holds(path) for path in paths.tolist()] == truths(event, paths).tolist()


def test_presence_is_any_step_and_pattern_is_every_step() -> None:
    assert presence({1, 2}, [3, 5]) == at({1, 2}, 3) | at({1, 2}, 5)
    assert pattern([{0}, {1, 2}], start=4) == at(0, 4) & at({2, 1}, 5)
    assert presence(3, 2) == at(3, 2) == presence(np.int64(3), np.int64(2)) == at(np.array([3]), 2)
    assert presence((c for c in (1, 2)), iter([3, 5])) == presence({1, 2}, np.array([5, 3]))
    assert presence({4}, [2, 2, 1]).steps == (1, 2)


def test_chains_stay_flat() -> None:
    event: Event = at(0, 0)
    for step in range(1, 5_000):
        event = event | at(0, step)
    assert len(event.steps) == 5_000
    assert event == presence({0}, range(5_000))


def test_events_say_what_they_are() -> None:
    assert repr(presence({7, 8}, range(3, 6))) == "presence in {7, 8} at steps 3 to 5"
    assert repr(at(1, 2) & ~at({0, 1}, 3)) == "at {1} at step 2 and not (at {0, 1} at step 3)"
    assert (
        repr(at_least(2, [at(0, 0), at(1, 1)]))
        == "at least 2 of [at {0} at step 0, at {1} at step 1]"
    )
    assert repr(at(range(9), 0)) == "at {0, 1, 2, 3, 4, 5, ... 9 cells} at step 0"
    assert repr((at(0, 0) & at(1, 1)) | at(2, 5)) == (
        "(at {0} at step 0 and at {1} at step 1) or at {2} at step 5"
    )
    assert repr(presence(0, [1, 4])) == "presence in {0} at steps 1, 4"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: at(-1, 0), "each cell of at must be a whole number of at least 0, got -1"),
        (lambda: at({0.5}, 0), "each cell of at must be .* got 0.5"),  # type: ignore[arg-type]
        (lambda: at([], 0), "at has no cells; name at least one"),
        (lambda: at("home", 0), "a cell or a collection of cells, got 'home'"),  # type: ignore[arg-type]
        (lambda: at(0, -1), "step must be a whole number of at least 0, got -1"),
        (lambda: at(0, True), "step must be .* got True"),
        (lambda: presence(0, []), "presence needs at least one step"),
        (lambda: presence(0, 2.5), "the steps of presence must be a collection, got 2.5"),  # type: ignore[arg-type]
        (lambda: presence(0, [1, "a"]), "step must be .* got 'a'"),  # type: ignore[list-item]
        (lambda: pattern(5, 0), "the regions of pattern must be a collection, got 5"),  # type: ignore[arg-type]
        (lambda: at_least(1, at(0, 0)), "the events of at_least must be a collection"),  # type: ignore[arg-type]
        (lambda: presence(0, [1, -2]), "step must be .* got -2"),
        (lambda: pattern([], 0), "pattern needs at least one region"),
        (lambda: pattern([0], -1), "start must be a whole number of at least 0, got -1"),
        (lambda: at_least(3, [at(0, 0), at(0, 1)]), "3 of 2 events, which cannot happen"),
        (lambda: at_least(0, [at(0, 0)]), "k must be a whole number of at least 1, got 0"),
        (lambda: at_least(1, [0]), "at_least takes events, got int"),  # type: ignore[list-item]
        (lambda: at(0, 0) & 3, "events combine with events, got int"),  # type: ignore[operator]
        (lambda: bool(at(0, 0)), "combine events with &, | and ~"),
        (lambda: at(0, 3).holds([0, 0]), "looks at steps up to 3, the path has only 2 cells"),
    ],
)
def test_what_cannot_be_is_refused(build: object, message: str) -> None:
    with pytest.raises(EventError, match=message):
        build()  # type: ignore[operator]


def test_a_bare_event_is_no_expression() -> None:
    with pytest.raises(EventError, match="made of at, presence, pattern"):
        _ = Event().steps
    assert isinstance(at(0, 0), At)


@pytest.mark.parametrize(
    "use",
    [
        lambda event: event.steps,
        lambda event: event.holds([0]),
        lambda event: (~event & at(1, 2)).steps,
        lambda event: prior_probability(event, Mobility(np.eye(2))),
    ],
)
def test_a_withheld_event_says_so_and_nothing_else(use: Callable[[Event], object]) -> None:
    assert repr(Withheld()) == "a withheld event"
    with pytest.raises(EventError, match="this event is withheld: the certificate that names it"):
        use(Withheld())
