"""Somebody who sees a stream, by the most direct computation: nothing here is the package's.

The observer remembers the cells of every step that the event looks at, and reads off at the end
whether it holds. The worst belief is found on the edges between vertices, where a stationary point
of the loss solves a quadratic equation.
"""

from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from tests.oracles import all_paths, truths

from priste.checks import Array
from priste.events import Event


class Observer:
    """Follows one event, with one row per belief about the start and `moves[t]` from step t.

    Weights have the axes belief, remembered cells, state. Once the event is decided what is
    remembered is whether it holds.
    """

    def __init__(
        self, event: Event, moves: list[Array], cell_of_state: NDArray[np.intp], vertices: Array
    ) -> None:
        self.moves, self.cells = moves, cell_of_state
        self.n_cells, n_states = int(cell_of_state.max()) + 1, len(cell_of_state)
        self.looks, self.last = set(event.steps), event.steps[-1]
        seen = all_paths(self.n_cells, len(event.steps))
        paths = np.zeros((len(seen), self.last + 1), dtype=int)
        paths[:, list(event.steps)] = seen
        self.holds = truths(event, paths)
        decided = np.stack([~self.holds, self.holds]).astype(float)
        tables = [np.repeat(decided[:, :, None], n_states, axis=2)]
        for step in range(self.last, 0, -1):
            tables.append(self._unread(step, tables[-1]) @ moves[step - 1].T)
        self.tables = tables[::-1]  # of each step: (false or true, remembered cells, state)
        start = np.zeros((len(vertices), n_states))
        start[:, : self.n_cells] = vertices
        self.start = self._read(0, start[:, None, :])
        self.not_a, self.a = self.joint(0, self.start).T

    def _unread(self, step: int, table: Array) -> Array:
        if step not in self.looks:
            return table
        split = table.reshape(2, -1, self.n_cells, table.shape[2])
        return np.asarray(split[:, :, self.cells, np.arange(table.shape[2])])

    def _read(self, step: int, weights: Array) -> Array:
        if step in self.looks:
            beliefs, _, states = weights.shape
            split = np.zeros((*weights.shape[:2], self.n_cells, states))
            split[:, :, self.cells, np.arange(states)] = weights
            weights = split.reshape(beliefs, -1, states)
        if step == self.last:
            no, yes = (weights[:, held].sum(axis=1) for held in (~self.holds, self.holds))
            weights = np.stack([no, yes], axis=1)
        return weights

    def released(self, weights: Array, column: Array) -> Array:
        """Return the weights after a release."""
        return np.asarray(weights * column[self.cells])

    def moved(self, step: int, weights: Array) -> Array:
        """Return the weights of `step` at the next one."""
        return self._read(step + 1, weights @ self.moves[step])

    def joint(self, step: int, weights: Array) -> Array:
        """Return Pr(releases, ¬E) and Pr(releases, E) per belief, as columns."""
        if step >= self.last:
            return np.asarray(weights.sum(axis=2))
        return np.asarray(np.einsum("vcs,ecs->ve", weights, self.tables[step]))

    def told(self, step: int, weights: Array) -> Array:
        """Return the same for each state, if it is told in full."""
        if step >= self.last:
            return np.moveaxis(weights, 2, 0)
        return np.asarray(np.einsum("vcs,ecs->sve", weights, self.tables[step]))


def largest_changes(a: Array, not_a: Array, joints: Array) -> tuple[Array, Array]:
    """Return by how much odds can rise and fall over all mixtures of beliefs, for each joint.

    ``joints[..., v, :]`` is Pr(releases, ¬E) and Pr(releases, E) under belief v.
    """
    d, b = joints[..., 0], joints[..., 1]
    total = b + d
    scale = np.where(total > 0, total, 1.0) ** -0.5  # the mixtures of scaled rows are the same
    rows = [np.broadcast_to(x, b.shape) * scale for x in (a, not_a, b, d)]
    rise, fall = np.full(b.shape[:-1], -np.inf), np.full(b.shape[:-1], -np.inf)
    for i, j in combinations_with_replacement(range(len(a)), 2):
        ends = [(x[..., i], x[..., j]) for x in rows]
        changes = [_limit(ends), _limit([(y, x) for x, y in ends])]
        changes += [_change(*((1 - at) * x + at * y for x, y in ends)) for at in _stationary(ends)]
        for change in changes:
            rise, fall = np.fmax(rise, change), np.fmax(fall, -change)
    return rise, fall


Ends = list[tuple[Array, Array]]


def _change(a: Array, not_a: Array, b: Array, d: Array) -> Array:
    """Return the change of the log-odds, not a number where there are none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(b) - np.log(a) - np.log(d) + np.log(not_a))


def _limit(ends: Ends) -> Array:
    """Return the change as the mixture approaches its first end."""
    a, not_a, b, d = (np.where(x > 0, x, y) for x, y in ends)
    orders = [(x == 0).astype(int) for x, _ in ends]
    net = orders[2] - orders[0] - orders[3] + orders[1]
    change = _change(a, not_a, b, d)
    # where both ends are zero the change is infinite or undefined already
    settled = np.isnan(change) | np.isinf(change)
    return np.where(settled | (net == 0), change, np.where(net > 0, -np.inf, np.inf))


def _stationary(ends: Ends) -> list[Array]:
    """Return the shares of the second end, between 0 and 1, where the change is stationary."""
    (a, a_), (n, n_), (b, b_), (d, d_) = ends
    seen, held = b_ * d - d_ * b, a_ * n - n_ * a
    c2 = seen * (a_ - a) * (n_ - n) - held * (b_ - b) * (d_ - d)
    c1 = seen * (a * (n_ - n) + n * (a_ - a)) - held * (b * (d_ - d) + d * (b_ - b))
    c0 = seen * a * n - held * b * d
    with np.errstate(divide="ignore", invalid="ignore"):
        q = -(c1 + np.copysign(np.sqrt(np.maximum(c1**2 - 4 * c2 * c0, 0)), c1)) / 2
        roots = [q / c2, c0 / q]
    return [np.where((root > 0) & (root < 1), root, 0.5) for root in roots]


def scanned_changes(
    a: Array, not_a: Array, joint: Array, random: np.random.Generator, mixtures: int
) -> tuple[float, float]:
    """Return the same for one joint, over many mixtures of any number of beliefs."""
    shares = np.exp(random.uniform(-12, 0, (mixtures, len(a))))
    if len(a) > 1:  # half of them mix two beliefs only
        few = np.argsort(random.random((mixtures // 2, len(a))), axis=1) < 2
        shares[: mixtures // 2] *= few
    shares /= shares.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = _change(shares @ a, shares @ not_a, shares @ joint[:, 1], shares @ joint[:, 0])
    return float(np.nanmax(change)), float(np.nanmax(-change))
