"""Messages of the library in the command's own words."""

import re

_PAIRS = re.compile(r"columns=\{([^}]*)\}")
_PAIR = re.compile(r"'(\w+)': *('?)([^,'}]*)\2")
_ARGUMENT = re.compile(r"\b(time_zone|time_format|smoothing|order|step)=('[^']*'|[\w.]+)")
_BESIDE = re.compile(r" \(\w+=True\)")  # an argument beside its option


def in_options(message: str) -> str:
    """Return a message that names arguments of Python with the options that set them instead."""
    message = _PAIRS.sub(lambda found: _columns(found[1]), message)
    message = _BESIDE.sub("", message)
    return _ARGUMENT.sub(lambda found: _option(found[1], found[2]), message)


def _columns(pairs: str) -> str:
    return " ".join(
        f"--column {ours}={'NAME' if theirs == '...' else theirs}"
        for ours, _, theirs in _PAIR.findall(pairs)
    )


def _option(name: str, value: str) -> str:
    bare = value.strip("'")
    return f"--{name.replace('_', '-')} {bare if ' ' not in bare else value}"
