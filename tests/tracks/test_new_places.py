"""Whoever protects a day at places that the model does not know is told so, and nobody else is."""

from pathlib import Path

import pytest

from priste.errors import ModelFileError
from priste.tracks import Stream, load_model, save_model
from priste.tracks.new_places import CELLS, at_new_places, cells_seen
from tests.tracks import city


def test_much_of_a_day_at_new_places_is_said_and_little_is_not() -> None:
    seen = cells_seen([[4, 4, 2], [7]])
    assert seen == {CELLS: [2, 4, 7]}
    (remark,) = at_new_places(seen, 9, [2, None, 3, 4, 5, 7])
    assert remark.startswith("2 of 5 steps with a fix are in cells where no learned day was")
    assert at_new_places(seen, 9, [2, None, 3, 4, 4]) == []  # a quarter
    assert at_new_places(seen, 9, [None, None]) == []


def test_a_model_that_does_not_say_where_it_learned_says_nothing() -> None:
    assert at_new_places({}, 9, [3, 3]) == []


def test_a_stream_knows_the_places_of_its_model(tmp_path: Path) -> None:
    model = city.model()
    save_model(model, tmp_path / "city.model")
    for known in (model, load_model(tmp_path / "city.model")):
        assert known.provenance[CELLS] == sorted(
            set(
                city.PLACE.cell_at(
                    city.days(0, 10)["latitude"], city.days(0, 10)["longitude"]
                ).tolist()
            )
        )
        assert Stream.of(city.days(10, 11), known).remarks([]) == []
        abroad = city.days(10, 11).assign(latitude=10.0)
        (remark,) = Stream.of(abroad, known).remarks([])
        assert "24 of 24 steps" in remark
        (remark,) = Stream.of(abroad, known).remarks(city.events_file(tmp_path))
        assert "24 of 24 steps" in remark


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ("2", "the cells that a model has seen are a list, got '2'"),
        ([1, -1], "a cell that was seen must be a whole number of at least 0, got -1"),
        ([1, 26], "the model has seen cell 26, but its map has 26"),
    ],
)
def test_cells_that_cannot_be_are_refused(cells: object, why: str, tmp_path: Path) -> None:
    model = city.model()
    save_model(
        type(model)(
            model.place,
            model.step,
            model.mobilities,
            model.time_zone,
            {**model.provenance, CELLS: cells},
        ),
        tmp_path / "m.model",
    )
    with pytest.raises(ModelFileError, match=why):
        load_model(tmp_path / "m.model")
