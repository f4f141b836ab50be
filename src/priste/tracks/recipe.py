"""How a mechanism or a calibration was set, in plain values, so that it can be built again."""

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from priste.checks import shown
from priste.errors import CertificateError
from priste.grid import Grid
from priste.storage.archive import checksum
from priste.storage.limits import MAX_BUDGET, at_most
from priste.tracks.names import checked, short

Built = TypeVar("Built")

MAX_SETTING = 1e6
"""The largest number that an algorithm is set to when a certificate asks for it."""

MAX_SETTINGS = 20
"""How many settings an algorithm may have."""


@dataclass(frozen=True)
class Fingerprint:
    """A setting that a certificate does not hold: what it is, and the SHA-256 of an array."""

    what: str
    sha256: str = ""

    def __post_init__(self) -> None:
        for name in ("what", "sha256"):
            value = getattr(self, name)
            if not isinstance(value, str) or len(value) > 100 or not value.isprintable():
                raise CertificateError(f"the {name} of a setting must be text, got {shown(value)}")


@dataclass(frozen=True, repr=False)
class Recipe:
    """The name of a class and the arguments that build it, the map of the certificate aside."""

    name: str
    settings: Mapping[str, Any]

    def __post_init__(self) -> None:
        checked(self.name, "an algorithm", CertificateError)
        what = f"the number of settings of {self.name}"
        at_most(len(self.settings), MAX_SETTINGS, what, "remove some", CertificateError)
        for name, value in self.settings.items():
            checked(name, "a setting", CertificateError)
            if isinstance(value, str):
                checked(value, name, CertificateError)
            elif not isinstance(value, Fingerprint) and not _is_number(value):
                raise CertificateError(f"{name} of {self.name} is {shown(value)}")
        budget = self.settings.get("budget")
        if _is_number(budget) and budget is not None:
            remedy = "use a smaller one"
            at_most(budget, MAX_BUDGET, "the budget per km", remedy, CertificateError)

    @classmethod
    def of(cls, built: object, grid: Grid) -> "Recipe":
        """Return how a mechanism or a calibration on the map `grid` was built."""
        arguments = {name: getattr(built, name, None) for name in _parameters(type(built))}
        settings = {
            name: _plain(value)
            for name, value in arguments.items()
            if not (isinstance(value, Grid) and value == grid)
        }
        return cls(type(built).__name__, settings)

    @property
    def obstacle(self) -> str:
        """Why nobody else can build this, or nothing."""
        hidden = [
            f"{value.what} as its {name}"
            for name, value in self.settings.items()
            if isinstance(value, Fingerprint)
        ]
        return f"{self.name} was given {' and '.join(hidden)}" if hidden else ""

    def build(self, kinds: Mapping[str, type[Built]], grid: Grid) -> Built:
        """Return what the recipe makes, one of `kinds`, on the map `grid`."""
        if self.obstacle:
            raise CertificateError(f"the algorithm cannot be rebuilt: {self.obstacle}")
        if self.name not in kinds:
            raise CertificateError(
                f"the algorithm cannot be rebuilt: {self.name} is not one of {', '.join(kinds)}"
            )
        kind, arguments = kinds[self.name], dict(self.settings)
        for name, value in arguments.items():
            if isinstance(value, int | float):
                what = f"{name} of {self.name}"
                at_most(value, MAX_SETTING, what, "rebuild it by hand", CertificateError)
        if "grid" in _parameters(kind):
            arguments["grid"] = grid
        if set(arguments) != set(_parameters(kind)):
            raise CertificateError(
                f"the algorithm cannot be rebuilt: {self.name} has the settings "
                f"{', '.join(_parameters(kind))}, the certificate gives {', '.join(arguments)}"
            )
        return kind(**arguments)

    def __str__(self) -> str:
        settings = ", ".join(
            f"{name.replace('_', ' ')} {value.what if isinstance(value, Fingerprint) else value}"
            for name, value in self.settings.items()
            if value is not None
        )
        return f"{self.name} ({settings})" if settings else self.name

    def __repr__(self) -> str:
        return f"<Recipe: {short(str(self), 100)}>"

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as plain values."""
        return {"name": self.name} | {
            name: vars(value) if isinstance(value, Fingerprint) else value
            for name, value in self.settings.items()
        }

    @classmethod
    def from_json(cls, content: Any) -> "Recipe":
        """Return the recipe that `to_json` wrote."""
        if not isinstance(content, dict) or "name" not in content:
            raise CertificateError(f"an algorithm has a name and settings, got {shown(content)}")
        settings = {
            name: Fingerprint(**value) if isinstance(value, dict) else value
            for name, value in content.items()
            if name != "name"
        }
        return cls(content["name"], settings)


def _parameters(kind: type) -> list[str]:
    return list(inspect.signature(kind).parameters)


def _is_number(value: object) -> bool:
    """Tell whether a setting is a number as JSON has them, a truth value or nothing."""
    return (
        value is None
        or isinstance(value, bool | int)
        or (isinstance(value, float) and math.isfinite(value))
    )


def _plain(value: Any) -> Any:
    """Return a setting as it is written down."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str) or _is_number(value):
        return value
    if isinstance(value, np.ndarray):
        return Fingerprint("an array", checksum({"": value}).hex())
    return Fingerprint(f"a {type(value).__name__}")
