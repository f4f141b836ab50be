"""One setting of an experiment: everything that decides what its streams look like."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from priste.calibration import Calibration, EveryOutput, OptimalRemap, Retry
from priste.checks import Array
from priste.events import Event, pattern, presence
from priste.grid import Grid
from priste.mechanisms import LocationSet, PlanarLaplace
from priste.mechanisms.mechanism import Mechanism
from priste.mobility import Mobility
from priste.priors import AnyPrior, KnownPrior, Prior
from priste.protection import Protect
from priste.protector import Protector
from priste.worst_case import Sides
from reproduction.cached_remap import CachedRemap, Plans

METHODS = ("retry", "every output", "remap")
"""The published loop, and the two calibrations whose ε holds."""

EARLY, LATE = range(3, 8), range(15, 20)
"""The paper's times 4 to 8 and 16 to 20; steps begin at 0 here."""

_GAP, _ROUNDS = 0.05, 40  # of the remap: a search that is good enough for a mean over streams
_FOREVER = 1e9  # seconds: a plan must not depend on the clock, or an audit could not repeat it


@dataclass(frozen=True, order=True)
class Setting:
    """One point of a figure: the event, the map, and how its streams are protected.

    `alpha` is the budget of the noise per unit of distance, `delta` the parameter of the location
    set if there is one, `sigma` the scale of the synthetic mobility in cells, `cell` the side of a
    cell. The published loop multiplies its budget by `decay` up to `weakenings` times; `sides` says
    which sides of the loss are bounded.
    On Geolife `place` names the map and `person` numbers the people; sigma and cell do not count.
    """

    event: str = "early"
    alpha: float = 0.2
    epsilon: float = 0.5
    delta: float | None = None
    sigma: float = 10.0
    cell: float = 1.0
    prior: str = "any"
    place: str = "synthetic"
    region: str = "first ten"
    person: int = 0
    decay: float = 0.5
    weakenings: int = 11
    sides: Sides = "both"
    method: str = "retry"

    def but(self, **changes: Any) -> "Setting":
        """Return the setting with some things changed."""
        return replace(self, **changes)

    @property
    def is_geolife(self) -> bool:
        """Whether it needs the Geolife data."""
        return self.place != "synthetic"

    @property
    def key(self) -> str:
        """A file name: the method, and each value that is not the default."""
        usual = asdict(Setting())
        named = [f"{n}={v}" for n, v in asdict(self).items() if v != usual[n]]
        return ",".join([self.method, *(n for n in named if not n.startswith("method="))])

    def to_json(self) -> dict[str, Any]:
        """Return the values by name."""
        return asdict(self)


class Dataset(NamedTuple):
    """A map, how people move on it, and the path of each run."""

    grid: Grid
    mobility: Mobility
    windows: tuple[Sequence[int], ...] | None = None
    busiest: tuple[int, ...] = ()

    def path(self, steps: int, seed: int) -> list[int]:
        """Return the true cells of a run: drawn from the mobility, or cut from a real track."""
        if self.windows is None:
            return list(self.mobility.sample(steps, seed=10_000 + seed).tolist())
        random = np.random.default_rng(seed)
        long = [window for window in self.windows if len(window) >= steps]
        window = long[random.integers(len(long))]
        start = int(random.integers(len(window) - steps + 1))
        return list(window[start : start + steps])


@cache
def synthetic(sigma: float, cell: float) -> Dataset:
    """Return the paper's map of 20 × 20 cells with Gaussian moves."""
    grid = Grid(20, 20, cell)
    return Dataset(grid, Mobility.gaussian(grid, sigma * cell))


@cache
def noise(grid_shape: tuple[int, int, float], alpha: float) -> PlanarLaplace:
    """Return the noise, shared by all settings that use it."""
    return PlanarLaplace(Grid(*grid_shape), alpha)


def events(setting: Setting, dataset: Dataset) -> list[Event]:
    """Return the events of a setting."""
    region = _region(setting, dataset)
    known: dict[str, list[Event]] = {
        "early": [presence(region, EARLY)],
        "late": [presence(region, LATE)],
        "both": [presence(region, EARLY), presence(region, LATE)],
        "pattern": [pattern([region] * len(EARLY), EARLY.start)],
        "walk": [pattern([[c + 20 * k for c in region] for k in range(len(EARLY))], EARLY.start)],
    }
    return known[setting.event]


def _region(setting: Setting, dataset: Dataset) -> Sequence[int]:
    """Return the cells of the secret place; in the middle are those of the eleventh row."""
    known: dict[str, Sequence[int]] = {
        "first three": range(3),
        "first ten": range(10),
        "first forty": range(40),
        "middle ten": range(205, 215),
        "busiest ten": dataset.busiest,
    }
    return known[setting.region]


def protector(
    setting: Setting, dataset: Dataset, seed: int | None = None, plans: Plans | None = None
) -> Protector:
    """Return what protects the streams of a setting."""
    grid = dataset.grid
    uniform = np.full(grid.n_cells, 1 / grid.n_cells)
    mechanism: Mechanism = noise((grid.rows, grid.columns, grid.cell_size), setting.alpha)
    if setting.delta is not None:
        mechanism = LocationSet(mechanism, setting.delta, uniform)
    return Protector(
        dataset.mobility,
        mechanism,
        [Protect(e, setting.epsilon, sides=setting.sides) for e in events(setting, dataset)],
        prior=_prior(setting, uniform),
        calibration=_calibration(setting, plans),
        seed=seed,
    )


def _prior(setting: Setting, uniform: Array) -> Prior:
    return AnyPrior() if setting.prior == "any" else KnownPrior(uniform)


def _calibration(setting: Setting, plans: Plans | None) -> Calibration:
    if setting.method == "retry":
        return Retry(setting.decay, setting.weakenings)
    if setting.method == "every output":
        return EveryOutput()
    search = {"gap": _GAP, "rounds": _ROUNDS, "time_limit": _FOREVER}
    return OptimalRemap(**search) if plans is None else CachedRemap(plans, **search)  # type: ignore[arg-type]
