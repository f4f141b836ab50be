"""What the gateway remembers, each change whole and durable before anybody hears of it.

The order of writes carries the promise. A fix is committed before its sender is answered. A step is
drawn once: its release, what is to be sent and the removal of its fixes are one commit, and only
then is anything sent. Nothing here decides what is released.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from priste.checks import Array
from priste.dyadic import TICKETS
from priste.serve.database import Database
from priste.serve.payloads import Fix

Released = tuple[int, Array]
"""A released cell, and its probability from each true cell."""


class Ticked(NamedTuple):
    """A step that is over: what was released at it, if anything, and to whom it goes."""

    stream: int
    person: str
    step: int
    end: int
    """When the step ended, in microseconds since 1970."""
    release: Released | None
    shown: int | None = None
    """The cell that receivers are sent for this step, if any: of this release or an earlier one."""
    receivers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Ticked(stream {self.stream}, step {self.step})"


class Resting(NamedTuple):
    """A stream at rest: its last step, the state after an earlier step, and releases since then."""

    id: int
    step: int
    state: bytes
    state_step: int
    releases: dict[int, Released]


class Letter(NamedTuple):
    """What is to be sent to a receiver, in the bytes that it is always sent in."""

    stream: int
    step: int
    receiver: str
    body: bytes
    attempts: int = 0


class Store:
    """The gateway's tables, as they are read and written: every method is one whole change."""

    def __init__(self, database: Database) -> None:
        self.database = database

    # fixes

    def add_fixes(self, person: str, fixes: Iterable[Fix]) -> None:
        """Keep fixes until the end of their step; of two at the same moment the first counts."""
        self.database.execute_many(
            "INSERT INTO fixes VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [(person, *fix) for fix in fixes],
        )

    def first_fix(self, person: str, start: int, end: int) -> Fix | None:
        """Return the first fix from `start` to before `end`, by the time of the fix."""
        rows = self.database.execute(
            "SELECT time, latitude, longitude FROM fixes "
            "WHERE person = ? AND time >= ? AND time < ? ORDER BY time LIMIT 1",
            (person, start, end),
        )
        return Fix(*rows[0]) if rows else None

    def count_fixes(self, person: str) -> int:
        """Return how many fixes wait for the end of their step."""
        ((count,),) = self.database.execute(
            "SELECT COUNT(*) FROM fixes WHERE person = ?", (person,)
        )
        return int(count)

    # streams

    def begin(self, person: str, state: bytes) -> int:
        """Begin a stream of a person, whose state before the first step is given."""
        ((last,),) = self.database.execute("SELECT COALESCE(MAX(id), 0) FROM streams")
        self.database.execute("INSERT INTO streams VALUES (?, ?, -1, NULL)", (last + 1, person))
        self.database.execute("INSERT INTO states VALUES (?, -1, ?)", (last + 1, state))
        return int(last) + 1

    def end_all(self, when: str, identity: str) -> None:
        """End all streams; the database becomes another, so that no older copy passes for it."""
        self.database.execute("UPDATE streams SET ended = ? WHERE ended IS NULL", (when,))
        self.database.execute("UPDATE gateway SET identity = ?", (identity,))

    def has_stream(self, person: str) -> bool:
        """Tell whether a person has a stream that goes on."""
        return bool(
            self.database.execute(
                "SELECT id FROM streams WHERE person = ? AND ended IS NULL", (person,)
            )
        )

    def resting(self, person: str) -> Resting | None:
        """Return the stream of a person that goes on, if there is one."""
        rows = self.database.execute(
            "SELECT id, streams.step, content, states.step FROM streams "
            "JOIN states ON stream = id WHERE person = ? AND ended IS NULL",
            (person,),
        )
        if not rows:
            return None
        ((stream, step, state, state_step),) = rows
        return Resting(stream, step, state, state_step, self.releases(stream, state_step + 1))

    def releases(self, stream: int, first: int = 0) -> dict[int, Released]:
        """Return the releases of a stream that have their columns, from a step on."""
        rows = self.database.execute(
            "SELECT step, cell, tickets FROM releases "
            "WHERE stream = ? AND step >= ? AND tickets IS NOT NULL ORDER BY step",
            (stream, first),
        )
        return {step: (cell, column_of(tickets)) for step, cell, tickets in rows}

    def cells(self, stream: int, first: int = 0) -> dict[int, int]:
        """Return what was released at each step, from a step on."""
        rows = self.database.execute(
            "SELECT step, cell FROM releases WHERE stream = ? AND step >= ? ORDER BY step",
            (stream, first),
        )
        return dict(rows)

    # the end of a step

    def tick(
        self, ticked: Sequence[Ticked], kept: Mapping[str, Sequence[tuple[int, bytes]]]
    ) -> int:
        """Note steps that are over, together; return how often that was done so far.

        Their fixes go, unless sealed ones are `kept` for a person.
        """
        write = self.database
        write.execute_many(
            "INSERT INTO kept_fixes VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            [(person, *sealed) for person, fixes in kept.items() for sealed in fixes],
        )
        write.execute_many(
            "INSERT INTO releases VALUES (?, ?, ?, ?)",
            [
                (t.stream, t.step, t.release[0], tickets_of(t.release[1]))
                for t in ticked
                if t.release
            ],
        )
        write.execute_many(
            "INSERT INTO outbox (stream, step, receiver, cell) VALUES (?, ?, ?, ?)",
            [
                (t.stream, t.step, receiver, t.shown)
                for t in ticked
                if t.shown is not None
                for receiver in t.receivers
            ],
        )
        write.execute_many(
            "UPDATE streams SET step = ? WHERE id = ? AND step < ?",
            [(t.step, t.stream, t.step) for t in ticked],
        )
        write.execute_many(
            "DELETE FROM fixes WHERE person = ? AND time < ?", [(t.person, t.end) for t in ticked]
        )
        write.execute("UPDATE gateway SET ticks = ticks + 1")
        return self.ticks

    @property
    def ticks(self) -> int:
        """How often steps were noted."""
        ((count,),) = self.database.execute("SELECT ticks FROM gateway")
        return int(count)

    def fixes_before(self, person: str, end: int) -> list[Fix]:
        """Return the fixes of a person from before a moment."""
        rows = self.database.execute(
            "SELECT time, latitude, longitude FROM fixes WHERE person = ? AND time < ?",
            (person, end),
        )
        return [Fix(*row) for row in rows]

    def close_day(
        self, stream: int, number: int, steps: range, certificate: bytes, state: bytes
    ) -> None:
        """Keep a certificate, and the state after its last step; the columns are in it now."""
        self.database.execute(
            "INSERT INTO certificates VALUES (?, ?, ?, ?, ?)",
            (stream, number, steps.start, steps.stop, certificate),
        )
        self.database.execute(
            "UPDATE states SET content = ?, step = ? WHERE stream = ?",
            (state, steps.stop - 1, stream),
        )
        self.database.execute(
            "UPDATE releases SET tickets = NULL WHERE stream = ? AND step < ?", (stream, steps.stop)
        )

    def certificates(self, person: str) -> list[tuple[int, int, int, int]]:
        """Return stream, number, first step and the step after the last of each certificate."""
        return self.database.execute(
            "SELECT stream, number, first_step, stop_step FROM certificates "
            "JOIN streams ON streams.id = stream WHERE person = ? ORDER BY stream, number",
            (person,),
        )

    def certificate(self, person: str, stream: int, number: int) -> bytes | None:
        """Return the file of a certificate of a person."""
        rows = self.database.execute(
            "SELECT content FROM certificates JOIN streams ON streams.id = stream "
            "WHERE person = ? AND stream = ? AND number = ?",
            (person, stream, number),
        )
        return bytes(rows[0][0]) if rows else None

    # what is to be sent

    def unwritten(self, most: int) -> list[tuple[int, str, int, str, int]]:
        """Return stream, person, step, receiver and cell of what has no bytes yet, the oldest."""
        return self.database.execute(
            "SELECT stream, person, outbox.step, receiver, cell FROM outbox "
            "JOIN streams ON streams.id = stream WHERE body IS NULL AND dead = 0 "
            "ORDER BY outbox.step, stream, receiver LIMIT ?",
            (most,),
        )

    def last_cell(self, stream: int) -> int | None:
        """Return what was released last on a stream, if anything was."""
        rows = self.database.execute(
            "SELECT cell FROM releases WHERE stream = ? ORDER BY step DESC LIMIT 1", (stream,)
        )
        return rows[0][0] if rows else None

    def write_letters(self, letters: Iterable[Letter]) -> None:
        """Note in which bytes something is sent, once and for all."""
        self.database.execute_many(
            "UPDATE outbox SET body = ? "
            "WHERE stream = ? AND step = ? AND receiver = ? AND body IS NULL",
            [(x.body, x.stream, x.step, x.receiver) for x in letters],
        )

    def next_letter(self, person: str, receiver: str) -> tuple[Letter, float] | None:
        """Return the oldest letter to a receiver, and when it is due."""
        rows = self.database.execute(
            "SELECT stream, outbox.step, receiver, body, attempts, due FROM outbox "
            "JOIN streams ON streams.id = stream "
            "WHERE person = ? AND receiver = ? AND dead = 0 AND body IS NOT NULL "
            "ORDER BY stream, outbox.step LIMIT 1",
            (person, receiver),
        )
        if not rows:
            return None
        *letter, due = rows[0]
        letter[3] = bytes(letter[3])
        return Letter(*letter), due

    def sent(self, letter: Letter) -> None:
        """Note that a receiver has a letter."""
        self.database.execute(f"DELETE FROM outbox {_THE_LETTER}", letter[:3])

    def postpone(self, letter: Letter, due: float, problem: str) -> None:
        """Note that a letter is to be sent again, and when."""
        self.database.execute(
            f"UPDATE outbox SET attempts = attempts + 1, due = ?, problem = ? {_THE_LETTER}",
            (due, problem, *letter[:3]),
        )

    def give_up(self, letter: Letter, problem: str) -> None:
        """Note that a letter is not sent again unless somebody asks for it."""
        self.database.execute(
            f"UPDATE outbox SET attempts = attempts + 1, dead = 1, problem = ? {_THE_LETTER}",
            (problem, *letter[:3]),
        )

    def dead_letters(self, person: str) -> list[tuple[int, int, str, int, str]]:
        """Return stream, step, receiver, attempts and problem of what was given up."""
        return self.database.execute(
            "SELECT stream, outbox.step, receiver, attempts, problem FROM outbox "
            "JOIN streams ON streams.id = stream WHERE person = ? AND dead = 1 "
            "ORDER BY stream, outbox.step, receiver",
            (person,),
        )

    def waiting(self, person: str) -> dict[str, tuple[int, int, int, str]]:
        """Return by receiver how many letters wait and how many were given up.

        Then the most attempts at one of them, and a problem that there was.
        """
        rows = self.database.execute(
            "SELECT receiver, SUM(1 - dead), SUM(dead), MAX(attempts), MAX(problem) FROM outbox "
            "JOIN streams ON streams.id = stream WHERE person = ? GROUP BY receiver",
            (person,),
        )
        return {row[0]: (int(row[1]), int(row[2]), int(row[3]), row[4]) for row in rows}

    def revive(self, person: str) -> int:
        """Send what was given up again; return how many letters that are."""
        dead = self.dead_letters(person)
        self.database.execute_many(
            f"UPDATE outbox SET dead = 0, attempts = 0, due = 0 {_THE_LETTER}",
            [row[:3] for row in dead],
        )
        return len(dead)

    def kept_fixes(self, person: str) -> list[tuple[int, bytes]]:
        """Return the sealed fixes that a person keeps."""
        rows = self.database.execute(
            "SELECT time, sealed FROM kept_fixes WHERE person = ? ORDER BY time", (person,)
        )
        return [(time, bytes(sealed)) for time, sealed in rows]


_THE_LETTER = "WHERE stream = ? AND step = ? AND receiver = ?"


def tickets_of(column: Array) -> bytes:
    """Return a column as whole tickets: always as many bytes, whatever was drawn."""
    return np.ascontiguousarray(column * TICKETS, dtype="<i8").tobytes()


def column_of(tickets: bytes) -> Array:
    """Return the column that `tickets_of` wrote."""
    whole: NDArray[np.int64] = np.frombuffer(tickets, dtype="<i8")
    return whole / TICKETS
