"""A SHA-256 of how something was built, to tell whether it is the same as before."""

import hashlib
import inspect
from typing import Any

import numpy as np
from scipy import sparse

from priste.checks import Matrix
from priste.errors import MobilityError
from priste.mobility import Mobility


def fingerprint(thing: object) -> str:
    """Return the SHA-256 of an object's kind and of the arguments that it was built with."""
    digest = hashlib.sha256()
    _feed(digest, thing)
    return digest.hexdigest()


def _feed(digest: Any, thing: Any) -> None:
    if thing is None or isinstance(thing, str | int | float | np.generic):
        digest.update(f"{type(thing).__name__} {thing!r}|".encode())
    elif isinstance(thing, np.ndarray):
        digest.update(f"{thing.dtype.str} {thing.shape}|".encode())
        digest.update(np.ascontiguousarray(thing).tobytes())
    elif sparse.issparse(thing):
        for part in (thing.data, thing.indices, thing.indptr):
            _feed(digest, part)
    elif isinstance(thing, list | tuple):
        digest.update(f"{len(thing)} things|".encode())
        for part in thing:
            _feed(digest, part)
    elif isinstance(thing, Mobility):
        _feed(digest, [thing.initial, thing.cell_of_state, *_matrices(thing)])
        if thing.phase is not None:
            _feed(digest, thing.phase)
    else:
        digest.update(f"{type(thing).__name__}|".encode())
        for name in inspect.signature(type(thing)).parameters:
            digest.update(f"{name}=".encode())
            _feed(digest, getattr(thing, name, None))


def _matrices(mobility: Mobility) -> tuple[Matrix, ...]:
    """Return the matrices of a mobility, or the first of one that is a function of the step."""
    try:
        return mobility.matrices
    except MobilityError:
        return (mobility.transition(0),)
