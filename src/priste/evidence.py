"""What a stream of releases says about an event, step by step.

Four vectors carry everything an adversary can conclude, one entry per belief at the start:

    a = Pr(E)                 not_a = Pr(¬E)
    b = Pr(releases, E)       d     = Pr(releases, ¬E)

The future is computed backwards once (`EventModel`), the past forwards as it happens
(`Evidence`). Every number is a sum of non-negative terms: nothing is ever subtracted.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from priste.accelerator import ON_DEVICE, accelerator
from priste.backwards import Backwards
from priste.checks import FAINTEST, Array, Matrix
from priste.errors import EventError
from priste.events import Event
from priste.mobility import Mobility
from priste.priors import Prior
from priste.worlds import Worlds, compile_event


class FourVectors(NamedTuple):
    """The four vectors, b and d of row v to be multiplied by ``2 ** exponents[v]``."""

    a: Array
    not_a: Array
    b: Array
    d: Array
    exponents: NDArray[np.int64]


class EventModel:
    """An event on a mobility model: its worlds, and the chance it has from each of them.

    ``ends_true(t)[k, j]`` is the probability that the event ends true for somebody in world k and
    state j after step t; `ends_false` is its complement, by a recursion of its own. They are known
    from step `first` on, which is not after the event begins.
    """

    def __init__(self, event: Event, mobility: Mobility, first: int = 0) -> None:
        self.event = event
        self.mobility = mobility
        self.first = first
        self.worlds: Worlds = compile_event(event, mobility.n_cells)
        if first > event.steps[0]:
            raise EventError(
                f"the event begins at step {event.steps[0]}, before step {first}: {event!r}"
            )
        self._ends_true = self._backwards(decided=[0.0, 1.0])
        self._ends_false = self._backwards(decided=[1.0, 0.0])

    def __repr__(self) -> str:
        return f"EventModel({self.event!r} on {self.mobility!r})"

    def _backwards(self, decided: list[float]) -> Backwards:
        """Return the chances before step `first` is read, and after it and every later step."""
        last, states = self.worlds.last_step, self.mobility.n_states
        table = np.repeat(decided, states).reshape(2, states)
        return Backwards(last - self.first + 1, table, self._back)

    def _back(self, i: int, table: Array) -> Array:
        step = self.first + i
        unread = self._unread(step, table)
        return unread if i == 0 else (self.mobility.transition(step - 1) @ unread.T).T

    def _unread(self, step: int, table: Array) -> Array:
        """Undo the reading of `step`: the value of each world before it, for each state."""
        move = self.move(step)
        return table if move is None else np.take_along_axis(table, move, axis=0)

    def move(self, step: int) -> NDArray[np.intp] | None:
        """Return the world after reading each state at `step`, if the step changes worlds."""
        move = self.worlds.moves.get(step)
        return None if move is None else move[:, self.mobility.cell_of_state]

    def ends_true(self, step: int) -> Array:
        """Return Pr(E | world, state after `step`)."""
        return self._ends_true[min(step, self.worlds.last_step) - self.first + 1]

    def ends_false(self, step: int) -> Array:
        """Return Pr(¬E | world, state after `step`)."""
        return self._ends_false[min(step, self.worlds.last_step) - self.first + 1]

    @property
    def chances(self) -> tuple[Array, Array]:
        """Pr(E | state at step `first`) and Pr(¬E | state at step `first`)."""
        return self._ends_true[0][0], self._ends_false[0][0]

    @property
    def prior(self) -> tuple[Array, Array]:
        """Pr(E | cell at step 0) and Pr(¬E | cell at step 0), of a model from step 0 on."""
        cells = slice(self.mobility.n_cells)
        true, false = self.chances
        return true[cells], false[cells]

    def read(self, step: int, tensor: Array) -> Array:
        """Move weights (belief, world, state) to the worlds they are in after `step`."""
        move = self.move(step)
        if move is None:
            return tensor
        moved = np.zeros((len(tensor), int(move.max()) + 1, tensor.shape[2]))
        for world, targets in enumerate(move):
            for target in np.unique(targets):
                there = moved[:, target]
                np.add(there, tensor[:, world], out=there, where=targets == target)
        return moved


@dataclass(frozen=True, eq=False)
class Evidence:
    """The weights of the past: ``tensor[v, k, j] * 2 ** exponents[v]``.

    It is the joint probability of the releases before `step`, of world k and of state j at `step`,
    if the adversary's belief at the start was vertex v. What is released at the step itself is kept
    beside it as its column, `released`, until the next step.

    `faint` marks beliefs under which the event (or its negation) is less likely than floating
    point can carry along; it counts as impossible there.
    """

    model: EventModel
    a: Array
    not_a: Array
    faint: tuple[NDArray[np.bool_], ...]
    step: int
    tensor: Array
    exponents: NDArray[np.int64]
    released: Array | None = None

    def __repr__(self) -> str:
        return f"Evidence(step {self.step}, {len(self.a)} beliefs, {self.model.event!r})"

    @classmethod
    def start(cls, model: EventModel, prior: Prior) -> "Evidence":
        """Return the evidence at step 0 before its release."""
        vertices = prior.vertices(model.mobility.n_cells)
        a, not_a = (vertices @ chance for chance in model.prior)
        weights = model.mobility.states(vertices)
        return cls.of(model, a, not_a, weights, np.zeros(len(vertices), dtype=np.int64))

    @classmethod
    def of(
        cls,
        model: EventModel,
        a: Array,
        not_a: Array,
        weights: Array,
        exponents: NDArray[np.int64],
    ) -> "Evidence":
        """Return the evidence at the model's first step, before its release.

        ``weights[v, j] * 2 ** exponents[v]`` is the joint probability of what was released before
        and of state j, `a` and `not_a` the chances of the event that the loss is measured from.
        """
        faint = tuple((chance > 0) & (chance < FAINTEST) for chance in (a, not_a))
        a, not_a = (np.where(f, 0.0, x) for f, x in zip(faint, (a, not_a), strict=True))
        tensor = model.read(model.first, weights[:, None, :])
        return cls(model, a, not_a, faint, model.first, tensor, exponents)

    @property
    def has_one_past(self) -> bool:
        """Whether all beliefs agree about the past, so that promises bound a release linearly.

        They may differ in the odds that they started with, see `merged`.
        """
        return len(self.a) == 1 or (
            len(self.a) == 2 and bool((self.tensor[0] == self.tensor[1]).all())
        )

    def merged(self, centre: Array) -> "Evidence":
        """Return the evidence with one past, `centre` (world, state), for all beliefs.

        Of the odds that they started with only the smallest and the largest matter then.
        """
        log_odds = np.log(self.a) - np.log(self.not_a)
        ends = [int(np.argmin(log_odds)), int(np.argmax(log_odds))]
        return replace(
            self,
            a=self.a[ends],
            not_a=self.not_a[ends],
            faint=tuple(faint[ends] for faint in self.faint),
            tensor=np.stack([centre, centre]),
            exponents=np.zeros(2, dtype=np.int64),
        )

    def middle(self) -> "Evidence":
        """Return the evidence for the mean of all beliefs."""
        possible = self.tensor.any(axis=(1, 2))  # one that is refuted keeps the exponent it had
        top = self.exponents.max(
            where=possible | ~possible.any(), initial=np.iinfo(np.int64).min // 2
        )
        scale = np.ldexp(1 / len(self.a), np.minimum(self.exponents - top, 0))
        return replace(
            self,
            a=self.a.mean(keepdims=True),
            not_a=self.not_a.mean(keepdims=True),
            faint=(np.zeros(1, dtype=bool),) * 2,
            tensor=np.tensordot(scale, self.tensor, 1)[None],
            exponents=np.array([top]),
        )

    def refuse_foregone(self) -> "Evidence":
        """Return this evidence, or raise if no belief in the set leaves the event open."""
        for chances, verdict in ((self.a, "cannot happen"), (self.not_a, "cannot fail")):
            if not chances.any():
                raise EventError(
                    f"under this mobility and prior the event {verdict}, "
                    f"so there is nothing to protect: {self.model.event!r}"
                )
        return self

    def observe(self, column: Array) -> "Evidence":
        """Return the evidence after a release whose probability from each cell is `column`."""
        after = replace(self, released=column if self.released is None else self.released * column)
        for kept in ("masses", ON_DEVICE):  # they do not change
            if kept in self.__dict__:
                after.__dict__[kept] = self.__dict__[kept]
        return after

    def advance(self) -> "Evidence":
        """Return the evidence at the next step, before its release."""
        return self.leap(self.step + 1, self.model.mobility.transition(self.step))

    def leap(self, step: int, transition: Matrix) -> "Evidence":
        """Return the evidence at a later `step`, before its release; `transition` leads there.

        In between nothing may be released, and the event may be about no step.
        """
        if gpu := accelerator(self.tensor.size):
            return gpu.leap(self, step, transition)
        mobility = self.model.mobility
        past = self.tensor, self.exponents
        tensor, exponents = carried(*past, mobility.cell_of_state, transition, self.released)
        tensor = self.model.read(step, tensor)
        return replace(self, step=step, tensor=tensor, exponents=exponents, released=None)

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """The weights of ending true and false, before the release, by belief and state."""
        model, step = self.model, self.step
        if step >= model.worlds.last_step:  # decided: world 1 is true, world 0 false
            ends = self.tensor[:, 1], self.tensor[:, 0]
        else:
            tables = model.ends_true(step), model.ends_false(step)
            ends = tuple(np.einsum("vkj,kj->vj", self.tensor, table) for table in tables)
        true, false = (
            np.where(faint[:, None], 0.0, end) if faint.any() else end
            for end, faint in zip(ends, self.faint, strict=True)
        )
        return true, false

    @cached_property
    def masses(self) -> tuple[Array, Array]:
        """The same per belief and cell."""
        true, false = (self.model.mobility.cells(end) for end in self.ends)
        return true, false

    def four_vectors(self) -> FourVectors:
        """Return the four vectors as they are now."""
        if gpu := accelerator(self.tensor.size):
            return FourVectors(self.a, self.not_a, *gpu.four_vectors(self), self.exponents)
        true, false = self.masses
        if self.released is None:
            b, d = true.sum(axis=1), false.sum(axis=1)
        else:
            b, d = true @ self.released, false @ self.released
        return FourVectors(self.a, self.not_a, b, d, self.exponents)


def carried(
    tensor: Array,
    exponents: NDArray[np.int64],
    cell_of_state: NDArray[np.intp],
    transition: Matrix,
    released: Array | None,
) -> tuple[Array, NDArray[np.int64]]:
    """Return weights (belief, world, state) carried on by a transition, and their exponents.

    `released` is the column of what was released before, if anything was.
    """
    beliefs, worlds, states = tensor.shape
    flat = tensor.reshape(beliefs * worlds, states)
    if released is None:
        return product(flat, transition).reshape(tensor.shape), exponents
    by_state = released[cell_of_state]
    if len(flat) < states:  # fewer numbers to multiply than the matrix has rows
        flat = flat * by_state
    else:
        transition = scaled_rows(transition, by_state)
    moved = product(flat, transition).reshape(tensor.shape)
    orders = np.frexp(tensor.reshape(beliefs, -1) @ np.tile(by_state, worlds))[1]
    if (np.abs(orders) > OUT_OF_RANGE).any():  # rescale, by exact powers of two
        return np.ldexp(moved, -orders[:, None, None]), exponents + orders
    return moved, exponents


OUT_OF_RANGE = 100
"""Binary orders that a belief's weights may lie from one before they are rescaled."""

_BLOCK = 64  # rows of weights that a sparse product takes at once: they stay in the cache


def product(weights: Array, transition: Matrix) -> Array:
    """Return weights @ transition, dense or sparse."""
    if isinstance(transition, np.ndarray) or len(weights) <= _BLOCK:
        return np.asarray(weights @ transition)
    result = np.empty((len(weights), transition.shape[1]))
    for start in range(0, len(weights), _BLOCK):
        result[start : start + _BLOCK] = weights[start : start + _BLOCK] @ transition
    return result


def scaled_rows(matrix: Matrix, factors: Array) -> Matrix:
    """Return diag(factors) @ matrix, dense or sparse."""
    if isinstance(matrix, np.ndarray):
        return factors[:, None] * matrix
    return sparse.diags_array(factors) @ matrix
