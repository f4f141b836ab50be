"""Run all checks, or those named: `python -m verification sampler remap`.

`keep=FILE.json` keeps what was found. The exit status is 1 if anything failed.
"""

import json
import sys
from pathlib import Path

from verification import CHECKS
from verification.report import Finding, Report, run

WORDS = {True: "agrees ", False: "FAILED ", None: "not checked"}


def main(words: list[str]) -> int:
    """Run checks and return the exit status."""
    names = [word for word in words if not word.startswith("keep=")]
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        print(f"there is no check {unknown[0]!r}; there are {', '.join(CHECKS)}")
        return 2
    reports = {}
    for name in names or CHECKS:
        print(f"\n{name}", flush=True)
        reports[name] = run(name)
        show(reports[name])
    for file in (word.partition("=")[2] for word in words if word.startswith("keep=")):
        kept = {name: report._asdict() for name, report in reports.items()}
        Path(file).write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    findings = [finding for report in reports.values() for finding in report.findings]
    return int(summary(findings))


def show(report: Report) -> None:
    """Print what a check found."""
    print(f"  {report.statement}")
    for what, numbers, passed in report.findings:
        print(f"  {WORDS[passed]}  {what}: {numbers}")
    print(f"  {report.seconds:.0f} s", flush=True)


def summary(findings: list[Finding]) -> bool:
    """Print the outcome; tell whether anything failed."""
    count = {passed: sum(f.passed is passed for f in findings) for passed in WORDS}
    print(f"\n{count[True]} agree, {count[False]} failed, {count[None]} could not be checked here")
    return count[False] > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
