"""Whether people are as often somewhere as plans weigh losses there.

`python -m benchmarks whereabouts=FOLDER[,DAYS]`

Later days of people of Geolife are protected about a place never visited, as in `held_out`. At each
release the public belief ranks the cells, from the least likely to the likeliest; the table says
how often the person was in cells of each rank, how much weight losses have there, and what the
weights foretell: the mean logarithm of the weight of the true cell. DAYS is as in `held_out`.
"""

import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.held_out import SECRETS, Person, Way, which_days
from priste.calibration import Calibration
from priste.calibration.calibration import Plan, Situation
from priste.calibration.weighing import AS_BELIEVED, focused
from priste.checks import Array
from priste.stream.parts import DEFAULT_FOCUS, default_calibration
from priste.tracks.habits import HABITS

RANKS = np.array([0, 0.03, 0.1, 0.3, 0.7, 1])
"""Up to which part of the belief the cells of a group have, the least likely first."""
WAYS = [(1.0, 1.0), *((DEFAULT_FOCUS, share) for share in (AS_BELIEVED, 0.3, 0.5))]


class Seen(NamedTuple):
    """What was believed before a release, and where the person was."""

    belief: Array
    cell: int


class Watched:
    """A calibration that keeps what is believed."""

    is_guarantee: ClassVar[bool] = True

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration
        self.beliefs: list[Array] = []

    def plan(self, situation: Situation) -> Plan:
        self.beliefs.append(situation.belief)
        return self.calibration.plan(situation)


def main() -> None:
    words = [word.partition("=")[2] for word in sys.argv if word.startswith("whereabouts=")]
    if not words:
        print("Whereabouts: skipped; say where people's folders are: whereabouts=FOLDER")
        return
    folder, days = (words[0].split(",") + [""])[:2]
    people = sorted(Path(folder).iterdir())
    with ProcessPoolExecutor(2, initializer=threadpool_limits, initargs=(1,)) as pool:
        found = pool.map(releases, people, repeat(which_days(days)))
        seen = [release for of_person in found for release in of_person]
    beliefs, cells = np.array([s.belief for s in seen]), np.array([s.cell for s in seen])
    own = np.arange(len(cells))
    ranks = ranked(beliefs)
    groups = np.digitize(ranks, RANKS[1:-1])
    print(f"Whereabouts: {len(cells)} releases; cells from the least likely to the likeliest")
    print(f"  part of the belief           {np.diff(RANKS).round(3)}")
    print(f"  the person was there         {_shares(groups[own, cells], np.ones(len(cells)))}")
    for focus, share in WAYS:
        weighed = np.array([focused(belief, focus, share) for belief in beliefs])
        score = np.log(weighed[own, cells]).mean()
        name = f"focus {focus:g}, {share:.0%} as believed"
        print(f"  {name:28} {_shares(groups, weighed)}, {score:.3f} nats")


def releases(folder: Path, which: slice) -> list[Seen]:
    """Return what was believed at each release of a person's days."""
    warnings.simplefilter("ignore")
    person = Person.of(folder)
    model = person.model(HABITS)
    seen = []
    for day in person.chosen(which):
        watched = Watched(default_calibration(person.mechanism, HABITS))
        guard = person.guard(model, Way(HABITS, watched), SECRETS[0], day)
        for cell in person.days[day]:
            if cell is None:
                guard.skip()
            else:
                guard.release(cell)
                seen.append(Seen(watched.beliefs[-1], cell))
    return seen


def ranked(beliefs: Array) -> Array:
    """Return for each cell how much of the belief is in less likely cells, half its own added."""
    order = np.argsort(beliefs, axis=1)
    rising = np.take_along_axis(beliefs, order, axis=1)
    ranks = np.empty_like(beliefs)
    np.put_along_axis(ranks, order, np.cumsum(rising, axis=1) - rising / 2, axis=1)
    return ranks


def _shares(groups: NDArray[np.intp], weights: Array) -> Array:
    """Return which share of the weight each group has."""
    sums = np.bincount(groups.ravel(), weights.ravel(), minlength=len(RANKS) - 1)
    return np.asarray((sums / sums.sum()).round(3))
