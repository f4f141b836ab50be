"""Which lines a column is given next: those that it breaks most, a few from all over the map.

Where a column breaks the line of one vertex, it breaks those of its neighbours nearly as much, and
what mends the one nearly mends the others. So of vertices that are alike only the worst is chosen
at a time: a column then needs a third to a fifth of the lines, in as many rounds.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from priste.calibration.interior import Interior
from priste.calibration.odds_lines import OddsLines
from priste.checks import Array

Index = NDArray[np.intp]

BROKEN = 1e-3
"""How far lines must be broken to be added, relative."""
_AT_ONCE = 32  # columns


def add_broken(
    program: Interior, lines: OddsLines, alike: Sequence[Index], least: float, most: int
) -> None:
    """Give each column the lines that it breaks most, by more than `least` and at most so many.

    Of each vertex, and of those that are alike, it is given one line at a time.
    """
    given, columns, mus = program.given, program.columns, program.mus
    known = given.line < lines.n_lines
    first = np.cumsum([0, *(len(each) for each in alike)])
    others = np.concatenate(alike) if alike else np.empty(0, dtype=np.intp)

    def broken(start: int) -> tuple[Index, Index]:
        here = slice(start, start + _AT_ONCE)
        excess = lines.excess(columns[:, here], mus[:, here])
        mine = known & (given.column >= here.start) & (given.column < here.stop)
        excess[given.column[mine] - start, given.line[mine]] = -np.inf
        column, line = _worst(excess, lines.vertex, first, others, least, most)
        return start + column, line

    parts = list(program.pool.map(broken, range(0, program.n_columns, _AT_ONCE)))
    program.add(*(np.concatenate(part) for part in zip(*parts, strict=True)))


@njit(cache=True, nogil=True)
def _worst(
    excess: Array, vertex: Index, first: Index, others: Index, least: float, most: int
) -> tuple[Index, Index]:
    """Return columns and lines: of each column those of the largest excess, none alike."""
    columns = np.empty(len(excess) * most, dtype=np.intp)
    lines, count = np.empty_like(columns), 0
    line, value = np.empty(len(first) - 1, dtype=np.intp), np.empty(len(first) - 1)
    for column in range(len(excess)):
        value[:] = least
        for number, mine in enumerate(excess[column]):
            if mine > value[vertex[number]]:
                line[vertex[number]], value[vertex[number]] = number, mine
        for _ in range(min(most, len(value))):
            worst = np.argmax(value)
            if value[worst] <= least:
                break
            columns[count], lines[count] = column, line[worst]
            count += 1
            value[worst] = least
            value[others[first[worst] : first[worst + 1]]] = least
    return columns[:count], lines[:count]
