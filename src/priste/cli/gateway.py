"""`priste serve` and `priste token`: the gateway, and who may speak with it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priste.checks import listing
from priste.cli.console import Interrupted, note, say
from priste.cli.options import refuse_existing
from priste.errors import GatewayError
from priste.extras import needs_extra
from priste.storage.atomic_files import atomic_file
from priste.tracks.files import write_as

if TYPE_CHECKING:
    from priste.serve.config import Config
    from priste.serve.tokens import Role, Tokens

ConfigFile = Annotated[
    Path, typer.Option("--config", "-c", help="The gateway's configuration, a TOML file.")
]
CONFIG = Path("gateway.toml")

ROLES: dict["Role", str] = {
    "send": "for the phone",
    "read": "to fetch the released stream",
    "admin": "to look after the stream",
}

token = typer.Typer(
    help="Make, list and revoke tokens of the gateway.", no_args_is_help=True, add_completion=False
)


def serve(
    config: ConfigFile = CONFIG,
    init: Annotated[
        bool, typer.Option("--init", help="Write a configuration to fill in, and the first tokens.")
    ] = False,
    person: Annotated[str, typer.Option(help="With --init: what the person is called.")] = "me",
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Run a day of a simulated phone through a gateway, and end."),
    ] = False,
    begin_anew: Annotated[
        bool,
        typer.Option(
            "--begin-anew",
            help="End all streams and begin new ones: after a backup was restored, or with a new "
            "model.",
        ),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Read the configuration and what it names, and end.")
    ] = False,
) -> None:
    """Stand between a phone and its receivers: fixes in, a protected stream out, live."""
    with needs_extra("the gateway", "serve"):
        from priste.serve import logs
        from priste.serve.checking import checked
        from priste.serve.config import read_config
        from priste.serve.demo import tell
        from priste.serve.server import serve as run
    if demo:
        tell(say)
        return
    if init:
        _init(config, person)
        return
    settings = read_config(config)
    for remark in checked(settings, beginning=check):
        note(remark)
    if check:
        say(f"{config} is fine. People: {listing([*settings.persons])}")
        return
    logs.set_up(settings.log)
    try:
        asyncio.run(run(settings, begin_anew=begin_anew))
    except Interrupted:  # how a gateway is meant to end
        note("the gateway has ended; what was taken is kept")


def _init(path: Path, person: str) -> None:
    from priste.serve.config import check_name
    from priste.serve.template import template

    check_name(person, person)
    if path.exists():
        raise GatewayError(f"{path} already exists; move it away, or name another with --config")
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path, private=True) as partial:
        partial.write_text(template(person), encoding="utf-8")
    say(f"Wrote {path}. See that it names the model and the events file of {person}, then:")
    say("  priste serve --check\n  priste serve")
    say("\nTokens, shown this once:\n")
    with _opened(path) as (_, tokens):
        for role, use in ROLES.items():
            say(f"  {role:6} {tokens.make(person, role)}  ({use})")


@contextmanager
def _opened(config: Path) -> Iterator[tuple["Config", "Tokens"]]:
    """Give a gateway's configuration and its tokens."""
    with needs_extra("the gateway", "serve"):
        from priste.serve.config import read_config
        from priste.serve.tokens import open_tokens
    settings = read_config(config)
    with open_tokens(settings.database) as tokens:
        yield settings, tokens


@token.command("add")
def add_token(
    person: Annotated[str, typer.Argument(help="Whose stream it is for.")],
    role: Annotated[str, typer.Argument(help="send, read or admin.")],
    label: Annotated[str, typer.Option(help="A word to know it by, such as the device.")] = "",
    config: ConfigFile = CONFIG,
) -> None:
    """Make a token; it is shown once."""
    with _opened(config) as (settings, tokens):
        if person not in settings.persons:
            raise GatewayError(f"{config} has no person {person!r}")
        say(tokens.make(person, role, label))  # type: ignore[arg-type]
    note("It is shown this once. priste token list shows its number, to revoke it by.")


@token.command("list")
def list_tokens(config: ConfigFile = CONFIG) -> None:
    """List all tokens, without what they are."""
    with _opened(config) as (_, tokens):
        for row in tokens.rows():
            state = f"revoked {row.revoked}" if row.revoked else f"made {row.created}"
            say(f"{row.id}  {row.person}  {row.role:5}  {state}  {row.label}")


@token.command("revoke")
def revoke_token(
    number: Annotated[str, typer.Argument(help="Its number, as priste token list shows it.")],
    config: ConfigFile = CONFIG,
) -> None:
    """Make a token good for nothing, at once."""
    with _opened(config) as (_, tokens):
        tokens.revoke(number)
    say(f"{number} is revoked")


def kept_fixes(
    person: Annotated[str, typer.Argument(help="Whose fixes.")],
    out: Annotated[Path, typer.Option(help="Where to write them: .csv, .gpx, .parquet, …")],
    config: ConfigFile = CONFIG,
) -> None:
    """Write the true fixes that the gateway keeps for a person, to fit a model to."""
    with needs_extra("the gateway", "serve"):
        from priste.serve.config import read_config
        from priste.serve.kept import kept_table
    refuse_existing([out], force=False)
    table = kept_table(read_config(config), person)
    with atomic_file(out, private=True) as partial:
        write_as(table, partial, out.suffix)
    say(f"Wrote {len(table)} fixes to {out}. They are private.")
