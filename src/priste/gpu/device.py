"""A GPU, and what is computed on it.

Large arrays stay there as long as the processor's copy lives, so that a stream is not carried back
and forth. Verdicts of the GPU count only where they are clear: it tests every output against a
bound a little below the promise's and, what fails that, against one a little above. What lies
between, by rounding or because numbers are too small to compare, is left to the processor.
"""

import weakref
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from priste.accelerator import ON_DEVICE
from priste.checks import Array, Matrix
from priste.dyadic import dyadic_in
from priste.errors import MissingExtraError
from priste.evidence import OUT_OF_RANGE, Evidence
from priste.extras import needs_extra
from priste.gpu.kernel import BLOCKS, FAILS, HOLDS, UNSURE, Launch, compiled_for_gpu
from priste.gpu.noise import snapped_laplace
from priste.mechanisms import Mechanism, PlanarLaplace

CLEAR = 1e-11
"""How far, relative, a bound must be kept or broken for the GPU's verdict to count: a hundred times
what rounding can do to products and to the form of the test."""

PAYS_FROM = 10**6
"""From how many numbers on an array is worth sending to the GPU."""

CHUNK = 4096
"""How many outputs are certified at a time."""

Rows = Any  # an array on the device


class Gpu:
    """A device: an array module like NumPy's, and the program that certifies."""

    def __init__(self, xp: Any, certify: Launch, *, pays_from: int = PAYS_FROM) -> None:
        self.xp, self._certify, self.pays_from = xp, certify, pays_from
        self._copies: dict[int, tuple[weakref.ref[Any], Any]] = {}

    @classmethod
    def found(cls) -> "Gpu":
        """Return the GPU of this machine, or raise if there is none."""
        with needs_extra("a GPU", "gpu"):
            import cupy
        try:
            cupy.cuda.runtime.getDeviceCount()
            cupy.zeros(1).sum()
        except Exception as error:  # CuPy's errors depend on what is missing
            raise MissingExtraError(
                f"CuPy finds none that it can use ({type(error).__name__})"
            ) from error
        return cls(cupy, compiled_for_gpu(cupy))

    def __repr__(self) -> str:
        return f"<Gpu: {self.xp.__name__}>"

    # --- copies

    def copy_of(self, array: Any) -> Rows:
        """Return the copy of an array on the device, made once; arrays of the device are theirs."""
        if self.owns(array):
            return array
        known = self._copies.get(id(array))
        if known is not None and known[0]() is array:
            return known[1]
        dense = array.toarray() if sparse.issparse(array) else array
        return self._keep(array, self.xp.asarray(dense))

    def owns(self, array: Any) -> bool:
        """Tell whether an array is one of the device."""
        return isinstance(array, self.xp.ndarray)

    def _keep(self, array: Any, copy: Rows) -> Rows:
        key = id(array)
        self._copies[key] = weakref.ref(array, lambda _: self._copies.pop(key, None)), copy
        return copy

    def to_host(self, copy: Rows) -> Array:
        """Return a copy of an array of the device here; the device keeps its own."""
        array = self.fetched(copy)
        self._keep(array, copy)
        return array

    def fetched(self, copy: Rows) -> Array:
        """Return a copy of an array of the device here, and forget about it."""
        return cast(Array, self.xp.asnumpy(copy))

    # --- evidence

    def leap(self, evidence: Evidence, step: int, transition: Matrix) -> Evidence:
        """Return the evidence at a later step, as `Evidence.leap` does."""
        xp, model = self.xp, evidence.model
        tensor, exponents = self.copy_of(evidence.tensor), evidence.exponents
        beliefs, worlds, states = tensor.shape
        flat = tensor.reshape(beliefs * worlds, states)
        orders = np.zeros(beliefs, dtype=np.int64)
        if evidence.released is not None:
            by_state = xp.asarray(evidence.released[model.mobility.cell_of_state])
            flat = flat * by_state
            totals = flat.reshape(beliefs, -1).sum(axis=1)
            orders = np.frexp(self.fetched(totals))[1].astype(np.int64)
        moved = (flat @ self.copy_of(transition)).reshape(tensor.shape)
        if (np.abs(orders) > OUT_OF_RANGE).any():
            moved = xp.ldexp(moved, xp.asarray(-orders.astype(np.int32))[:, None, None])
            exponents = exponents + orders
        tensor = self.to_host(self._read(model.move(step), moved))
        return replace(evidence, step=step, tensor=tensor, exponents=exponents, released=None)

    def _read(self, move: NDArray[np.intp] | None, tensor: Rows) -> Rows:
        """Move weights to the worlds they are in after a step, as `EventModel.read` does."""
        if move is None:
            return tensor
        xp = self.xp
        moved = xp.zeros((len(tensor), int(move.max()) + 1, tensor.shape[2]))
        for world, targets in enumerate(move):
            for target in np.unique(targets).tolist():
                moved[:, target] += xp.where(xp.asarray(targets == target), tensor[:, world], 0.0)
        return moved

    def masses(self, evidence: Evidence) -> tuple[Rows, Rows]:
        """Return the weights of ending true and false per belief and cell, on the device."""
        if evidence.model.mobility.n_states != evidence.model.mobility.n_cells:
            true, false = evidence.masses
            return self.copy_of(true), self.copy_of(false)
        known: tuple[Rows, Rows] | None = evidence.__dict__.get(ON_DEVICE)
        if known is None:
            known = evidence.__dict__[ON_DEVICE] = self._masses(evidence)
        return known

    def _masses(self, evidence: Evidence) -> tuple[Rows, Rows]:
        xp, model, step = self.xp, evidence.model, evidence.step
        tensor = self.copy_of(evidence.tensor)
        if step >= model.worlds.last_step:
            ends = [tensor[:, 1], tensor[:, 0]]
        else:
            tables = (xp.asarray(each) for each in (model.ends_true(step), model.ends_false(step)))
            ends = [
                sum(tensor[:, k] * table[k] for k in range(tensor.shape[1])) for table in tables
            ]
        for k, faint in enumerate(evidence.faint):
            if faint.any():
                ends[k] = xp.where(xp.asarray(faint)[:, None], 0.0, ends[k])
        return ends[0], ends[1]

    def four_vectors(self, evidence: Evidence) -> tuple[Array, Array]:
        """Return b and d of evidence as it is now."""
        xp = self.xp
        true, false = self.masses(evidence)
        if evidence.released is None:
            b, d = true.sum(axis=1), false.sum(axis=1)
        else:
            column = xp.asarray(evidence.released)
            b, d = true @ column, false @ column
        return self.fetched(b), self.fetched(d)

    # --- certification

    def doubtful(
        self, evidence: Evidence, emission: Any, bound: float, both: bool, outputs: NDArray[Any]
    ) -> tuple[int | None, NDArray[np.intp]]:
        """Return an output that clearly breaks the promise, or those that the processor decides."""
        doubtful: list[NDArray[np.intp]] = []
        matrix = self.copy_of(emission)
        for start in range(0, len(outputs), CHUNK):
            these = outputs[start : start + CHUNK]
            columns = self.columns(matrix, these)
            b, d = (columns.T @ mass.T for mass in self.masses(evidence))
            verdicts = self.verdicts(evidence, b, d, bound, both)
            if (verdicts == FAILS).any():
                return int(these[np.argmax(verdicts == FAILS)]), np.empty(0, dtype=np.intp)
            doubtful.append(these[verdicts != HOLDS])
        return None, np.concatenate(doubtful) if doubtful else np.empty(0, dtype=np.intp)

    def columns(self, matrix: Rows, which: NDArray[np.intp]) -> Rows:
        """Return some columns of a matrix of the device."""
        if len(which) == matrix.shape[1]:
            return matrix
        return matrix[:, self.xp.asarray(which)]

    def survives(self, evidence: Evidence, bound: float, both: bool) -> bool | None:
        """Tell whether the promise survives the disclosure of the state; None if that is unclear.

        States that are impossible under every belief do not count.
        """
        if evidence.model.mobility.n_states != evidence.model.mobility.n_cells:
            return None
        true, false = self.masses(evidence)
        possible = np.flatnonzero(self.fetched(true.any(axis=0) | false.any(axis=0)))
        for start in range(0, len(possible), CHUNK):
            these = self.xp.asarray(possible[start : start + CHUNK])
            verdicts = self.verdicts(evidence, true[:, these].T, false[:, these].T, bound, both)
            if (verdicts == FAILS).any():
                return False
            if (verdicts == UNSURE).any():
                return None
        return True

    def verdicts(
        self, evidence: Evidence, b: Rows, d: Rows, bound: float, both: bool
    ) -> NDArray[np.int8]:
        """Return for each output (row of b and d) whether it clearly holds, clearly fails, or not.

        An output that is possible for no belief counts as unsure.
        """
        found = self._tested(evidence, b, d, bound * (1 - CLEAR), both)
        failing = np.flatnonzero(found == FAILS)
        if len(failing):  # of those the ones that fail even a little further up do so clearly
            rows = self.xp.asarray(failing)
            again = self._tested(evidence, b[rows], d[rows], bound * (1 + CLEAR), both)
            found[failing[again != FAILS]] = UNSURE
        return found

    def _tested(
        self, evidence: Evidence, b: Rows, d: Rows, bound: float, both: bool
    ) -> NDArray[np.int8]:
        xp = self.xp
        outputs, n = b.shape
        blocks = min(outputs, BLOCKS)
        rows = xp.empty(blocks * 6 * n)
        lists = xp.empty(blocks * 4 * n, dtype=xp.int32)
        verdicts = xp.empty(outputs, dtype=xp.int8)
        vectors = (xp.asarray(each) for each in (evidence.a, evidence.not_a, evidence.exponents))
        joint = xp.ascontiguousarray(b), xp.ascontiguousarray(d)
        numbers = np.int32(n), np.int32(outputs), np.float64(bound), np.int32(both)
        self._certify(blocks, *vectors, *joint, *numbers, rows, lists, verdicts)
        return cast("NDArray[np.int8]", self.fetched(verdicts))

    # --- noise

    def lottery_of(self, mechanism: Mechanism) -> Rows:
        """Return the lottery of a mechanism on the device."""
        if not isinstance(mechanism, PlanarLaplace):
            return self.copy_of(mechanism.lottery())
        matrix = snapped_laplace(self.xp, mechanism.grid, mechanism.budget)
        return dyadic_in(self.xp, matrix)
