import numpy as np
import pytest

from priste.backwards import FEW, Backwards
from priste.checks import Array


def doubled(i: int, table: Array) -> Array:
    return 2 * table + i


@pytest.mark.parametrize("last", [0, 1, 2, FEW - 1, FEW, FEW + 1, 100, 143, 1441])
@pytest.mark.parametrize("order", ["forwards", "backwards", "anyhow"])
def test_every_table_is_that_of_the_plain_recursion(last: int, order: str) -> None:
    plain = [np.array([1.0])]
    for i in range(last - 1, -1, -1):
        plain.append(np.mod(doubled(i, plain[-1]), 1009.0))
    plain.reverse()
    tables = Backwards(last, np.array([1.0]), lambda i, t: np.mod(doubled(i, t), 1009.0))
    asked = np.arange(last + 1)
    if order == "anyhow":
        np.random.default_rng(1).shuffle(asked)
    for i in asked[::-1] if order == "backwards" else asked:
        assert tables[int(i)] == plain[i]


def test_few_of_many_tables_are_kept_and_going_through_them_computes_each_once_more() -> None:
    computed: list[int] = []

    def back(i: int, table: Array) -> Array:
        computed.append(i)
        return table + 1

    tables = Backwards(1440, np.zeros(1), back)
    assert len(tables._kept) < 45
    computed.clear()
    for i in range(1441):
        _ = tables[i]
    assert len(computed) == len(set(computed))
    assert len(tables._between) < 45


def test_there_is_no_table_beyond_the_ends() -> None:
    for last in (10, 1000):
        tables = Backwards(last, np.zeros(1), doubled)
        for outside in (-1, last + 1):
            with pytest.raises(IndexError, match=f"0 to {last}"):
                tables[outside]
