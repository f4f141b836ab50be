"""The table of verification.md, from data/verification.json.

`python -m verification keep=docs/data/verification.json` makes that file.
"""

import json
from pathlib import Path

FILE = Path(__file__).parent / "data" / "verification.json"
WORDS = {True: "agrees", False: "**does not**", None: "not checked"}


def verification_lines() -> list[str]:
    """Return a row per finding, and the processor time of each check."""
    kept = json.loads(FILE.read_text())
    lines = ["| check | compared with | found | |", "|---|---|---|---|"]
    for name, report in kept.items():
        for what, numbers, passed in report["findings"]:
            lines.append(f"| `{name}` | {what} | {numbers} | {WORDS[passed]} |")
    spent = ", ".join(f"`{name}` {report['seconds']:.0f} s" for name, report in kept.items())
    return [*lines, "", f"Processor time: {spent}."]
