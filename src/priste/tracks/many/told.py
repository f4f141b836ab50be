"""What a part of a job tells about itself, and all parts together (private)."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from priste.checks import Array
from priste.errors import TrackError
from priste.storage import plain_json
from priste.storage.limits import MIB
from priste.tracks.cleaning import Account

_FINEST, _PER_DECADE = 1e-3, 20  # kilometres; steps of 12 % are fine enough for quantiles
MOST_NAMED = 20
"""How many people who were refused a summary names."""


@dataclass
class Spread:
    """How often values of each size occurred: mean and quantiles without keeping the values."""

    count: int = 0
    total: float = 0.0
    largest: float = 0.0
    bins: dict[int, int] = field(default_factory=dict)

    def add(self, values: Array) -> None:
        """Take in some values, none of them negative."""
        if not len(values):
            return
        self.count += len(values)
        self.total += float(values.sum())
        self.largest = max(self.largest, float(values.max()))
        sizes = np.floor(_PER_DECADE * np.log10(np.maximum(values, _FINEST) / _FINEST))
        self.bins = dict(Counter(self.bins) + Counter(sizes.astype(int).tolist()))

    def __add__(self, other: "Spread") -> "Spread":
        return Spread(
            self.count + other.count,
            self.total + other.total,
            max(self.largest, other.largest),
            dict(Counter(self.bins) + Counter(other.bins)),
        )

    @property
    def mean(self) -> float:
        """The mean; NaN of nothing."""
        return self.total / self.count if self.count else math.nan

    def quantile(self, share: float) -> float:
        """Return the value that this share of all stays below, to 6 %; NaN of nothing."""
        seen = 0
        for size in sorted(self.bins):
            seen += self.bins[size]
            if seen >= share * self.count:
                return math.sqrt(math.prod(self.edges(size)))
        return math.nan

    @staticmethod
    def edges(size: int) -> tuple[float, float]:
        """Return between which values a size lies."""
        low, high = (_FINEST * 10 ** (each / _PER_DECADE) for each in (size, size + 1))
        return low, high


@dataclass
class Told:
    """What became of some people's fixes: counts, spreads, and who was refused."""

    people: int = 0
    """Who had fixes."""
    released: int = 0
    """Whose fixes were released."""
    unchanged: int = 0
    """Whose fixes were all of days that had been released before."""
    personal: int = 0
    """Whose stream goes on with a model of their own."""
    days: int = 0
    """The days of these people with a release."""
    releases: int = 0
    again: int = 0
    """Fixes of days that had been released before, which were left out."""
    remarks: int = 0
    """Releases whose plan was not as good as asked for, each within its promise."""
    off_map: int = 0
    """Releases of fixes off the map."""
    shown_away: int = 0
    """Releases of fixes on the map that say "away"."""
    errors: Spread = field(default_factory=Spread)
    """From each fix on the map to what was released there, in kilometres."""
    shares: Spread = field(default_factory=Spread)
    """The largest loss about each event, as a share of its ε."""
    account: Account = field(default_factory=lambda: Account(0, 0, {}, 0))
    """What became of the fixes before that."""
    refused: dict[str, str] = field(default_factory=dict)
    """Who was refused, and why: all of a part, or the first of many."""
    n_refused: int = 0
    seconds: float = 0.0
    """How long all of it took a core."""

    def __add__(self, other: "Told") -> "Told":
        dropped = Counter(self.account.dropped)
        dropped.update(other.account.dropped)
        account = Account(
            self.account.read + other.account.read,
            self.account.kept + other.account.kept,
            dict(dropped),
            self.account.moved + other.account.moved,
        )
        refused = self.refused | other.refused
        sums = {
            name: getattr(self, name) + getattr(other, name)
            for name in vars(self)
            if name not in ("account", "refused")
        }
        return Told(**sums, account=account, refused=refused)

    def refuse(self, user: str, why: str) -> None:
        """Note that somebody's fixes are not released."""
        self.refused[user] = why
        self.n_refused += 1

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Told":
        """Return what `to_json` gave."""
        spreads = {name: _spread(content[name]) for name in ("errors", "shares")}
        account = Account(**content["account"])
        return cls(**{**content, **spreads, "account": account})

    def save(self, path: Path) -> None:
        """Write it down."""
        path.write_text(json.dumps(self.to_json(), ensure_ascii=False), encoding="utf-8")


def _spread(content: Mapping[str, Any]) -> Spread:
    bins = {int(size): count for size, count in content["bins"].items()}
    return Spread(content["count"], content["total"], content["largest"], bins)


def together(files: Iterable[Path]) -> Told:
    """Return what all parts told; of those who were refused the first are named."""
    told = Told()
    for each in _loaded(files):
        told += each
        told.refused = dict(list(told.refused.items())[:MOST_NAMED])
    return told


def _loaded(files: Iterable[Path]) -> Iterator[Told]:
    for path in files:
        yield Told.from_json(plain_json.read(path, 64 * MIB, TrackError, "what a part tells"))
