"""Counts for Prometheus. None of them depends on where anybody is."""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)

disable_created_metrics()  # type: ignore[no-untyped-call]  # when something happened first is nobody's business
REGISTRY = CollectorRegistry()

REQUESTS = Counter(
    "priste_requests",
    "Requests, by what they are for and the answer.",
    ["for", "status"],
    registry=REGISTRY,
)
TICKS = Counter("priste_ticks", "Times at which steps ended.", registry=REGISTRY)
STEPS = Counter("priste_steps", "Steps that ended, of all people.", registry=REGISTRY)
DELAY = Histogram(
    "priste_tick_delay_seconds",
    "From the moment at which a step is to be released to its commit.",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600),
    registry=REGISTRY,
)
PLANS = Histogram(
    "priste_plan_seconds",
    "Making the plan of a step, ahead of its end.",
    buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30),
    registry=REGISTRY,
)
LETTERS = Counter(
    "priste_letters",
    "Letters to receivers, by what became of them.",
    ["kind", "outcome"],
    registry=REGISTRY,
)
PERSONS = Gauge("priste_persons", "People whose streams run.", registry=REGISTRY)
