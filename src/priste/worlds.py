"""An event compiled into its worlds: the smallest automaton that reads a path and decides it.

The paper follows an event with two possible worlds, "happened" and "did not". Here the worlds
are whatever the expression needs: at each step a path stands in one world, and the cell it visits
moves it to another. After the last step only false (world 0) and true (world 1) remain.

The expression is first brought to *threshold form*: literals "the cell of step t is in this set",
and nodes "at least k of these". AND, OR, counting and negation are all of that form. Reading a
cell replaces the literals of its step by true or false; what is left is the residual expression.
Forward, equal residuals are one world; backward, worlds with equal futures are merged.
"""

import logging
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from priste.checks import listing
from priste.errors import EventError
from priste.events import AllOf, AnyOf, At, AtLeast, Event, Not, atoms
from priste.grid import Region

_log = logging.getLogger(__name__)

MAX_WORLDS = 1024
"""How many worlds a step may need before an event is refused."""

FALSE, TRUE = 0, 1
CellMask = int  # a set of cells, one bit each


@dataclass(frozen=True)
class Worlds:
    """The automaton of an event on a map of `n_cells` cells.

    ``moves[t]`` (shape: worlds before × n_cells) gives the world after reading a cell at step t;
    steps that are not in `moves` change nothing. A path begins in world 0; after `last_step`
    world 1 means that the event happened and world 0 that it did not.
    """

    n_cells: int
    moves: dict[int, NDArray[np.intp]]

    @property
    def last_step(self) -> int:
        """The step after which the event is decided for every path."""
        return max(self.moves)

    @property
    def width(self) -> int:
        """The largest number of worlds at any step."""
        return max(int(move.max()) + 1 for move in self.moves.values())


def compile_event(event: Event, n_cells: int, *, max_worlds: int = MAX_WORLDS) -> Worlds:
    """Compile `event` into its worlds on a map of `n_cells` cells."""
    regions_by_step = _regions_by_step(event, n_cells)
    expressions = _Expressions(n_cells)
    try:
        worlds = [expressions.translate(event)]
    except RecursionError:
        raise EventError(
            "the event is nested too deeply to be read; write long chains as at_least, presence, "
            "or with a single kind of operator"
        ) from None
    layers: list[_Layer] = []
    for step, regions in sorted(regions_by_step.items()):
        labels, samples = _classes(frozenset(regions), n_cells)
        residuals = [[expressions.read(world, step, cell) for cell in samples] for world in worlds]
        worlds = sorted({residual for row in residuals for residual in row})
        if len(worlds) > max_worlds:
            raise EventError(
                f"the event needs {len(worlds)} worlds at step {step}, the limit is {max_worlds}; "
                f"split it into several events, or compile it with a larger max_worlds"
            )
        layers.append(_Layer(step, labels, np.searchsorted(worlds, residuals)))
    if worlds != [FALSE, TRUE]:
        verdict = "cannot happen" if worlds == [FALSE] else "cannot fail"
        raise EventError(f"the event {verdict}, so there is nothing to protect: {event!r}")
    compiled = Worlds(n_cells, _minimal(layers))
    _log.debug("an event over %d steps has %d worlds", len(layers), compiled.width)
    return compiled


class _Layer(NamedTuple):
    """How the worlds change at one step: the class of each cell, and the world it leads to."""

    step: int
    labels: NDArray[np.intp]  # per cell
    successors: NDArray[np.intp]  # per world before and class


def _minimal(layers: list[_Layer]) -> dict[int, NDArray[np.intp]]:
    """Merge worlds with equal futures, from the last layer back; drop steps that change nothing."""
    moves: dict[int, NDArray[np.intp]] = {}
    shared: dict[bytes, NDArray[np.intp]] = {}  # equal moves are stored once
    merged = np.array([FALSE, TRUE])
    for step, labels, successors in reversed(layers):
        after = merged[successors]
        n_after = int(merged.max()) + 1
        rows, merged = np.unique(after, axis=0, return_inverse=True)
        merged = merged.ravel()
        stays = len(rows) == n_after and (rows == np.arange(n_after)[:, None]).all()
        if not stays:
            move = rows[:, labels]
            moves[step] = shared.setdefault(move.tobytes(), move)
    return dict(sorted(moves.items()))


def _regions_by_step(event: Event, n_cells: int) -> dict[int, set[Region]]:
    """Return the regions the event asks about at each step, all of them on the map."""
    regions: dict[int, set[Region]] = {}
    for atom in atoms(event):
        regions.setdefault(atom.step, set()).add(atom.cells)
        if atom.cells[-1] >= n_cells:
            off = [cell for cell in atom.cells if cell >= n_cells]
            raise EventError(
                f"the event names cells off the map at step {atom.step}: {listing(off)}; "
                f"the map has {n_cells} cells, 0 to {n_cells - 1}"
            )
    return regions


@lru_cache(maxsize=256)
def _classes(regions: frozenset[Region], n_cells: int) -> tuple[NDArray[np.intp], list[int]]:
    """Return the class of each cell, regions telling the classes apart, and a cell of each."""
    inside = np.zeros((n_cells, len(regions)), dtype=bool)
    for column, region in enumerate(sorted(regions)):
        inside[list(region), column] = True
    _, samples, labels = np.unique(inside, axis=0, return_index=True, return_inverse=True)
    return labels.ravel(), samples.tolist()


@lru_cache(maxsize=256)
def _mask(region: Region) -> CellMask:
    return reduce(lambda mask, cell: mask | 1 << cell, region, 0)


EMPTY = 0


class _List(NamedTuple):
    """Expressions in order of their first step: the first, and the number of the list after it."""

    head: int
    tail: int
    length: int


