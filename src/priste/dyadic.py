"""Probabilities as whole multiples of 2^-53, so that what is certified is what is drawn.

Such numbers, their sums and their products with 2^53 are exact in floating point. A row that sums
to exactly one is a lottery of 2^53 equal tickets, and 53 random bits draw one of them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.checks import Array, frozen

TICKETS = 1 << 53


def dyadic(matrix: Array) -> Array:
    """Return the rows with every entry rounded to a multiple of 2^-53.

    An entry above zero gets at least one ticket, and rows sum to exactly one: the largest entry
    takes what rounding leaves, the same one in equal rows.
    """
    return frozen(dyadic_in(np, matrix))


def dyadic_in(xp: Any, matrix: Any) -> Any:
    """Return the same in an array module like NumPy's, for its arrays."""
    tickets = xp.rint(matrix * TICKETS).astype(xp.int64)
    tickets[(matrix > 0) & (tickets == 0)] = 1
    rows = xp.arange(len(tickets))
    tickets[rows, tickets.argmax(axis=1)] += TICKETS - tickets.sum(axis=1)
    return tickets / TICKETS


def tickets_of(row: Array) -> NDArray[np.int64]:
    """Return the whole numbers behind a dyadic row; refuse any other row."""
    tickets = (row * TICKETS).astype(np.int64)
    if tickets.sum() != TICKETS or (tickets / TICKETS != row).any():
        raise ValueError("the row is not made of multiples of 2^-53 that sum to one")
    return tickets


def winner(row: Array, ticket: NDArray[np.int64] | int) -> NDArray[np.intp]:
    """Return the index in a dyadic row that holds the ticket, for one ticket or for many."""
    return np.asarray(np.searchsorted(np.cumsum(tickets_of(row)), ticket, side="right"))
