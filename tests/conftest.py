import os
import random
from types import SimpleNamespace

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the workers share two cores

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "deterministic",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("deterministic")


@pytest.fixture(autouse=True)
def system_draws(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is drawn without a seed come out the same in every run of a test."""
    chance = random.Random(request.node.nodeid)
    draws = SimpleNamespace(randbits=chance.getrandbits)
    monkeypatch.setattr("priste.randomness.secrets", draws)
