"""What a stream has spent of every event's ε, and what is left."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Literal

State = Literal["waiting", "live", "settled"]


@dataclass(frozen=True)
class Entry:
    """One protected event of a stream, under one mobility model or under all of them together.

    Of its `epsilon` two charges are taken once: `activation`, for releases before it was tracked,
    and `merging`, for beliefs that one belief stands for. `moved` is how far the odds can have
    moved by now at most, in nats; of a settled event, ever. `beliefs` is how many are tracked.
    """

    name: str
    state: State
    epsilon: float
    activation: float
    merging: float
    moved: float
    tracked_from: int
    settled_at: int | None = None
    beliefs: int = 0
    model: int = 0
    """The number of the model, from 0, where the entry is about one."""

    @classmethod
    def of_all(cls, entries: Sequence["Entry"]) -> "Entry":
        """Return the line of an event from its lines under each model: always the worst of them.

        It is settled when it is under every model.
        """
        open_ones = [entry for entry in entries if entry.settled_at is None]
        states = {entry.state for entry in open_ones}
        return replace(
            entries[0],
            state="settled" if not states else "live" if "live" in states else "waiting",
            activation=max(entry.activation for entry in entries),
            merging=max(entry.merging for entry in entries),
            moved=max(entry.moved for entry in entries),
            tracked_from=min(entry.tracked_from for entry in entries),
            settled_at=None if open_ones else max(entry.settled_at or 0 for entry in entries),
            beliefs=sum(entry.beliefs for entry in open_ones),
        )

    @property
    def left(self) -> float:
        """What is left of ε for releases while the event is live."""
        return self.epsilon - self.activation - self.merging


@dataclass(frozen=True, repr=False)
class Account:
    """Every event of a stream: those settled first, in the order they were asked for."""

    step: int
    """The step of the next release."""
    entries: tuple[Entry, ...]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, name: str) -> Entry:
        """Return the entry of an event."""
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(f"the stream has no event {name!r}")

    def of(self, state: State) -> tuple[Entry, ...]:
        """Return the entries in a state."""
        return tuple(entry for entry in self.entries if entry.state == state)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(self.of(s))} {s}" for s in ("waiting", "live", "settled"))
        return f"<Account at step {self.step}: {counts}>"

    def __str__(self) -> str:
        lines = (" ".join(f"{cell:<{width}}" for cell, width in row) for row in self._laid())
        return "\n".join(line.rstrip() for line in lines)

    def _laid(self) -> Iterator[list[tuple[str, int]]]:
        rows = [HEAD, *map(_row, self.entries)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            yield list(zip(row, widths, strict=True))

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _row(entry)) + "</tr>"
            for entry in self.entries
        )
        head = "".join(f"<th>{name}</th>" for name in HEAD)
        return f"<table><tr>{head}</tr>{rows}</table>"


HEAD = ("event", "state", "ε", "charged", "left", "moved at most", "tracked")


def _row(entry: Entry) -> tuple[str, ...]:
    tracked = f"from {entry.tracked_from}"
    if entry.beliefs > 1:
        tracked += f", for {entry.beliefs} beliefs"
    if entry.settled_at is not None:
        tracked = f"{entry.tracked_from} to {entry.settled_at}"
    return (
        entry.name,
        entry.state,
        f"{entry.epsilon:g}",
        f"{entry.activation + entry.merging:.2g}",
        f"{entry.left:.4g}",
        f"{entry.moved:.4g}",
        tracked,
    )
