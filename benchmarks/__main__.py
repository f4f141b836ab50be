"""Run all benchmarks, or those named: `python -m benchmarks stream events`."""

import importlib
import sys

ALL = ["worst_case", "stream", "events", "every_output"]

for name in sys.argv[1:] or ALL:
    importlib.import_module(f"benchmarks.{name}").main()
