"""Every loss that a gateway certified, computed again from its database and the model alone.

    python -m verification.independent gateway.db habits.npz

Nothing of PriSTE is used. A release is a likelihood for each cell; everything an observer can
conclude from a stream follows by Bayes' rule, from the first step on, for each belief they may have
begun with. No shortcut of a long stream is taken: nothing waits, merges or settles here. So a loss
that was followed from the beginning must come out the same, and one with charges lies at most that
much above the truth and never below it.

It knows events of the kind "presence" and models whose moves are the same at every hour.
"""

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TICKETS = 2.0**53
EXACT = 1e-9


class Verdict(NamedTuple):
    """A loss as it was certified, and what it was: the largest of the day.

    If the event was settled on that day, it was followed until then only, and nobody told when: it
    is the largest until some step of the day.
    """

    person: str
    day: int
    event: str
    epsilon: float
    certified: float
    charges: float
    found: float
    largest: float
    """The largest loss of the day, also after the event was settled."""

    @property
    def is_right(self) -> bool:
        """Whether the certificate tells the truth and the promise is kept."""
        below = self.certified - 2 * self.charges - EXACT <= self.found
        return below and self.found <= self.certified + EXACT and self.largest <= self.epsilon


class Habit(NamedTuple):
    """How people move, and who they may be at the start (one row for each belief)."""

    moves: Array
    cells: NDArray[np.int64]
    beliefs: Array


def main(database: str, model: str) -> int:
    """Print what was certified beside what it was; return how many are wrong."""
    verdicts = list(verdicts_of(database, Path(model)))
    for v in verdicts:
        mark = "ok   " if v.is_right else "WRONG"
        print(
            f"{mark} {v.person} day {v.day} {v.event}: certified {v.certified:.9f}, "
            f"of it charges {v.charges:.2g}, found {v.found:.9f} of {v.epsilon:g}"
        )
    wrong = sum(not v.is_right for v in verdicts)
    print(f"{len(verdicts)} losses, {wrong} wrong")
    return wrong


