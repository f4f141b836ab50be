"""One program per peer, run in the peer's own environment: numpy and the peer, nothing else."""
