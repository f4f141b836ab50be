"""Planar Laplace noise: does it follow its law, and what does it cost?"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import k1

from benchmarks.peers.compare import Found, Row, differences, in_turn, row
from benchmarks.peers.talk import Conversation
from priste import Grid, PlanarLaplace
from priste.checks import Array
from priste.randomness import Randomness

GRID, BUDGET, DRAWS = Grid(21, 21), 1.0, 20_000
LATITUDE = 45.0  # for those who work in degrees
CENTRE = GRID.n_cells // 2
REACH = GRID.rows // 2
"""How many cells lie on each side of the centre; what falls beyond goes to the border."""

ROUNDS, BATCHES = 5, 200
OURS = "PriSTE"
Moves = NDArray[np.int64]
"""Displacements in whole cells, shape (n, 2)."""


def problem() -> dict[str, Any]:
    return {
        "budget": BUDGET,
        "draws": DRAWS,
        "latitude": LATITUDE,
        "shape": np.array([GRID.rows, GRID.columns]),
    }


def drawn() -> Moves:
    """Draw as a release does: one at a time, from the randomness of the operating system."""
    randomness, chances = Randomness(), PlanarLaplace(GRID, BUDGET).lottery()[CENTRE]
    cells = np.array([randomness.draw(chances) for _ in range(DRAWS)])
    return np.stack(np.divmod(cells, GRID.columns), axis=1)[:, ::-1] - REACH


def snapped(points: Array) -> Moves:
    """Return the cells of displacements, seen from the centre of the map."""
    return np.clip(np.rint(np.asarray(points)), -REACH, REACH).astype(np.int64)


def by_definition(count: int, random: np.random.Generator) -> Moves:
    """Draw noise by its definition: a radius from its Gamma law, an angle from all."""
    radius, angle = random.gamma(2, 1 / BUDGET, count), random.uniform(0, 2 * np.pi, count)
    return snapped((radius * [np.cos(angle), np.sin(angle)]).T)


def isotropy(moves: Moves) -> float:
    """Return the second moment in the strongest direction over that in the weakest."""
    weakest, strongest = np.linalg.eigvalsh(moves.T @ moves / len(moves))
    return float(strongest / weakest)


def radii(moves: Moves) -> Array:
    """Return the distribution function of the radius, at every radius that can occur."""
    squares = np.bincount((moves**2).sum(axis=1), minlength=2 * REACH**2 + 1)
    return np.asarray(np.cumsum(squares) / len(moves))


@cache
def _chance(count: int) -> tuple[Array, float, float]:
    """Return the law of the radius, and the most that the two measures reach by chance."""
    random = np.random.default_rng(0)
    batches = [by_definition(count, random) for _ in range(BATCHES)]
    law = np.mean([radii(moves) for moves in batches], axis=0)
    off = [float(differences(radii(moves), law).max()) for moves in batches]
    uneven = [isotropy(moves) for moves in batches]
    return law, max(off), max(uneven)


def law_of_draws(who: str, moves: Moves) -> Row:
    law, off, uneven = _chance(len(moves))
    return {
        "who": who,
        "draws": len(moves),
        "isotropy": isotropy(moves),
        "isotropy_by_chance": uneven,
        "radius": float(differences(radii(moves), law).max()),
        "radius_by_chance": off,
    }


@cache
def _strips() -> Array:
    """Return the mass of each column of cells, seen from each: one coordinate of the noise.

    Its density is budget²/π · |x| K₁(budget |x|).
    """
    edges = BUDGET * (np.arange(2 * REACH + 1) + 0.5)
    pieces = [
        quad(lambda x: x * k1(x) / np.pi, low, high, epsabs=1e-14)[0]
        for low, high in zip([0.0, *edges[:-1]], edges, strict=True)
    ]
    above = np.cumsum(pieces)
    below = np.concatenate([0.5 - above[::-1], 0.5 + above])  # at the edges from left to right
    n = GRID.columns
    cut = np.array([below[n - x : 2 * n - x - 1] for x in range(n)])
    return np.diff(np.pad(cut, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1))), axis=1)


def law_of_matrix(who: str, matrix: Array, *, laplace: bool = True) -> Row:
    """Measure a matrix over the map: row sums, one coordinate's law, geo-indistinguishability."""
    square = np.asarray(matrix).reshape(GRID.rows, GRID.columns, GRID.rows, GRID.columns)
    across = differences(square.sum(axis=2), _strips()[None, :, :])
    down = differences(square.sum(axis=3), _strips()[:, None, :])
    logs = np.log(matrix)
    beyond, faint = max(
        (float(excess.max()), float(np.exp(column[excess.max(axis=0).argmax()])))
        for column in logs.T
        for excess in [column[:, None] - column - BUDGET * GRID.distances]
    )
    return {
        "who": who,
        "rows": float(np.abs(np.sum(matrix, axis=1) - 1).max()),
        "coordinate": float(np.maximum(across, down).max()) if laplace else None,
        "beyond": beyond,
        "beyond_at": faint,
    }


def compare(peer: Conversation) -> Found:
    turns = in_turn(peer, "points", drawn, rounds=ROUNDS)
    laws = [
        law_of_draws(OURS, np.concatenate([drawn() for _ in range(ROUNDS)])),
        law_of_draws(peer.name, snapped(np.concatenate(turns.their_values))),
    ]
    what = f"{DRAWS:,} draws of noise around a place ({LATITUDE:g}° north, if that matters)"
    rows = [row(what, turns.ours, turns.theirs, _agreement(laws[-1]))]
    if "matrix" not in peer.greeting["works"]:
        return Found(rows, laws)

    def ours() -> Array:
        return PlanarLaplace(GRID, BUDGET).emission()

    laws.append(law_of_matrix(OURS, ours()))
    for work, words in (("matrix", "planar Laplace"), ("geometric", "planar geometric")):
        turns = in_turn(peer, work, ours)
        laws.append(
            law_of_matrix(f"{peer.name}, {words}", turns.their_values[-1], laplace=work == "matrix")
        )
        agreement = f"entries differ by up to {turns.apart.max():.0e}"
        agreement += "" if work == "matrix" else " (another law: the discrete one)"
        what = f"matrix of noise over {GRID.n_cells} cells, theirs {words}"
        rows.append(row(what, turns.ours, turns.theirs, agreement))
    return Found(rows, laws)


def _agreement(law: Row) -> str:
    kept = {
        "isotropic": law["isotropy"] <= law["isotropy_by_chance"],
        "radius as it should be": law["radius"] <= law["radius_by_chance"],
    }
    return ", ".join(words if holds else f"not {words}" for words, holds in kept.items())
