"""Lines for intervals of odds, given to columns as they break them: a few from all over the map.

Where a column breaks the line of one vertex, it breaks those of its neighbours nearly as much, and
what mends the one nearly mends the others. So of vertices that are alike only the worst is chosen
at a time: a column then needs a third to a fifth of the lines, in as many rounds.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from priste.calibration import blocks, own_blocks
from priste.calibration.interior import Interior
from priste.calibration.odds_lines import OddsLines
from priste.checks import Array

Index = NDArray[np.intp]

_BROKEN = 1e-3  # how far lines must be broken to be added, relative
_AT_FIRST = (-0.1, 20)  # columns begin with lines that they nearly break, and as many
_MORE = 15  # lines that a column is given at a time later
_MORE_OF_OWN = 40  # and where they have entries of their own, and cost little
_MANY_MORE = 60  # and to become certain that nothing can be gained
_AT_ONCE = 32  # columns


class BrokenLines:
    """Lines for groups of signals, as columns come to break them.

    `whole` are the same lines with an entry for each signal, and `alike` the vertices that say much
    the same as each.
    """

    slack = 0.02
    """What a broken line starts with at most, relative to its size."""

    def __init__(self, lines: OddsLines, whole: OddsLines, alike: Sequence[Index]) -> None:
        self._lines, self._whole, self._alike = lines, whole, alike
        self.mus, self.always, self.n_lines = lines.middle(), lines.falls, lines.n_lines
        self._shared = lines.shared
        self.rows = lines.rows_of_own if lines.has_own_entries else lines.rows

    def blocks_of(self, n_columns: int) -> blocks.Blocks | own_blocks.OwnBlocks:
        """Return the blocks of some columns for such lines."""
        n_rows = self._lines.n_rows
        if self._lines.has_own_entries:
            return own_blocks.OwnBlocks(n_columns, self._shared, n_rows)
        return blocks.Blocks(n_columns, n_rows + self._lines.n_mus, n_rows)

    def work_of_a_step(self, n_columns: int, size: int, n_lines: float) -> float:
        """Return how much work a step is with so many lines for each column."""
        if self._lines.has_own_entries:
            return own_blocks.work_of_a_step(n_columns, size, len(self._shared))
        return blocks.work_of_a_step(n_columns, size, n_lines)

    def add_first(self, program: Interior) -> None:
        """Give each column lines that it nearly breaks."""
        self._add(program, *_AT_FIRST)

    def add_broken(self, program: Interior, *, many: bool = False) -> None:
        """Give each column the lines that it breaks most."""
        more = _MORE_OF_OWN if self._lines.has_own_entries else _MORE
        self._add(program, _BROKEN, _MANY_MORE if many else more)

    def _add(self, program: Interior, least: float, most: int) -> None:
        """Give each column lines that it breaks by more than `least`, at most so many.

        Of each vertex, and of those that are alike, it is given one line at a time.
        """
        lines, alike = self._lines, self._alike
        given, columns, mus = program.given, program.columns, program.mus
        known = given.line < lines.n_lines
        first = np.cumsum([0, *(len(each) for each in alike)])
        others = np.concatenate([np.empty(0, dtype=np.intp), *alike])

        def broken(start: int) -> tuple[Index, Index]:
            here = slice(start, start + _AT_ONCE)
            excess = lines.excess(columns[:, here], mus[:, here])
            mine = known & (given.column >= here.start) & (given.column < here.stop)
            excess[given.column[mine] - start, given.line[mine]] = -np.inf
            column, line = _worst(excess, lines.vertex, first, others, least, most)
            return start + column, line

        parts = list(program.pool.map(broken, range(0, program.n_columns, _AT_ONCE)))
        program.add(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def price(self, program: Interior) -> Array:
        """Return what the prices of the lines cost each signal, per column."""
        return self._whole.price(program.prices(self.n_lines + len(self.always)))


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
