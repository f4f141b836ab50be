"""The gateway's configuration: one TOML file, each field checked with the place it has in it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

import pandas as pd

from priste.checks import listing, shown
from priste.errors import GatewayError, PristeError
from priste.tracks import plain_toml
from priste.tracks.adversary import Adversary

ReceiverKind = Literal["owntracks", "overland", "webhook", "mqtt"]
Silence = Literal["skip", "repeat"]

DAY, NO_LAG = pd.Timedelta(days=1), pd.Timedelta(0)
MAX_PERSONS = 10_000
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
"""What a person or a receiver is called: it stands in addresses and topics."""


@dataclass(frozen=True)
class Receiver:
    """Where releases go. Its address and its secret stay out of logs."""

    name: str
    kind: ReceiverKind
    url: str = field(default="", repr=False)
    topic: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    give_up: pd.Timedelta = DAY


@dataclass(frozen=True)
class Person:
    """Whose stream it is, with what it runs, and who receives it."""

    name: str
    model: Path
    events: Path
    adversary: Adversary = field(default_factory=Adversary)
    budget: float = 1.0
    lag: pd.Timedelta = NO_LAG
    silence: Silence = "skip"
    keep_fixes: bool = False
    owntracks_key: bytes | None = field(default=None, repr=False)
    owntracks_topic: str = ""
    receivers: tuple[Receiver, ...] = ()

    @property
    def beginning(self) -> tuple[Path, Path, Adversary, float]:
        """What a stream begins with: people with the same begin alike."""
        return self.model, self.events, self.adversary, self.budget


@dataclass(frozen=True)
class Broker:
    """The MQTT broker that the gateway listens to and publishes to."""

    host: str
    port: int = 1883
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: bool = False


@dataclass(frozen=True)
class Config:
    """All that a gateway is told."""

    folder: Path
    database: str = field(repr=False)
    persons: Mapping[str, Person]
    host: str = "127.0.0.1"
    port: int = 8470
    workers: int = 1
    broker: Broker | None = None
    key_file: Path | None = None
    log: Literal["json", "text"] = "text"


def read_config(path: str | Path) -> Config:
    """Read the configuration of a gateway; relative paths are beside the file."""
    path = Path(path)
    if not path.exists():
        raise GatewayError(f"there is no {path.name}; priste serve --init writes one")
    content = plain_toml.read(path, GatewayError)
    _only(content, "", ("server", "mqtt", "persons"))
    server = _Table(content.get("server", {}), "server")
    folder = path.resolve().parent
    persons = content.get("persons", {})
    if not isinstance(persons, dict) or not persons:
        raise GatewayError("the gateway serves nobody; add a table [persons.NAME]")
    if len(persons) > MAX_PERSONS:
        raise GatewayError(
            f"a gateway serves at most {MAX_PERSONS:,} persons, not {len(persons):,}"
        )
    database = server.text("database", "gateway.db")
    key_file = server.text("key_file", "")
    config = Config(
        folder,
        database if "://" in database else str(folder / database),
        {name: _person(name, table, folder) for name, table in persons.items()},
        server.text("host", "127.0.0.1"),
        server.whole("port", 8470, range(65536)),
        server.whole("workers", 1, range(65)),
        _broker(content["mqtt"]) if "mqtt" in content else None,
        folder / key_file if key_file else None,
        server.one_of("log", "text", ("json", "text")),
    )
    server.done()
    return _consistent(config)


def _consistent(config: Config) -> Config:
    topics: dict[str, str] = {}
    for person in config.persons.values():
        other = topics.setdefault(person.owntracks_topic, person.name)
        if person.owntracks_topic and other != person.name:
            raise GatewayError(
                f"persons.{person.name} has the owntracks_topic of persons.{other}; one topic is "
                f"one person's"
            )
    for person in config.persons.values():
        where = f"persons.{person.name}"
        if person.keep_fixes and config.key_file is None:
            raise GatewayError(
                f"{where}.keep_fixes needs server.key_file: kept fixes are encrypted, and the key "
                f"lies outside the database"
            )
        wants_broker = person.owntracks_topic or any(r.kind == "mqtt" for r in person.receivers)
        if wants_broker and config.broker is None:
            raise GatewayError(f"{where} uses MQTT; add a table [mqtt] with the broker's host")
    return config


def _person(name: str, content: object, folder: Path) -> Person:
    where = f"persons.{name}"
    check_name(name, where)
    table = _Table(content, where)
    receivers = table.get("receivers", {})
    if not isinstance(receivers, dict):
        raise GatewayError(f"{where}.receivers must be tables, each like [{where}.receivers.NAME]")
    key = table.text("owntracks_key", "")
    try:
        adversary = Adversary(
            table.one_of("adversary", "near", ("known", "near", "any")), table.number("rho", 0.1)
        )
    except PristeError as error:
        raise GatewayError(f"{where}: {error}") from None
    person = Person(
        name,
        folder / table.text("model"),
        folder / table.text("events"),
        adversary,
        table.number("budget", 1.0),
        table.duration("lag", "0s"),
        table.one_of("silence", "skip", get_args(Silence)),
        table.truth("keep_fixes", False),
        key.encode() or None,
        table.text("owntracks_topic", ""),
        tuple(_receiver(each, part, where) for each, part in receivers.items()),
    )
    table.done()
    return person


def _receiver(name: str, content: object, whose: str) -> Receiver:
    where = f"{whose}.receivers.{name}"
    check_name(name, where)
    table = _Table(content, where)
    kind = table.one_of("kind", None, get_args(ReceiverKind))
    url, topic = table.text("url", ""), table.text("topic", "")
    headers = table.get("headers", {})
    if not isinstance(headers, dict) or not all(isinstance(v, str) for v in headers.values()):
        raise GatewayError(f"{where}.headers must be a table of texts")
    if kind == "mqtt" and (not topic or set(topic) & set("+#\0")):
        raise GatewayError(f"{where} needs a topic to publish to, without + or #")
    if kind != "mqtt" and urlsplit(url).scheme not in ("http", "https"):
        raise GatewayError(f"{where} needs a url that begins with http:// or https://")
    receiver = Receiver(name, kind, url, topic, headers, table.duration("give_up", "24h"))
    table.done()
    return receiver


def _broker(content: object) -> Broker:
    table = _Table(content, "mqtt")
    broker = Broker(
        table.text("host"),
        table.whole("port", 1883, range(1, 65536)),
        table.text("username", "") or None,
        table.text("password", "") or None,
        table.truth("tls", False),
    )
    table.done()
    return broker


def check_name(name: str, where: str) -> None:
    """Refuse what cannot stand in addresses and topics; `where` is its place in the file."""
    if NAME.fullmatch(name) is None:
        raise GatewayError(
            f"{shown(where)} cannot be a name: use up to 40 small letters, digits, - and _"
        )


def _only(content: Mapping[str, Any], where: str, known: tuple[str, ...]) -> None:
    unknown = [name for name in content if name not in known]
    if unknown:
        raise GatewayError(
            f"{where or 'the file'} does not know {shown(unknown[0])}; it knows "
            f"{listing(known, 20)}"
        )


_SECRET = ("password", "owntracks_key", "url", "database")


class _Table:
    """A table of the file; every field that is asked for is known, and no other is allowed."""

    def __init__(self, content: object, where: str) -> None:
        if not isinstance(content, dict):
            raise GatewayError(f"{where} must be a table, got {shown(content)}")
        self._content, self._where = content, where
        self._known: list[str] = []

    def get(self, name: str, default: Any) -> Any:
        """Return a field of any kind."""
        self._known.append(name)
        if name not in self._content and default is None:
            raise GatewayError(f"{self._where} needs {name}")
        return self._content.get(name, default)

    def done(self) -> None:
        """Refuse fields that nobody asked for."""
        _only(self._content, self._where, tuple(self._known))

    def _refuse(self, name: str, wanted: str, value: object) -> GatewayError:
        got = "something else" if name in _SECRET else shown(value)
        return GatewayError(f"{self._where}.{name} must be {wanted}, got {got}")

    def text(self, name: str, default: str | None = None) -> str:
        value = self.get(name, default)
        if not isinstance(value, str):
            raise self._refuse(name, "text", value)
        return value

    def truth(self, name: str, default: bool) -> bool:
        value = self.get(name, default)
        if not isinstance(value, bool):
            raise self._refuse(name, "true or false", value)
        return value

    def number(self, name: str, default: float) -> float:
        value = self.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise self._refuse(name, "a number above zero", value)
        return float(value)

    def whole(self, name: str, default: int, among: range) -> int:
        value = self.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value not in among:
            raise self._refuse(name, f"a whole number of {among.start} to {among.stop - 1}", value)
        return value

    def one_of(self, name: str, default: str | None, known: tuple[str, ...]) -> Any:
        value = self.get(name, default)
        if value not in known:
            raise self._refuse(name, f"one of {listing(known)}", value)
        return value

    def duration(self, name: str, default: str) -> pd.Timedelta:
        value = self.get(name, default)
        try:
            length = pd.Timedelta(value if isinstance(value, str) else "")
            if not pd.Timedelta(0) <= length <= pd.Timedelta(days=30):
                raise ValueError
        except ValueError:
            raise self._refuse(name, 'a time such as "10min", at most 30 days', value) from None
        return length
