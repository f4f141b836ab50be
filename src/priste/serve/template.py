"""The configuration that `priste serve --init` writes, to be filled in."""

_TEMPLATE = """\
# The configuration of a gateway. Paths are beside this file. Keep it to yourself: it holds secrets.

[server]
host = "127.0.0.1"        # behind a reverse proxy that speaks TLS; "0.0.0.0" for every network
port = 8470
database = "gateway.db"   # or "postgresql://user:password@host/name"
workers = 1               # processes that plan; one core each
log = "text"              # or "json"
# key_file = "gateway.key"   # needed for keep_fixes; made if it is not there. Back it up elsewhere

# [mqtt]                  # only if phones or receivers are at a broker
# host = "localhost"
# port = 1883
# username = "priste"
# password = "…"
# tls = false

[persons.{person}]
model = "habits.npz"      # from: priste fit TRACKS --out habits.npz
events = "secrets.toml"   # what nobody should learn, each with its epsilon
budget = 1.0              # of the noise under everything, per km: 1 is about 2 km, 5 about 0.4 km
adversary = "near"        # known, near or any: what an observer may believe about the start
lag = "0s"                # how long to wait for late fixes; the same for every step
silence = "skip"          # "repeat" sends the last place again when the phone was silent
keep_fixes = false        # keep true fixes, encrypted, to learn habits from later
# owntracks_key = "…"     # if the phone encrypts
# owntracks_topic = "owntracks/{person}/phone"   # if the phone is at the broker

# Who receives the protected stream. Each gets the same releases.

# [persons.{person}.receivers.home_assistant]
# kind = "owntracks"
# url = "http://homeassistant.local:8123/api/webhook/ID"
# headers = {{ "X-Limit-U" = "{person}", "X-Limit-D" = "priste" }}

# [persons.{person}.receivers.dawarich]
# kind = "overland"
# url = "http://dawarich.local:3000/api/v1/overland/batches?api_key=KEY"

# [persons.{person}.receivers.mine]
# kind = "webhook"
# url = "http://localhost:9000/"

# [persons.{person}.receivers.broker]
# kind = "mqtt"
# topic = "owntracks/{person}/priste"
"""


def template(person: str) -> str:
    """Return a configuration for one person."""
    return _TEMPLATE.format(person=person)
