"""Prices of outputs, and what no remap can go below at these prices.

A remap pays `weights[j] * losses[j, o]` when signal j gives output o, and each output has cuts that
its column must keep. A price λ ≥ 0 per output and cut turns the cuts into costs, and then every
signal simply takes its cheapest output: the sum of what they pay is a bound, whatever the prices
(this is the dual of the linear program). Here prices that are good for groups of outputs are made
good for each output. Nothing larger than the losses themselves is ever made.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from priste import worst_case
from priste.checks import Array

_BLOCK = 2048  # outputs that are looked at together: they stay in the cache
_WORTH_SHARING = 500  # signals or outputs before a second thread pays


class Market:
    """All signals and outputs at full resolution.

    `cuts` has a line per signal and a column per cut. `need` says what each output would need of
    each cut if all whose best output it is gave just that.
    """

    def __init__(self, weights: Array, losses: Array, cuts: Array, need: Array) -> None:
        self.weights, self.losses, self.cuts, self.need = weights, losses, cuts, need

    def paid(self, prices: Array) -> Array:
        """Return what each signal pays for its cheapest output; the sum is a bound."""
        paid = np.empty(len(self.weights))
        by_cut = np.ascontiguousarray(prices.T)
        arguments = self.weights, self.losses, self.cuts, by_cut, paid
        _shared(_find_cheapest, len(paid), *arguments)
        return paid

    def settled(self, prices: Array, paid: Array, firm: NDArray[np.bool_]) -> Array:
        """Return prices moved, output by output, until no `firm` signal would pay less than `paid`.

        Prices of an output keep their proportions if that can be; else one cut alone has a price.
        If nothing serves, signals that lend themselves come first.
        """
        rows, n_cuts = np.flatnonzero(firm), self.cuts.shape[1]
        settled = prices.copy()
        open_ = np.ones(len(prices), dtype=bool)
        for ways in (prices, *(np.tile(unit, (len(prices), 1)) for unit in np.eye(n_cuts))):
            least, most = self._multiples(ways, paid, rows)
            fits = open_ & (least <= most) & np.isfinite(least)
            multiple = np.clip(1.0, least, most) if ways is prices else most
            multiple = np.where(np.isfinite(multiple), multiple, least)[fits]
            settled[fits] = ways[fits] * multiple[:, None]
            if ways is prices:
                settled[~fits] *= np.clip(most, 0.0, 1.0)[~fits, None]
            open_ &= ~fits
        return settled

    def risen(self, prices: Array, paid: Array) -> tuple[Array, Array]:
        """Return prices at which no signal pays less than `paid` and some more, and what they pay.

        Prices fall to what those who need the outputs pay for them anyway, so that those who lend
        themselves pay more; then they rise as far as these allow.
        """
        rows = np.arange(len(self.weights))
        least, _ = self._multiples(prices, paid, rows)
        prices = prices * np.minimum(least, 1.0)[:, None]
        paid = self.paid(prices)
        free = np.asarray(~prices.any(axis=1))  # without a price: try one on what is needed most
        wanted = np.eye(self.need.shape[1])[self.need.argmax(axis=1)] * (self.need > 0)
        ways = np.where(free[:, None], wanted, prices)
        _, most = self._multiples(ways, paid, rows)
        most = np.where(np.isfinite(most), most, 0.0)
        prices = ways * np.maximum(most, np.where(free, 0.0, 1.0))[:, None]
        return prices, self.paid(prices)

    def _multiples(self, ways: Array, paid: Array, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the least and the largest multiple of prices at which no row pays less."""
        n_outputs = self.losses.shape[1]
        least, most = np.zeros(n_outputs), np.full(n_outputs, np.inf)
        by_cut = np.ascontiguousarray(ways.T)
        arguments = self.weights, self.losses, self.cuts, by_cut, paid, rows, least, most
        _shared(_find_multiples, n_outputs, *arguments)
        return least, most


def spread(losses: Array, group: NDArray[np.intp], shares: Array, n_groups: int) -> Array:
    """Return the loss of each signal at each group of outputs, its outputs by their shares."""
    means = np.zeros((len(losses), n_groups))
    _shared(_find_means, len(losses), losses, group, shares, means)
    return means


def _shared(kernel: Callable[..., None], n: int, *arguments: Any) -> None:
    """Run a kernel on all of n things, a part of them on each core where that pays."""
    parts = min(worst_case.CORES, n // _WORTH_SHARING + 1)
    ends = [n * k // parts for k in range(parts + 1)]
    with ThreadPoolExecutor(parts) as pool:
        list(pool.map(lambda ends: kernel(*ends, *arguments), pairwise(ends)))


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _find_cheapest(
    first: int, last: int, weights: Array, losses: Array, cuts: Array, prices: Array, paid: Array
) -> None:
    n_cuts, n_outputs = prices.shape
    cost = np.empty(n_outputs)
    for j in range(first, last):
        for o in range(n_outputs):
            cost[o] = weights[j] * losses[j, o]
        for c in range(n_cuts):
            cut = cuts[j, c]
            for o in range(n_outputs):
                cost[o] += prices[c, o] * cut
        paid[j] = cost.min()


@njit(cache=True, nogil=True, error_model="numpy")
def _find_multiples(
    first: int,
    last: int,
    weights: Array,
    losses: Array,
    cuts: Array,
    ways: Array,
    paid: Array,
    rows: NDArray[np.intp],
    least: Array,
    most: Array,
) -> None:
    price = np.empty(_BLOCK)
    for start in range(first, last, _BLOCK):
        n = min(_BLOCK, last - start)
        low, high = least[start : start + n], most[start : start + n]
        for j in rows:
            price[:n] = 0.0
            for c in range(len(ways)):
                cut = cuts[j, c]
                for k in range(n):
                    price[k] += ways[c, start + k] * cut
            for k in range(n):
                multiple = (paid[j] - weights[j] * losses[j, start + k]) / price[k]
                # a price of 0 cannot make up for anything: infinite, or nothing to make up for
                at_least = multiple if price[k] >= 0 else -np.inf
                at_most = np.inf if price[k] >= 0 else multiple
                low[k] = at_least if at_least > low[k] else low[k]  # never where it is undefined
                high[k] = at_most if at_most < high[k] else high[k]


@njit(cache=True, nogil=True)
def _find_means(
    first: int, last: int, losses: Array, group: NDArray[np.intp], shares: Array, means: Array
) -> None:
    for j in range(first, last):
        for o in range(losses.shape[1]):
            means[j, group[o]] += shares[o] * losses[j, o]
