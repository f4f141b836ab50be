"""A configuration held against the files it names, before anything is served."""

from collections.abc import Iterator

import pandas as pd

from priste.errors import GatewayError, PristeError
from priste.serve.config import Config, Person
from priste.serve.live import begun
from priste.tracks.model_file import load_model
from priste.tracks.seen import days_seen
from priste.tracks.steps import duration


def checked(config: Config, *, beginning: bool) -> Iterator[str]:
    """Refuse what no stream can begin with; yield what the owner should know.

    With `beginning` everybody's stream is begun, for trial, which takes a while.
    """
    good: set[tuple[object, ...]] = set()
    for person in config.persons.values():
        if person.beginning not in good:
            _check(person, beginning=beginning)
            good.add(person.beginning)
        yield from _remarks(person)


def _check(person: Person, *, beginning: bool) -> None:
    """Refuse a person whose stream cannot begin."""
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
    if beginning:
        try:
            begun(now, model, person.events, person.adversary, person.budget)
        except PristeError as error:
            raise GatewayError(f"{where}: {error}") from error


def _remarks(person: Person) -> Iterator[str]:
    where = f"persons.{person.name}"
    if person.lag > pd.Timedelta(hours=1):
        yield f"{where}: every release comes {duration(person.lag)} after its step"
    if not person.receivers:
        yield f"{where} has no receivers; what is released can be fetched from /feed.geojson"
