"""A plan on a large map: what is drawn first is a group of outputs, and never a matrix is made."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from priste.calibration.calibration import Draw, Outcome
from priste.calibration.groups import total
from priste.calibration.warm_start import WarmStart
from priste.checks import Array, frozen
from priste.evidence import Evidence
from priste.randomness import Randomness

Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class GroupedPlan:
    """Signals of the noise in, outputs out, by groups: every output keeps every promise.

    Signal j gives its own output ``own[j]`` with probability ``table[group_of_signal[j], 0]``, and
    some output of group g with probability ``table[..., 1 + g]``: output o of the group with the
    probability ``shares[o]``, whatever the signal. The table's rows and the shares of a group are
    in whole tickets (see `priste.dyadic`), so both draws have exactly these probabilities. A
    column, which the release is accounted with, is rounded once per product of the two; what is
    certified leaves a million times as much room. Without noise (`noise` is None) the signal is
    the true cell.
    """

    table: Array
    shares: Array
    group_of_signal: Index
    own: Index
    group: Index
    cells: Index
    """The cell that each output stands for."""
    noise: Array | None
    budget: float
    n_cells: int
    expected_loss: float
    bound: float
    remark: str = ""
    tried: int = 1
    warm_start: WarmStart | None = field(default=None, init=False)

    def __repr__(self) -> str:
        return f"GroupedPlan({self.n_cells} cells, {self.table.shape[1] - 1} groups)"

    def draw(self, true_cell: int, randomness: Randomness) -> Draw:
        """Return a signal of the noise, and for it an output: its own, or one of a group."""
        signal = true_cell
        if self.noise is not None:
            signal = randomness.draw(self.noise[true_cell])
        way = randomness.draw(self.table[self.group_of_signal[signal]])
        output = int(self.own[signal])
        if way > 0:
            members = np.flatnonzero(self.group == way - 1)
            output = int(members[randomness.draw(self.shares[members])])
        return Draw(int(self.cells[output]), frozen(self.column(output)), self.budget, self.tried)

    def column(self, output: int) -> Array:
        """Return the probability of an output from each true cell."""
        rows = self.table[self.group_of_signal]
        column = rows[:, 1 + self.group[output]] * self.shares[output]
        column[self.own == output] += rows[self.own == output, 0]
        return column if self.noise is None else np.asarray(self.noise @ column)

    def outcomes(self) -> Iterator[Outcome]:
        """Yield each output that can occur: what is accounted for is what is true."""
        for output in np.flatnonzero(self.occurs).tolist():
            column = self.column(output)
            yield Outcome(int(self.cells[output]), column, column)

    @property
    def occurs(self) -> NDArray[np.bool_]:
        """Which outputs some signal can give."""
        lent = np.asarray(self.table[:, 1:][np.unique(self.group_of_signal)].any(axis=0))
        occurs = lent[self.group] & (self.shares > 0)
        occurs[self.own[self.table[self.group_of_signal, 0] > 0]] = True
        return np.asarray(occurs)

    @property
    def emission(self) -> Array:
        """The whole matrix, per true and released cell: large; no draw and no test needs it."""
        emission = np.zeros((self.n_cells, self.n_cells))
        for output in np.flatnonzero(self.occurs).tolist():
            emission[:, self.cells[output]] = self.column(output)
        return emission

    def joint(self, evidence: Evidence) -> tuple[Array, Array]:
        """Return the vectors b and d after each output that can occur, as rows."""
        true, false = (self._after(mass) for mass in evidence.masses)
        return true, false

    def _after(self, masses: Array) -> Array:
        by_signal = masses if self.noise is None else masses @ self.noise
        n_groups, n_outputs = len(self.table), len(self.group)
        rows = []
        for mass in by_signal:
            grouped = total(mass, self.group_of_signal, n_groups)
            own = mass * self.table[self.group_of_signal, 0]
            lent = (grouped @ self.table[:, 1:])[self.group] * self.shares
            rows.append(lent + total(own, self.own, n_outputs))
        return np.ascontiguousarray(np.stack(rows, axis=1)[self.occurs])
