"""The map and the curves of a page, put into it whole, so that it asks nobody for anything."""

import base64
import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

STYLES = ("vendor/leaflet.css", "vendor/uplot.css", "views.css")
SCRIPTS = ("vendor/leaflet.js", "vendor/uplot.js", "views.js")

FOLDER = Path(str(files("priste.report"))) / "web"
"""Where the parts of the component lie."""


def head_with(start: str) -> str:
    """Return what goes into the head of a page: styles, scripts, and what they may do.

    `start` is what runs when the page is there.
    """
    styles = "".join(f"<style>{_part(name)}</style>" for name in STYLES)
    ready = f'addEventListener("DOMContentLoaded",()=>{{{start}}})'
    scripts = [*(_part(name) for name in SCRIPTS), ready]
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    rules = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return rules + styles + "".join(f"<script>{script}</script>" for script in scripts)


def data(name: str, value: Any) -> str:
    """Return plain values as a part of a page, which scripts find by name."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _part(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
