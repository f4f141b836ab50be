"""Fences of `math` become MathML when the site is built: browsers draw it, no script is needed."""

from typing import Any

from latex2mathml.converter import convert


def on_config(config: Any) -> None:
    """Register the fence; mkdocs calls this (see `hooks` in mkdocs.yml)."""
    fences = config["mdx_configs"].setdefault("pymdownx.superfences", {})
    fences["custom_fences"] = [{"name": "math", "class": "math", "format": _mathml}]


def _mathml(source: str, *_: object, **__: object) -> str:
    lines = [line for line in source.splitlines() if line.strip()]
    return "\n".join(convert(line, display="block") for line in lines)
