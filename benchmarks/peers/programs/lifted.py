"""The paper's lifted chain in plain numpy: one matrix product a step, rescaled as it goes."""

from typing import Any

import numpy as np

PACKAGE = "numpy"


def forward(start: Any, lifted: Any, likelihoods: Any) -> Any:
    """Return the logarithms of Pr(releases, ¬E) and Pr(releases, E), per row of `start`."""
    weights, logs = start * likelihoods[0], np.zeros(len(start))
    for likelihood in likelihoods[1:]:
        total = weights.sum(axis=1)
        logs += np.log(total)
        weights = (weights / total[:, None]) @ lifted * likelihood
    worlds = weights.reshape(len(start), 2, -1).sum(axis=2)
    with np.errstate(divide="ignore"):  # who starts in the region cannot avoid it
        return (np.log(worlds) + logs[:, None]).T


def works(given: Any) -> Any:
    chain = given["lifted"], given["likelihoods"]
    return {
        "one": lambda: forward(given["one"], *chain),
        "every": lambda: forward(given["every"], *chain),
    }
