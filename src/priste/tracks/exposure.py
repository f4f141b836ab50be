"""What a mechanism alone, without protection, would reveal about events on a track."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from priste.checks import Array
from priste.mechanisms import Mechanism
from priste.protection import Protect, names_of
from priste.quantify import posterior_odds, prior_odds, privacy_loss
from priste.stream.parts import DEFAULT_RHO
from priste.tracks.adversary import Adversary, AdversaryKind
from priste.tracks.html_table import html_table
from priste.tracks.model import Model
from priste.tracks.names import short
from priste.tracks.observer import Sharing
from priste.tracks.protect import Events, Stream
from priste.wording import as_odds


@dataclass(frozen=True, eq=False, repr=False)
class Exposure:
    """What one random stream reveals about one event (private: it depends on the true track).

    `losses` is the worst over the adversary's beliefs and the model's habits after each step;
    `before` and `after` are the odds of an observer who believes the first of the habits.
    """

    name: str
    protection: Protect
    times: pd.DatetimeIndex
    losses: Array
    before: float
    after: Array

    def __repr__(self) -> str:
        return f"<Exposure of “{short(self.name)}” over {len(self.losses)} steps (private)>"

    def _repr_html_(self) -> str:
        before, after = as_odds(self.before), as_odds(float(self.after[-1]))
        crossed = "never" if self.crossed is None else f"step {self.crossed}"
        rows = [
            ("ε", f"{self.protection.epsilon:g}"),
            ("largest loss", f"{self.losses.max():.4f} at step {self.worst_step}"),
            ("first beyond ε", crossed),
            ("odds of an observer who believes the model", f"{before} before, {after} after"),
        ]
        return html_table(("", ""), rows, caption=f"{self.name} (private)")

    @property
    def worst_step(self) -> int:
        """The first step at which the loss is largest."""
        return int(np.argmax(self.losses))

    @property
    def crossed(self) -> int | None:
        """The first step at which the loss exceeds the ε of the event, if it does."""
        beyond = np.flatnonzero(self.losses > self.protection.epsilon)
        return int(beyond[0]) if len(beyond) else None


def expose_track(
    table: pd.DataFrame,
    model: Model,
    events: Events,
    mechanism: Mechanism,
    *,
    adversary: AdversaryKind = "near",
    rho: float = DEFAULT_RHO,
    seed: int | None = None,
) -> list[Exposure]:
    """Draw one stream through `mechanism` and return what it reveals about each event."""
    stream = Stream.of(table, model)
    protections = stream.protections(events)
    mobilities = model.mobilities_from(stream.clock.start)
    prior = Adversary(adversary, rho).prior(model.mobility)
    columns = Sharing.noisy(stream, mechanism, seed=seed).columns
    times = stream.clock.time_of(range(stream.n_steps))
    return [
        Exposure(
            name,
            each,
            times,
            np.max(
                [
                    privacy_loss(each.event, m, columns, prior=prior, sides=each.sides)
                    for m in mobilities
                ],
                axis=0,
            ),
            prior_odds(each.event, mobilities[0]),
            posterior_odds(each.event, mobilities[0], columns),
        )
        for name, each in zip(names_of(protections), protections, strict=True)
    ]
