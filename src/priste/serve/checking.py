"""A configuration held against the files it names, before anything is served."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from priste.calibration import CertifiedPlan, GroupedPlan
from priste.errors import GatewayError, PristeError
from priste.serve.config import Config, Person
from priste.serve.live import begun
from priste.tracks.model_file import load_model
from priste.tracks.seen import days_seen
from priste.tracks.steps import duration
from priste.tracks.track_stream import TrackStream

SAME = 1e-6
"""How little the chance of a release may depend on the place to be called the same everywhere."""


def checked(config: Config, *, beginning: bool) -> Iterator[str]:
    """Refuse what no stream can begin with; yield what the owner should know.

    With `beginning` everybody's stream is begun, for trial, which takes a while.
    """
    prices: dict[tuple[object, ...], str] = {}
    for person in config.persons.values():
        if person.beginning not in prices:
            prices[person.beginning] = _checked(person, beginning=beginning)
        yield from _remarks(person)
        if beginning:
            yield f"persons.{person.name}: {prices[person.beginning]}"


def _checked(person: Person, *, beginning: bool) -> str:
    """Refuse a person whose stream cannot begin; say what its first release would cost."""
    where = f"persons.{person.name}"
    for name, path in (("model", person.model), ("events", person.events)):
        if not path.is_file():
            remedy = "priste fit makes one" if name == "model" else "the documentation shows one"
            raise GatewayError(f"{where}.{name}: there is no file {path.name}; {remedy}")
    try:
        model = load_model(person.model)
    except PristeError as error:
        raise GatewayError(f"{where}: {error}") from error
    now = pd.Timestamp.now("UTC")
    today = now.tz_convert(model.time_zone).date()
    if days_seen(model.provenance, today, today, None):
        raise GatewayError(
            f"{where}.model was learned from today, and what it has seen is a release that nobody "
            f"accounts for; fit it to days before the stream begins (priste fit --until)"
        )
    if not beginning:
        return ""
    try:
        return _price(begun(now, model, person.events, person.adversary, person.budget))
    except PristeError as error:
        raise GatewayError(f"{where}: {error}") from error


def _price(stream: TrackStream) -> str:
    """Say how far a first release lies from the truth, as far as the model can tell."""
    plan = stream.protector().plan()
    assert isinstance(plan, CertifiedPlan | GroupedPlan)
    belief, distances = stream.model.mobility.initial, stream.model.place.grid.distances
    release, noise = (
        float(belief @ (emission * distances).sum(axis=1))
        for emission in (plan.emission, stream.state.mechanism.emission())
    )
    told = f"a release lies {release:.2g} km from the truth at first, on average"
    told += f"; noise alone {noise:.2g} km"
    if np.ptp(plan.emission, axis=0).max() < SAME:
        told += (
            ". It is the same place wherever they are: noise of this budget hides everything on a "
            "map of this size; a larger budget means less noise"
        )
    return told


def _remarks(person: Person) -> Iterator[str]:
    where = f"persons.{person.name}"
    if person.lag > pd.Timedelta(hours=1):
        yield f"{where}: every release comes {duration(person.lag)} after its step"
    if not person.receivers:
        yield f"{where} has no receivers; what is released can be fetched from /feed.geojson"
