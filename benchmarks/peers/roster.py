"""Who the peers are, and what each needs in an environment of its own."""

from typing import NamedTuple


class Peer(NamedTuple):
    """A program to compare with: `programs/NAME.py` runs it."""

    name: str
    what: str
    installs: tuple[tuple[str, ...], ...]
    """What pip is asked for, call by call."""

    remark: str = ""


def _peer(name: str, what: str, *packages: str) -> Peer:
    return Peer(name, what, (packages,))


PEERS = {
    peer.name: peer
    for peer in (
        _peer("cplex", "CPLEX, community edition", "cplex", "numpy"),
        _peer("scip", "SCIP, through PySCIPOpt", "pyscipopt", "numpy"),
        _peer("gurobi", "Gurobi, the licence that comes with pip", "gurobipy", "numpy", "scipy"),
        _peer("lifted", "numpy, the paper's matrices of twice the size", "numpy"),
        _peer("hmmlearn", "hmmlearn, hidden Markov models in C++", "hmmlearn", "numpy"),
        Peer(
            "dynamax",
            "dynamax, state space models in JAX",
            (("dynamax", "jax", "numpy"),),
            "its filter raises small probabilities to a floor of its own, so faint ones come out "
            "too large",
        ),
        _peer("stormpy", "Storm, a probabilistic model checker", "stormpy", "numpy"),
        Peer(
            "privkit",
            "privkit, a toolkit for location privacy",
            (
                ("--no-deps", "privkit"),
                ("matplotlib", "networkx", "numpy", "osmnx", "pandas", "pyproj")
                + ("requests", "scikit-image", "scikit-learn", "scipy"),
            ),
            "installed without its packages for pictures of faces, which are several GB and which "
            "its location mechanisms do not use",
        ),
        _peer("qif", "qif, quantitative information flow in C++", "qif", "numpy"),
    )
}
