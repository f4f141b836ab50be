"""Beside other programs that do the same work: `python -m benchmarks peers`.

`peers=cplex,scip` measures only those named, `peers=FILE.json` keeps the numbers elsewhere than in
docs/data/peers.json; both may be combined.
"""


def main() -> None:
    from benchmarks.peers.run import main as run  # late: peers import this package without priste

    run()
