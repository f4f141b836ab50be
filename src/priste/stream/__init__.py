"""The endless stream: what is tracked of each event, from when on and until when.

Before its window an event *waits*: whatever is released, nobody's odds on it move by more than a
spread that shrinks with the distance in time (`activation`). Then it is *live*: every release is
tested. After its window it is *settled* as soon as even the whole truth would keep the promise
(`settlement`). And the longer a stream goes on, the less does it matter what an observer believed
at its start, until one belief stands for all (`beliefs`).
"""

from priste.stream.account import Account, Entry
from priste.stream.public_state import PublicState

__all__ = ["Account", "Entry", "PublicState"]
