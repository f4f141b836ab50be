"""Vertices that have an entry of their own, and are alike in all else."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.checks import Array

Index = NDArray[np.intp]

_SOME = 5  # vertices of which most have no entry in common that is their own
_ROUNDING = 1e-9  # relative


@dataclass(frozen=True, eq=False)
class OwnEntries:
    """What vertices say: true[v] = scale[v] common_true + own_true[v] at entry[v], and false."""

    scale: Array
    common_true: Array
    common_false: Array
    entry: Index
    own_true: Array
    own_false: Array

    @classmethod
    def of(cls, true: Array, false: Array) -> "OwnEntries | None":
        """Return vertices, the rows of two matrices, in these parts; None if they are not so."""
        total, every = true + false, np.arange(len(true))
        some = np.linspace(0, len(true) - 1, _SOME).astype(np.intp)
        possible = total[some[0]] > 0
        if not possible.any():
            return None
        scale = np.median(total[:, possible] / total[some[0], possible], axis=1)
        alike = some[scale[some] > 0]
        common = [np.median(part[alike] / scale[alike, None], axis=0) for part in (true, false)]
        rest = [
            part - scale[:, None] * mine for part, mine in zip((true, false), common, strict=True)
        ]
        off = np.abs(rest).sum(axis=0)
        entry = np.asarray(off.argmax(axis=1))
        own_true, own_false = (part[every, entry] for part in rest)
        off[every, entry] = 0.0
        if (off.max(axis=1) > _ROUNDING * total.max(axis=1)).any():
            return None
        return cls(scale, common[0], common[1], entry, own_true, own_false)
