"""Run all benchmarks, or those named: `python -m benchmarks stream events`."""

import importlib
import sys

ALL = [
    "worst_case",
    "stream",
    "events",
    "every_output",
    "endless",
    "held_out",
    "whereabouts",
    "whole_stream",
    "sets",
    "belief_sets",
    "tracks",
    "optimal",
    "large_maps",
    "many",
    "utility",
    "spending",
    "geolife",
    "studio",
    "scaling",
    "peers",
]

for word in sys.argv[1:] or ALL:
    name = word.partition("=")[0]  # what follows is for the benchmark itself
    importlib.import_module(f"benchmarks.{name}").main()
