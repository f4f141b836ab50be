"""The tables of benchmarks.md, from what `python -m benchmarks peers` keeps in data/peers.json."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "data" / "peers.json"
Results = dict[str, Any]


def blocks(results: Results | None = None) -> dict[str, list[str]]:
    """Return the lines of each block of the page by the name of its marks."""
    found: Results = json.loads(FILE.read_text()) if results is None else results
    speeds = {
        comparison: list(speed_lines(found, comparison))
        for comparison in ("worst_case", "forward", "event_prior", "laplace")
    }
    return {"peers": list(peer_lines(found)), **speeds, "laws": list(law_lines(found))}


def peer_lines(results: Results) -> Iterator[str]:
    """Who was measured, in which version, and who could not be."""
    ground, versions = results["machine"], results["versions"]
    shown = ", ".join(f"{name} {version}" for name, version in versions.items())
    yield (
        f"{ground['processor']}, {ground['cores']} cores, {ground['memory_gb']} GB, "
        f"{ground['system']}; {shown}."
    )
    yield from ("", "| peer | what | version | measured | remark |", "|---|---|---|---|---|")
    for name, peer in results["peers"].items():
        remark = peer["remark"]
        if "unavailable" in peer:
            remark = f"**not measured:** {peer['unavailable']}"
        version = peer.get("version", "–")
        yield f"| {name} | {peer['what']} | {version} | {peer['date']} | {_plain(remark)} |"


def speed_lines(results: Results, comparison: str) -> Iterator[str]:
    """The rows of one comparison; getting ready is not part of anybody's time."""
    yield "| peer | work | values | ours | theirs | theirs over ours (smallest to largest) |"
    yield "|---|---|---|---|---|---|"
    peers = {n: p for n, p in results["peers"].items() if p["comparison"] == comparison}
    for name, peer in peers.items():
        if "unavailable" in peer:
            yield f"| {name} | not measured: {_plain(peer['unavailable'])} | – | – | – | – |"
        for row in peer.get("rows", []):
            times = "– | – | –"
            if "ratio" in row:
                ratio = row["ratio"]
                low, middle, high = (_number(ratio[k]) for k in ("min", "median", "max"))
                least = "at least " if row["at_least"] else ""
                ours, theirs = (_time(row[k]["median"]) for k in ("ours", "theirs"))
                times = f"{ours} | {theirs} | {least}**{middle}** ({low} to {high})"
            yield f"| {name} | {row['work']} | {_plain(row['agreement'])} | {times} |"
    slow = {n: p["ready"] for n, p in peers.items() if p.get("ready", 0) > 0.05}
    if slow:
        shown = ", ".join(f"{name} {_time(seconds)}" for name, seconds in slow.items())
        yield from ("", f"Getting ready, once and not counted: {shown}.")


def law_lines(results: Results) -> Iterator[str]:
    """What the noise is like: as draws, and as matrices."""
    laws = [law for peer in results["peers"].values() for law in peer.get("laws", [])]
    draws = {law["who"]: law for law in laws if "isotropy" in law}
    matrices = {law["who"]: law for law in laws if "rows" in law}
    yield "| draws of | strongest direction over weakest | radius off its law by |"
    yield "|---|---|---|"
    for who, law in draws.items():
        yield f"| {who} | {law['isotropy']:.3f} | {law['radius']:.4f} |"
    for law in list(draws.values())[:1]:
        uneven, off = law["isotropy_by_chance"], law["radius_by_chance"]
        yield f"| *by chance, at most* | {uneven:.3f} | {off:.4f} |"
    yield ""
    yield (
        "| matrix of | row sums off by | one coordinate off its law by "
        "| beyond e^(budget · distance) by | there the output has probability |"
    )
    yield "|---|---|---|---|---|"
    for who, law in matrices.items():
        coordinate = "another law" if law["coordinate"] is None else f"{law['coordinate']:.0e}"
        beyond = "nothing | –"
        if law["beyond"] > 1e-9:
            beyond = f"a factor {_number(math.exp(law['beyond']))} | {law['beyond_at']:.0e}"
        yield f"| {who} | {law['rows']:.0e} | {coordinate} | {beyond} |"


def _plain(text: str) -> str:
    return text.replace("|", "/")


def _number(value: float) -> str:
    """Two digits, with commas where there are many."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def _time(seconds: float) -> str:
    units = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
    unit = next((unit for unit, size in units.items() if seconds >= size), "µs")
    return f"{float(f'{seconds / units[unit]:.2g}'):g} {unit}"