class _Expressions:
    """Expressions in threshold form, each distinct one known by a number (0 false, 1 true)."""

    def __init__(self, n_cells: int) -> None:
        self._everywhere: CellMask = (1 << n_cells) - 1
        self._translated: dict[tuple[int, bool], int] = {}
        self._residuals: dict[tuple[int, int, int], int] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        self._first_step: list[int] = [-1, -1]
        self._literals: dict[int, tuple[int, CellMask]] = {}
        self._thresholds: dict[int, tuple[int, int]] = {}  # k, and the list of the parts
        self._lists: list[_List] = [_List(EMPTY, EMPTY, 0)]
        self._list_numbers: dict[tuple[int, int], int] = {}

    def translate(self, event: Event, negated: bool = False) -> int:
        """Return the number of an event, or of its negation (De Morgan, also for counts)."""
        known = id(event), negated  # the caller's event keeps its parts alive meanwhile
        if known not in self._translated:
            self._translated[known] = self._translate(event, negated)
        return self._translated[known]

    def _translate(self, event: Event, negated: bool) -> int:
        if isinstance(event, At):
            mask = _mask(event.cells)
            return self._literal(event.step, self._everywhere & ~mask if negated else mask)
        if isinstance(event, Not):
            return self.translate(event.event, not negated)
        if not isinstance(event, AllOf | AnyOf | AtLeast):
            raise EventError(f"an event is made of at, presence, pattern, ...; got {event!r}")
        parts = [self.translate(part, negated) for part in event.events]
        n = len(parts)
        k = event.k if isinstance(event, AtLeast) else n if isinstance(event, AllOf) else 1
        return self._threshold(n - k + 1 if negated else k, parts)

    def read(self, number: int, step: int, cell: int) -> int:
        """Return what is left of an expression once `cell` is known for `step`."""
        if self._first_step[number] != step:
            return number
        known = number, step, cell
        if known not in self._residuals:
            self._residuals[known] = self._read(number, step, cell)
        return self._residuals[known]

    def _read(self, number: int, step: int, cell: int) -> int:
        if number in self._literals:
            return TRUE if self._literals[number][1] >> cell & 1 else FALSE
        k, parts = self._thresholds[number]
        was = self._kind(k, parts)
        read, rest = [], parts
        while rest != EMPTY and self._first_step[self._lists[rest].head] == step:
            read.append(self.read(self._lists[rest].head, step, cell))
            rest = self._lists[rest].tail
        if max(read) <= TRUE:
            k -= read.count(TRUE)
            length = self._lists[rest].length
            if k <= 0 or k > length:
                return TRUE if k <= 0 else FALSE
            if length > 1 and self._kind(k, rest) == was:  # the rest is in normal form already
                return self._node(k, rest)
            read = []
        return self._threshold(k, [*read, *self._members(rest)])

    def _literal(self, step: int, cells: CellMask) -> int:
        """Return the number of "the cell at `step` is one of `cells`"."""
        if cells in (0, self._everywhere):
            return TRUE if cells else FALSE
        number = self._number(("literal", step, cells), step)
        self._literals[number] = (step, cells)
        return number

    def _threshold(self, k: int, parts: list[int]) -> int:
        """Return the number of "at least k of parts", simplified."""
        k -= parts.count(TRUE)
        parts = [part for part in parts if part > TRUE]
        if k <= 0 or k > len(parts):
            return TRUE if k <= 0 else FALSE
        is_and, is_or = k == len(parts), k == 1
        if is_and or is_or:
            decisive = FALSE if is_and else TRUE
            parts = self._united(parts, is_and)
            if decisive in parts:
                return decisive
            if len(parts) == 1:
                return parts[0]
            k = len(parts) if is_and else 1
        parts.sort(key=lambda part: (self._first_step[part], part))
        chain = EMPTY
        for part in reversed(parts):
            chain = self._list(part, chain)
        return self._node(k, chain)

    def _united(self, parts: list[int], is_and: bool) -> list[int]:
        """Open nested nodes of the same kind, drop repeats, join literals of the same step."""
        cells: dict[int, CellMask] = {}
        others: set[int] = set()
        pending = list(parts)
        while pending:
            part = pending.pop()
            if part in self._literals:
                step, mask = self._literals[part]
                known = cells.get(step, mask)
                cells[step] = known & mask if is_and else known | mask
                continue
            k, inner = self._thresholds[part]
            if k == (self._lists[inner].length if is_and else 1):
                pending.extend(self._members(inner))
            else:
                others.add(part)
        return [self._literal(step, mask) for step, mask in cells.items()] + list(others)

    def _node(self, k: int, parts: int) -> int:
        number = self._number(("threshold", k, parts), self._first_step[self._lists[parts].head])
        self._thresholds[number] = (k, parts)
        return number

    def _kind(self, k: int, parts: int) -> str:
        return "and" if k == self._lists[parts].length else "or" if k == 1 else "count"

    def _list(self, head: int, tail: int) -> int:
        """Return the number of a list; what is left of a list as time goes by is one already."""
        number = self._list_numbers.setdefault((head, tail), len(self._lists))
        if number == len(self._lists):
            self._lists.append(_List(head, tail, self._lists[tail].length + 1))
        return number

    def _members(self, number: int) -> list[int]:
        members = []
        while number != EMPTY:
            head, number, _ = self._lists[number]
            members.append(head)
        return members

    def _number(self, form: tuple[object, ...], first_step: int) -> int:
        number = self._numbers.setdefault(form, len(self._first_step))
        if number == len(self._first_step):
            self._first_step.append(first_step)
        return number
