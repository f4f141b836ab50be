"""Outputs in groups: fine where it matters, coarse elsewhere."""

import heapq
import math
from collections.abc import Iterable, Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

from priste.checks import Array

Cells = NDArray[np.intp]

_UNLIKE = 0.5  # how much needs may differ within a group before they are parted by it, relative


def total(values: Array, group: Cells, n_groups: int) -> Array:
    """Return the sum of values in each group, of each column for itself."""
    if values.ndim == 2:
        return np.stack([total(column, group, n_groups) for column in values.T], axis=1)
    return np.bincount(group, values, n_groups).astype(float)


def first_groups(far: Array, mass: Array, need: Array, size: int) -> list[Cells]:
    """Return about `size` groups of outputs that need the same cut, small where much mass is.

    `far` is how far outputs lie from each other.
    """
    return finer_groups(far, mass, need, [size])[0]


def finer_groups(far: Array, mass: Array, need: Array, sizes: Iterable[int]) -> list[list[Cells]]:
    """Return the same for several sizes, each a finer one than the last."""
    largest = need / (np.abs(need).sum(axis=0) + 1e-300)
    kind = np.where((need > 0).any(axis=1), largest.argmax(axis=1), -1)
    ages = count()
    heap: list[tuple[float, int, Cells]] = []

    def push(members: Cells) -> None:
        wide = float(far[_ends(far, members)]) if len(members) > 1 else 0.0
        heapq.heappush(heap, (-math.sqrt(mass[members].sum()) * wide, next(ages), members))

    for each in np.unique(kind):
        push(np.flatnonzero(kind == each))
    found = []
    for size in sizes:
        while len(heap) < size and heap[0][0] < 0:
            for part in _halves(far, heapq.heappop(heap)[2]):
                push(part)
        found.append([members for _, _, members in heap])
    return found


def split(
    groups: Sequence[Cells], far: Array, ratio: Array, score: Array, most: int
) -> tuple[list[Cells], Cells]:
    """Return the groups with those of the largest scores parted, up to `most` groups.

    Also return which group each was part of. Groups are parted by place, and their halves by
    `ratio`, what is needed for the mass, where that differs much.
    """
    room, left = most - len(groups), 0.02 * score.sum()
    parted: dict[int, list[Cells]] = {}
    rest = score.sum()
    for number in np.argsort(-score, kind="stable").tolist():
        if room <= 0 or score[number] <= 0 or rest <= left:
            break
        rest -= score[number]
        halves = _halves(far, groups[number])
        parts = [part for half in halves for part in _by_ratio(far, half, ratio)]
        parted[number] = parts
        room -= len(parts) - 1
    found = [(k, part) for k, group in enumerate(groups) for part in parted.get(k, [group])]
    return [part for _, part in found], np.array([k for k, _ in found], dtype=np.intp)


def _ends(far: Array, members: Cells) -> tuple[int, int]:
    """Return two members that lie far apart."""
    first = int(members[np.argmax(far[members[0], members])])
    return first, int(members[np.argmax(far[first, members])])


def _halves(far: Array, members: Cells) -> list[Cells]:
    """Return the members nearer to one end and those nearer to the other."""
    if len(members) == 1:
        return [members]
    first, last = _ends(far, members)
    near = far[first, members] < far[last, members]
    near |= members == first
    return [members[near], members[~near]] if not near.all() else [members[:1], members[1:]]


def _by_ratio(far: Array, members: Cells, ratio: Array) -> list[Cells]:
    """Return the members with a small and with a large ratio, or halves by place."""
    if len(members) == 1:
        return [members]
    there = ratio[members]
    differs = np.ptp(there, axis=0) / (np.abs(there).max(axis=0) + 1e-300)
    most = int(np.argmax(differs))
    if differs[most] <= _UNLIKE:
        return _halves(far, members)
    small = there[:, most] < np.median(there[:, most])
    if not small.any():
        small = there[:, most] <= there[:, most].min()
    return [members[small], members[~small]]
