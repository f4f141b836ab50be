"""How people move: a Markov model over the cells, fixed or varying with the step.

A model of higher order keeps its state space to itself: its states are *histories*, the first
`n_cells` of them being the single cells, and `cell_of_state` says where each history stands.
Beliefs, events and mechanisms speak of cells throughout.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from priste import fitting
from priste.checks import (
    Array,
    Matrix,
    distribution,
    fraction,
    frozen,
    positive,
    stochastic,
    whole,
)
from priste.errors import MobilityError
from priste.grid import Grid
from priste.randomness import Seed, generator


class Mobility:
    """A Markov model of movement with one transition matrix, one per step, or a function of it.

    `transition` is a square matrix (dense or `scipy.sparse`) whose row i is the distribution of
    the next cell from cell i; or a sequence of them, the t-th leading from step t to step t + 1,
    starting over at its end with ``repeat=True`` (the hours of a day, say), or the ``phase(t)``-th
    with a function `phase` of the step; or a function of t that returns one. `initial` is the
    distribution of the cell at step 0 (uniform if not given). `cell_of_state` is for models of
    higher order, see `fit`.
    """

    def __init__(
        self,
        transition: object,
        initial: ArrayLike | None = None,
        *,
        repeat: bool = False,
        phase: Callable[[int], int] | None = None,
        cell_of_state: ArrayLike | None = None,
    ) -> None:
        self.phase = phase
        self._function: Callable[[int], object] | None = None
        if callable(transition):
            self._function = transition
            self._matrices: tuple[Matrix, ...] = (_checked(transition(0), 0),)
            self._repeats = False
        else:
            self._matrices, is_single = _matrices(transition)
            self._repeats = repeat or is_single
        self.n_states: int = self._matrices[0].shape[0]
        for t, matrix in enumerate(self._matrices):
            self._check_shape(matrix, t)

        cells = np.arange(self.n_states) if cell_of_state is None else np.asarray(cell_of_state)
        self.cell_of_state: NDArray[np.intp] = _state_map(cells, self.n_states)
        self.n_cells: int = int(self.cell_of_state.max()) + 1
        uniform = np.full(self.n_cells, 1 / self.n_cells)
        self.initial: Array = distribution(
            uniform if initial is None else initial, "initial", MobilityError, size=self.n_cells
        )
        self.unobserved: tuple[int, ...] = ()
        """Cells whose row a `fit` had to take from its smoothing alone."""

    def __repr__(self) -> str:
        histories = f", {self.n_states} histories" if self.n_states > self.n_cells else ""
        count = "a function of the step" if self._function else f"{len(self._matrices)} matrices"
        kind = "one matrix" if self._repeats and len(self._matrices) == 1 else count
        return f"Mobility({self.n_cells} cells{histories}, {kind})"

    def transition(self, step: int) -> Matrix:
        """Return the matrix that leads from `step` to `step` + 1."""
        step = whole(step, "step", MobilityError, least=0)
        if self._function is not None:
            matrix = _checked(self._function(step), step)
            self._check_shape(matrix, step)
            return matrix
        if self.phase is not None:
            return self._matrices[self.phase(step)]
        if self._repeats:
            return self._matrices[step % len(self._matrices)]
        if step >= len(self._matrices):
            raise MobilityError(
                f"the mobility has {len(self._matrices)} transitions (steps 0 to "
                f"{len(self._matrices) - 1}), but step {step} was asked for; give more matrices, "
                f"a function of the step, or repeat=True"
            )
        return self._matrices[step]

    @property
    def only(self) -> Matrix | None:
        """The matrix of every step, if there is one for all of them."""
        one = self._function is None and self._repeats and len(self._matrices) == 1
        return self._matrices[0] if one else None

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """The matrices of all steps or of one period; a function of the step has none to show."""
        if self._function is not None:
            raise MobilityError("a mobility that is a function of the step has no list of matrices")
        return self._matrices

    def beginning(self, initial: ArrayLike) -> Self:
        """Return the same movement with another distribution of the cell at step 0."""
        other = copy(self)  # the matrices are checked, and nothing changes them
        other.initial = distribution(initial, "initial", MobilityError, size=self.n_cells)
        return other

    def following(self, phase: Callable[[int], int]) -> Self:
        """Return the same matrices, the ``phase(t)``-th leading from step t to step t + 1."""
        other = copy(self)
        other.phase = phase
        return other

    def states(self, over_cells: Array) -> Array:
        """Return distributions over the cells at step 0 (last axis) as ones over the states."""
        padding = [(0, 0)] * (over_cells.ndim - 1) + [(0, self.n_states - self.n_cells)]
        return np.pad(over_cells, padding)

    def cells(self, over_states: Array) -> Array:
        """Return weights over the states (last axis) summed to weights over the cells."""
        if self.n_states == self.n_cells:
            return over_states
        member = sparse.csr_array(
            (np.ones(self.n_states), (np.arange(self.n_states), self.cell_of_state))
        )
        return np.asarray(over_states @ member)

    def sample(
        self,
        steps: int,
        *,
        seed: Seed | None = None,
        initial: ArrayLike | None = None,
    ) -> NDArray[np.intp]:
        """Return a random path of `steps` cells, its first one drawn from `initial`."""
        steps = whole(steps, "steps", MobilityError, least=1)
        random = generator(seed)
        start = (
            self.initial
            if initial is None
            else distribution(initial, "initial", MobilityError, size=self.n_cells)
        )
        path = np.empty(steps, dtype=np.intp)
        path[0] = _draw(start, random)
        for t in range(steps - 1):
            row = self.transition(t)[[path[t]]]
            path[t + 1] = _draw(row.toarray()[0] if sparse.issparse(row) else row[0], random)
        return self.cell_of_state[path]

    @classmethod
    def gaussian(cls, grid: Grid, sigma: float, initial: ArrayLike | None = None) -> Self:
        """Return the paper's synthetic mobility: the next cell falls off as a 2-D Gaussian.

        Row i is proportional to ``exp(-d² / 2σ²)``, d the distance between cell centres; a small
        `sigma` (in the grid's unit) means strong, local habits.
        """
        if not isinstance(grid, Grid):
            raise MobilityError(f"gaussian needs a Grid, got {type(grid).__name__}")
        sigma = positive(sigma, "sigma", MobilityError)
        weights = np.exp(-0.5 * (grid.distances / sigma) ** 2)
        return cls(weights / weights.sum(axis=1, keepdims=True), initial)

    @classmethod
    def by_distance(
        cls,
        grid: Grid,
        sequences: Iterable[Sequence[int] | NDArray[np.integer[Any]]],
        *,
        returning: float = 0.0,
    ) -> Self:
        """Learn from sequences of cells how far people move in a step, and nothing else.

        All cells at a distance are alike, and all are equally near to elsewhere. It serves as the
        `base` of `fit`: people who were never seen to leave a cell leave it as they leave others,
        not for any cell of the map. The share `returning` of their moves leads to the cells of the
        sequences, each as often as it occurs: without it, who has left the usual places wanders
        about the map for ever.
        """
        if not isinstance(grid, Grid):
            raise MobilityError(f"by_distance needs a Grid, got {type(grid).__name__}")
        distances, known = grid.distances / grid.cell_size, list(sequences)
        share = fraction(returning, "returning", MobilityError, open_at_one=False)
        return cls(fitting.by_distance(distances, known, returning=share, elsewhere=grid.elsewhere))

    @classmethod
    def fit(
        cls,
        sequences: Iterable[Sequence[int] | NDArray[np.integer[Any]]],
        n_cells: int,
        *,
        order: int = 1,
        smoothing: float = 1.0,
        base: "Mobility | None" = None,
        period: int | None = None,
        starts: Sequence[int] | None = None,
    ) -> Self:
        """Learn a mobility from sequences of cells, each without gaps in time.

        `smoothing` is the weight of the belief a row has before it sees data, counted in
        observed moves: the row of a cell starts from `base` (uniform if not given), the row of a
        longer history from that of the history without its oldest cell. With 0, rows are the
        observed frequencies. A row that was never observed is its starting belief, whatever the
        smoothing; `UnobservedRowsWarning` says how many there are, `unobserved` which.

        `order` is the number of cells a move depends on. Only histories that were seen are kept;
        others are shortened to the longest one that was.

        With a `period` (steps per day, say) there is one matrix per phase of it, each smoothed
        towards the matrix of all phases together. ``starts[i]`` is the step at which sequence i
        begins, 0 if not given; step 0 of the model has phase 0.
        """
        model = fitting.fit(
            list(sequences),
            whole(n_cells, "n_cells", MobilityError, least=1),
            order=whole(order, "order", MobilityError, least=1),
            smoothing=smoothing,
            base=None if base is None else _fixed_matrix(base),
            period=None if period is None else whole(period, "period", MobilityError, least=1),
            starts=starts,
        )
        mobility = cls(
            model.matrices, model.initial, repeat=True, cell_of_state=model.cell_of_state
        )
        mobility.unobserved = model.unobserved
        return mobility

    def _check_shape(self, matrix: Matrix, step: int) -> None:
        if matrix.shape != (self.n_states, self.n_states):
            raise MobilityError(
                f"the transition matrix of step {step} must have shape "
                f"({self.n_states}, {self.n_states}), got {matrix.shape}"
            )


def _fixed_matrix(base: object) -> Matrix:
    if not isinstance(base, Mobility):
        raise MobilityError(f"base must be a Mobility, got {type(base).__name__}")
    if not base._repeats or len(base._matrices) > 1:
        raise MobilityError(
            "base must have one matrix for all steps, this one varies with the step"
        )
    return base.transition(0)


def _checked(matrix: object, step: int) -> Matrix:
    return stochastic(matrix, f"the transition matrix of step {step}", MobilityError)


def _matrices(transition: object) -> tuple[tuple[Matrix, ...], bool]:
    """Return the validated matrices, and whether the only one serves every step."""
    if sparse.issparse(transition):
        return (stochastic(transition, "the transition matrix", MobilityError),), True
    is_stack = isinstance(transition, Sequence) and any(sparse.issparse(m) for m in transition)
    if not is_stack:
        try:
            array = np.asarray(transition, dtype=np.float64)
        except (TypeError, ValueError):
            raise MobilityError(
                "transition must be a square matrix, a sequence of square matrices of one size, "
                f"or a function of the step; got {type(transition).__name__}"
            ) from None
        if array.ndim == 2:
            return (stochastic(array, "the transition matrix", MobilityError),), True
        if array.ndim != 3:
            raise MobilityError(f"transition must have 2 or 3 dimensions, got shape {array.shape}")
        transition = array
    stack: Sequence[object] = transition  # type: ignore[assignment]
    matrices = tuple(_checked(matrix, t) for t, matrix in enumerate(stack))
    if not matrices:
        raise MobilityError("transition has no matrices; give at least one")
    return matrices, False


def _state_map(cells: NDArray[Any], n_states: int) -> NDArray[np.intp]:
    if cells.shape != (n_states,) or not np.issubdtype(cells.dtype, np.integer):
        raise MobilityError(
            f"cell_of_state must hold one cell per state ({n_states}), got shape {cells.shape} "
            f"of {cells.dtype}"
        )
    n_cells = int(cells.max()) + 1
    singles = cells.min() >= 0 and n_cells <= n_states
    if not singles or not np.array_equal(cells[:n_cells], np.arange(n_cells)):
        raise MobilityError(
            "cell_of_state must begin with the single cells 0, 1, 2, ... in order: "
            "the states with no known past"
        )
    return frozen(cells.astype(np.intp))


def _draw(probabilities: Array, random: np.random.Generator) -> int:
    cumulated = np.cumsum(probabilities)
    return int(np.searchsorted(cumulated, random.random() * cumulated[-1], side="right"))
