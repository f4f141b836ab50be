from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from verification.kills import Lives, judge

from priste.serve.gateway import Gateway
from priste.serve.payloads import Fix
from priste.serve.store import Letter
from tests.tracks import city
from tests.tracks.streams import EVENTS


def test_a_gateway_killed_between_any_two_writes_draws_nothing_twice_and_loses_nothing(
    tmp_path: Path,
) -> None:
    lives = Lives(tmp_path, city.model(), EVENTS, seed=1)
    lives.many(20)
    tally = judge(lives)
    assert sum(tally.deaths.values()) == 21
    assert len(tally.deaths) > 4
    assert tally.releases > 20
    assert tally.received >= tally.releases


def answer_before_the_commit(gateway: Gateway) -> None:
    write = gateway.take

    async def take(person: str, fixes: list[Fix]) -> None:
        gateway.loose.append(write(person, fixes))  # type: ignore[attr-defined]

    gateway.loose = []  # type: ignore[attr-defined]
    gateway.take = take  # type: ignore[method-assign]


def forget_that_a_step_is_over(gateway: Gateway) -> None:
    execute_many = gateway.store.database.execute_many

    def forget(statement: str, values: Any) -> None:
        if statement.startswith("UPDATE streams SET step"):
            return
        execute_many(statement.replace("INSERT INTO", "INSERT OR REPLACE INTO"), values)

    gateway.store.database.execute_many = forget  # type: ignore[method-assign]


def write_each_letter_anew(gateway: Gateway) -> None:
    find, tries = gateway.store.next_letter, iter(range(10_000))

    def written(person: str, receiver: str) -> tuple[Letter, float] | None:
        found = find(person, receiver)
        return found and (found[0]._replace(body=found[0].body + b" " * next(tries)), found[1])

    gateway.store.next_letter = written  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("plant", "message"),
    [
        (answer_before_the_commit, "an acknowledged fix was lost"),
        (forget_that_a_step_is_over, "not in the log|never sent|the account is another"),
        (write_each_letter_anew, "not in the log"),
    ],
)
def test_a_planted_mistake_is_noticed(
    tmp_path: Path, plant: Callable[[Gateway], None], message: str
) -> None:
    lives = Lives(tmp_path, city.model(), EVENTS, seed=2, plant=plant)
    lives.many(8)
    with pytest.raises(AssertionError, match=message):
        judge(lives)
