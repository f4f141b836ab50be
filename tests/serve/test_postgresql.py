from dataclasses import replace
from pathlib import Path

import pytest

from priste.errors import GatewayError
from priste.serve.gateway import Gateway
from tests.serve.rig import HOUR, Rig, Watch, at, live, written
from tests.serve.servers import postgresql


def test_everything_works_on_a_database_server(tmp_path: Path) -> None:
    watch = Watch()

    async def first(rig: Rig) -> None:
        for _ in range(20):  # past midnight
            now = rig.watch.moment.ceil("1h")
            await rig.gateway.take("ada", [at(now, 12), at(now, 3)])
            await rig.gateway.take("bob", [at(now, 3)])
            rig.watch.moment = now + HOUR
            await rig.end_steps()
        assert list(rig.gateway.store.cells(1)) == list(range(20))
        assert [row[1:] for row in rig.gateway.store.certificates("ada")] == [(1, 0, 16)]
        token = rig.gateway.tokens.make("ada", "send")
        assert rig.gateway.tokens.bearer(token) is not None
        assert len(rig.gateway.store.kept_fixes("bob")) == 20
        accounts.append(rig.account("ada"))
        with pytest.raises(GatewayError, match="another gateway holds the database"):
            Gateway(rig.gateway.config, rig.receivers)

    async def second(rig: Rig) -> None:
        accounts.append(rig.account("ada"))

    accounts: list[object] = []
    with postgresql(tmp_path) as address:
        config = replace(written(tmp_path), database=address)
        received = live(config, first, watch=watch)
        live(config, second, watch=watch)
        assert len(received.got["http://127.0.0.1:1/log"]) == 20
        assert str(accounts[0]) == str(accounts[1])
        (tmp_path / "gateway.seen").write_text('{"database": "another", "ticks": 1}')
        with pytest.raises(GatewayError, match="not the database that was used here last"):
            live(config, second, watch=watch)
