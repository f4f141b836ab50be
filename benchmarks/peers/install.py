"""An environment of its own for each peer: what they depend on does not go together."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.peers.roster import Peer

ENVIRONMENTS = Path(__file__).parents[2] / ".venv" / "peers"


class Unavailable(Exception):
    """The peer cannot be used here; the message says why."""


def python_of(peer: Peer, environments: Path = ENVIRONMENTS) -> Path:
    """Return the interpreter of the peer's environment, which is made if it is not there yet."""
    folder = environments / peer.name
    python, ready = folder / "bin" / "python", folder / "ready"
    if ready.exists() and ready.read_text() == repr(peer.installs):
        return python
    try:
        _do(sys.executable, "-m", "venv", "--clear", str(folder))
        for packages in peer.installs:
            quietly = ("install", "--disable-pip-version-check", "--no-input")
            _do(str(python), "-m", "pip", *quietly, *packages)
    except Unavailable:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    ready.write_text(repr(peer.installs))
    return python


def _do(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Unavailable(reason(done.stdout + done.stderr))


def reason(output: str) -> str:
    """Return the last line that says something, without paths and addresses of this machine."""
    lines = [line.strip() for line in output.splitlines()]
    lines = [line for line in lines if line and not re.match(r"WARNING|\[?notice|hint:", line)]
    errors = [line for line in lines if re.match(r"(\w|\.)*(ERROR|Error|error)\b", line)]
    said = (errors or lines or ["it ended without a word"])[-1]
    said = re.sub(r"\w+://\S+|host='[^']*'(, port=\d+)?", "(address)", said)
    return re.sub(r"(?<![\w.)])(~|[A-Za-z]:)?([\\/][^\s:'\",()]+)+", "(path)", said)