def verdicts_of(database: str, model: Path) -> list[Verdict]:
    """Return a verdict for each loss of each certificate."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    rows = connection.execute(
        "SELECT person, stream, content FROM certificates JOIN streams ON streams.id = stream "
        "ORDER BY stream, number"
    ).fetchall()
    connection.close()
    chains: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for person, stream, content in rows:
        chains.setdefault((person, stream), []).append(json.loads(content))
    return [v for (person, _), days in chains.items() for v in _chain(person, days, model)]


def _chain(person: str, days: list[dict[str, Any]], model: Path) -> list[Verdict]:
    columns = {
        release["step"]: np.array(release["tickets"]) / TICKETS
        for day in days
        for release in day["releases"]
    }
    habits = _habits(model, days[0]["adversary"], days[0]["rho"])
    last = days[-1]["stream"]["last_step"]
    events = {p["name"]: p["event"] for day in days for p in day["protections"]}
    losses = {
        name: np.max([losses_of(habit, event, columns, last) for habit in habits], axis=0)
        for name, event in events.items()
    }
    found = []
    for day in days:
        number, first, stop = (day["stream"][k] for k in ("number", "first_step", "last_step"))
        for told in day["protections"]:
            if told["standing"]["state"] == "waiting" or told["largest_loss"] == 0:
                continue  # nothing was followed on this day
            if told["sides"] != "both":
                raise SystemExit(f"{told['name']}: only losses on both sides are known here")
            of_day = losses[told["name"]][first : stop + 1]
            so_far = np.maximum.accumulate(of_day)
            at_end = so_far if told["standing"]["state"] == "settled" else so_far[-1:]
            fitting = at_end[at_end <= told["largest_loss"] + EXACT]
            truth = fitting[-1] if len(fitting) else at_end[0]
            charges = told["standing"]["activation"] + told["standing"]["merging"]
            numbers = told["epsilon"], told["largest_loss"], charges, truth, so_far[-1]
            found.append(Verdict(person, number, told["name"], *map(float, numbers)))
    return found


def _habits(path: Path, adversary: str, rho: float) -> list[Habit]:
    with np.load(path) as content:
        about = json.loads(content["meta"].tobytes())
        if any(count != 1 for count in about["matrices"]):
            raise SystemExit("the model has moves that depend on the hour, which is unknown here")
        initial = content["initial"]
        free = {"known": 0.0, "any": 1.0}.get(adversary, rho)
        points = np.eye(len(initial)) if free else initial[None, :]
        beliefs = (1 - free) * initial + free * points
        habits = []
        for number in range(len(about["matrices"])):
            cells = content[f"habit {number} cell_of_state"]
            at_start = np.zeros((len(beliefs), len(cells)))
            at_start[:, : len(initial)] = beliefs
            habits.append(Habit(content[f"habit {number} matrix 0"], cells, at_start))
    return habits


def losses_of(
    habit: Habit, event: dict[str, Any], columns: dict[int, Array], last: int
) -> list[float]:
    """Return the loss after each step, over all beliefs and all mixtures of two of them."""
    if set(event) != {"presence"}:
        raise SystemExit(f"only presence is known here, not {', '.join(event)}")
    steps = set(event["presence"]["steps"])
    inside = np.isin(habit.cells, event["presence"]["cells"])
    end = max(steps)

    def read(weights: Array, step: int) -> Array:
        """Move who is inside at a step of the event to those of whom it is true."""
        if step not in steps:
            return weights
        true = weights[1] + weights[0] * inside
        return np.stack([weights[0] * ~inside, true])

    def ends(weights: Array, step: int) -> tuple[Array, Array]:
        """Return the weights of who will have been inside, and of the others."""
        for later in range(step + 1, end + 1):
            weights = read(weights @ habit.moves, later)
        return weights[1].sum(axis=1), weights[0].sum(axis=1)

    weights = read(np.stack([habit.beliefs, np.zeros_like(habit.beliefs)]), 0)
    before = ends(weights, 0)
    losses = []
    for step in range(last + 1):
        if step > 0:
            weights = read(weights @ habit.moves, step)
        if step in columns:
            weights = weights * columns[step][habit.cells]
            weights = weights / weights.max()
        losses.append(_worst(*before, *ends(weights, step)))
    return losses


def _worst(a: Array, not_a: Array, b: Array, d: Array) -> float:
    """Return the largest change of log odds over mixtures of two beliefs, (1 - s) and s of them.

    Between two beliefs the odds before and after are ratios of straight lines in s. The change is
    largest at an end or where its derivative, a quadratic over positive terms, is zero.
    """
    i, j = (index.ravel() for index in np.indices((len(a), len(a))))
    ends = [(x[i], x[j] - x[i]) for x in (a, not_a, b, d)]
    shares = [np.zeros(len(i)), np.ones(len(i)), *_turning_points(*ends)]
    worst = 0.0
    for share in shares:
        at = [x + share * slope for x, slope in ends]
        is_open = np.all([value > 0 for value in at], axis=0)
        a_s, not_a_s, b_s, d_s = (value[is_open] for value in at)
        change = np.abs(np.log(b_s) - np.log(d_s) - np.log(a_s) + np.log(not_a_s))
        worst = max(worst, float(change.max(initial=0.0)))
    return worst


def _turning_points(*ends: tuple[Array, Array]) -> list[Array]:
    """Return where b'/b - d'/d - a'/a + not_a'/not_a may be zero, inside the interval."""
    (a, da), (n, dn), (b, db), (d, dd) = ends
    # with lines x + s dx: (db d - dd b) / (b_s d_s) = (da n - dn a) / (a_s n_s)
    left, right = db * d - dd * b, da * n - dn * a
    square = left * da * dn - right * db * dd
    linear = left * (a * dn + n * da) - right * (b * dd + d * db)
    constant = left * a * n - right * b * d
    root = np.sqrt(np.maximum(linear**2 - 4 * square * constant, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        q = -0.5 * (linear + np.where(linear >= 0, root, -root))
        found = [q / square, constant / q]
    return [np.clip(np.nan_to_num(s, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0) for s in found]


if __name__ == "__main__":
    sys.exit(min(main(*sys.argv[1:]), 100))
