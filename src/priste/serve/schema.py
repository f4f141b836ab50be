"""The tables of the gateway's database, and how older ones become these."""

from priste.errors import GatewayError
from priste.serve.database import Database

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE tokens (
            id TEXT PRIMARY KEY, person TEXT NOT NULL, role TEXT NOT NULL, label TEXT NOT NULL,
            hash TEXT NOT NULL, created TEXT NOT NULL, revoked TEXT
        )
        """,
        """
        CREATE TABLE streams (
            id BIGINT PRIMARY KEY, person TEXT NOT NULL, step BIGINT NOT NULL, ended TEXT
        )
        """,
        """
        CREATE TABLE states (
            stream BIGINT PRIMARY KEY REFERENCES streams (id), step BIGINT NOT NULL,
            content {bytes} NOT NULL
        )
        """,
        """
        CREATE TABLE fixes (
            person TEXT NOT NULL, time BIGINT NOT NULL,
            latitude {real} NOT NULL, longitude {real} NOT NULL, PRIMARY KEY (person, time)
        )
        """,
        """
        CREATE TABLE kept_fixes (
            person TEXT NOT NULL, time BIGINT NOT NULL, sealed {bytes} NOT NULL,
            PRIMARY KEY (person, time)
        )
        """,
        """
        CREATE TABLE releases (
            stream BIGINT NOT NULL REFERENCES streams (id), step BIGINT NOT NULL,
            cell BIGINT NOT NULL, tickets {bytes}, PRIMARY KEY (stream, step)
        )
        """,
        """
        CREATE TABLE outbox (
            stream BIGINT NOT NULL REFERENCES streams (id), step BIGINT NOT NULL,
            receiver TEXT NOT NULL, cell BIGINT NOT NULL, body {bytes},
            attempts BIGINT NOT NULL DEFAULT 0, due {real} NOT NULL DEFAULT 0,
            dead BIGINT NOT NULL DEFAULT 0, problem TEXT NOT NULL DEFAULT '',
            PRIMARY KEY (stream, step, receiver)
        )
        """,
        """
        CREATE TABLE certificates (
            stream BIGINT NOT NULL REFERENCES streams (id), number BIGINT NOT NULL,
            first_step BIGINT NOT NULL, stop_step BIGINT NOT NULL, content {bytes} NOT NULL,
            PRIMARY KEY (stream, number)
        )
        """,
    ),
)
"""What makes each version of the tables from the one before."""

_GATEWAY = """
CREATE TABLE IF NOT EXISTS gateway (
    version BIGINT NOT NULL, identity TEXT NOT NULL, ticks BIGINT NOT NULL
)
"""


def migrate(database: Database, identity: str) -> str:
    """Bring the tables to the newest version, whole versions at a time; return the identity.

    `identity` names a database that is new; an older one keeps its own.
    """
    with database.transaction():
        database.execute(_GATEWAY)
        if not database.execute("SELECT version FROM gateway"):
            database.execute("INSERT INTO gateway VALUES (0, ?, 0)", (identity,))
        ((version, found),) = database.execute("SELECT version, identity FROM gateway")
        if version > len(MIGRATIONS):
            raise GatewayError(
                f"the database has version {version} of the tables, and this priste knows "
                f"{len(MIGRATIONS)}; use the priste that wrote it, or a newer one"
            )
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                database.execute(statement)
        database.execute("UPDATE gateway SET version = ?", (len(MIGRATIONS),))
    return str(found)
