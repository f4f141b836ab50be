from pathlib import Path

import pandas as pd
import pytest

from priste.errors import GatewayError
from priste.serve.config import Config, read_config

PERSON = '[persons.ada]\nmodel = "m.npz"\nevents = "e.toml"\n'


def read(folder: Path, text: str) -> Config:
    path = folder / "gateway.toml"
    path.write_text(text)
    return read_config(path)


def test_a_person_and_nothing_else_is_enough(tmp_path: Path) -> None:
    config = read(tmp_path, PERSON)
    assert config.database == str(tmp_path / "gateway.db")
    assert (config.host, config.port) == ("127.0.0.1", 8470)
    ada = config.persons["ada"]
    assert (ada.model, ada.lag, ada.silence) == (tmp_path / "m.npz", pd.Timedelta(0), "skip")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the gateway serves nobody; add a table"),
        ("[persons]\n", "the gateway serves nobody"),
        ("[persons.ada]\n", "persons.ada needs model"),
        ('[persons."A b"]\n' + PERSON[14:], "cannot be a name"),
        (PERSON + 'colour = "red"', "persons.ada does not know 'colour'; it knows receivers"),
        (PERSON + "lag = 5", 'persons.ada.lag must be a time such as "10min", at most 30 days'),
        (PERSON + 'lag = "-5s"', "persons.ada.lag must be a time"),
        (PERSON + 'silence = "hide"', "persons.ada.silence must be one of skip, repeat"),
        (PERSON + 'adversary = "me"', "persons.ada.adversary must be one of"),
        (PERSON + "rho = 3", "persons.ada: rho"),
        (PERSON + "keep_fixes = true", "persons.ada.keep_fixes needs server.key_file"),
        (PERSON + "keep_fixes = 1", "persons.ada.keep_fixes must be true or false, got 1"),
        (
            PERSON + 'owntracks_topic = "owntracks/a/b"',
            r"persons.ada uses MQTT; add a table \[mqtt\]",
        ),
        (PERSON + "receivers = 7", "persons.ada.receivers must be tables"),
        (PERSON + "[persons.ada.receivers.x]", "persons.ada.receivers.x needs kind"),
        (PERSON + '[persons.ada.receivers.x]\nkind = "fax"', "must be one of owntracks"),
        (PERSON + '[persons.ada.receivers.x]\nkind = "webhook"\nurl = "ftp://x"', "needs a url"),
        (PERSON + '[persons.ada.receivers.x]\nkind = "mqtt"\ntopic = "a/#"', "needs a topic"),
        ("[server]\nport = 70000\n" + PERSON, "server.port must be a whole number of 0 to 65535"),
        ("[serve]\n" + PERSON, "the file does not know 'serve'; it knows server, mqtt"),
        ("server = 1\n" + PERSON, "server must be a table, got 1"),
        ("[server", "gateway.toml is not TOML"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(GatewayError, match=message):
        read(tmp_path, text)


def test_a_topic_is_one_person_s(tmp_path: Path) -> None:
    topic = 'owntracks_topic = "owntracks/a/b"\n'
    text = PERSON + topic + PERSON.replace("ada", "bob") + topic + '[mqtt]\nhost = "h"\n'
    with pytest.raises(GatewayError, match="persons.bob has the owntracks_topic of persons.ada"):
        read(tmp_path, text)


def test_secrets_do_not_show(tmp_path: Path) -> None:
    text = PERSON + 'owntracks_key = "sesame"\n[persons.ada.receivers.x]\nkind = "webhook"\n'
    text += 'url = "https://x/hook-sesame"\nheaders = { Authorization = "sesame" }\n'
    text += '[mqtt]\nhost = "h"\npassword = "sesame"\n'
    assert "sesame" not in repr(read(tmp_path, text))
    for text in ('[mqtt]\nhost = "h"\npassword = 48151623\n', "owntracks_key = 48151623\n"):
        with pytest.raises(GatewayError, match="must be text, got something else"):
            read(tmp_path, PERSON + text)
