"""What an observer concludes from a day, by the way in which it is shared (private).

The observer knows the model's first habit, the way of sharing and everything that was shared, and
concludes step by step where the person is and whether an event happened. Steps without a fix are
known to have none, whichever way the day is shared.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from priste.checks import Array
from priste.mechanisms import Mechanism
from priste.progress import Progress
from priste.protection import Protect, names_of
from priste.quantify import posterior_odds, prior_odds
from priste.randomness import Randomness
from priste.stream.whereabouts import Whereabouts
from priste.tracks.accuracy import distances_to
from priste.tracks.protect import ProtectedTrack, Stream


@dataclass(frozen=True, eq=False, repr=False)
class Sharing:
    """A day as it is shared: what each step shows, and how likely that was from each cell.

    A step without a fix has a column of ones. Where nothing is shown the cell is None.
    """

    stream: Stream
    cells: tuple[int | None, ...]
    columns: tuple[Array, ...]
    is_exact: bool = False
    """Whether the fix itself is shared, not the centre of a cell."""

    def __repr__(self) -> str:
        shown = sum(cell is not None for cell in self.cells)
        return f"<Sharing: {shown} of {len(self.cells)} steps show a place (private)>"

    @classmethod
    def raw(cls, stream: Stream) -> "Sharing":
        """Share every fix as it is."""
        n_cells = stream.model.mobility.n_cells
        columns = [_among(n_cells, None if cell is None else [cell]) for cell in stream.cells]
        return cls(stream, tuple(stream.cells), tuple(columns), is_exact=True)

    @classmethod
    def silent_in(cls, stream: Stream, zone: Sequence[int]) -> "Sharing":
        """Share every fix as it is, but nothing in a zone: what trackers call a privacy zone.

        The observer knows the zone, as they would after a few days.
        """
        n_cells, hidden = stream.model.mobility.n_cells, set(zone)
        cells = tuple(None if cell in hidden else cell for cell in stream.cells)
        columns = [
            _among(n_cells, None if cell is None else zone if cell in hidden else [cell])
            for cell in stream.cells
        ]
        return cls(stream, cells, tuple(columns), is_exact=True)

    @classmethod
    def noisy(cls, stream: Stream, mechanism: Mechanism, *, seed: int | None = None) -> "Sharing":
        """Draw what each step shows from a mechanism, and protect nothing else."""
        lottery, randomness = mechanism.lottery(), Randomness(seed)
        cells = tuple(
            None if cell is None else randomness.draw(lottery[cell]) for cell in stream.cells
        )
        silent = np.ones(stream.model.mobility.n_cells)
        columns = [silent if cell is None else lottery[:, cell].copy() for cell in cells]
        return cls(stream, cells, tuple(columns))

    @classmethod
    def protected(cls, track: ProtectedTrack) -> "Sharing":
        """Share what was released of a day that is protected by itself, not as part of a stream."""
        stream = track.stream
        released = {release.step: release for release in track.releases}
        steps = [released.get(step) for step in range(stream.first, stream.first + stream.n_steps)]
        silent = np.ones(stream.model.mobility.n_cells)
        return cls(
            stream,
            tuple(None if release is None else int(release.cell) for release in steps),
            tuple(silent if release is None else release.column for release in steps),
        )

    @property
    def errors(self) -> Array:
        """The distance from each fix to what is shown, in kilometres; NaN where nothing is."""
        found = np.full(len(self.cells), np.nan)
        shown = {step: cell for step, cell in enumerate(self.cells) if cell is not None}
        if self.is_exact:
            found[list(shown)] = 0.0
        elif shown:
            fixes = np.array([self.stream.fixes[step] for step in shown])
            found[list(shown)] = distances_to(self.stream.model.place, fixes, [*shown.values()])
        return found


def _among(n_cells: int, cells: Sequence[int] | None) -> Array:
    """Return a column that says: in one of these cells; nothing, if there are none to say."""
    if cells is None:
        return np.ones(n_cells)
    column = np.zeros(n_cells)
    column[list(cells)] = 1.0
    return column


@dataclass(frozen=True, eq=False, repr=False)
class Observed:
    """What an observer concludes from a shared day, after each step.

    `whereabouts` is the probability of each cell, one row per step. `before` and `odds` are the
    odds on each event by name. Odds are infinite or zero where the observer is certain, and NaN
    from the step on that the observer's model rules out.
    """

    sharing: Sharing
    whereabouts: Array
    before: dict[str, float]
    odds: dict[str, Array]

    def __repr__(self) -> str:
        return f"<Observed: {len(self.odds)} events over {len(self.whereabouts)} steps (private)>"


def observe(
    sharing: Sharing, protections: Sequence[Protect], progress: Progress | None = None
) -> Observed:
    """Return what an observer who believes the model concludes from a shared day."""
    report = progress or (lambda _: None)
    stream, columns = sharing.stream, sharing.columns
    mobility = stream.model.mobilities_from(stream.clock.start)[0]
    rows, belief, explained = [], Whereabouts.start([mobility], None), len(columns)
    for step, column in enumerate(columns):
        belief = belief.arrive([mobility], step - 1) if step else belief
        if not belief.deem_possible([mobility], column):
            explained = min(explained, step)
        belief = belief.observe([mobility], column)
        rows.append(belief.cells([mobility]))
        report((step + 1) / len(columns))
    before, odds = {}, {}
    for name, protection in zip(names_of(protections), protections, strict=True):
        report(1.0)
        before[name] = prior_odds(protection.event, mobility)
        odds[name] = np.full(len(columns), np.nan)
        odds[name][:explained] = posterior_odds(protection.event, mobility, columns[:explained])
    return Observed(sharing, np.array(rows), before, odds)
