"""Storm: bounded reachability, from every state at once, on chains built beforehand."""

from typing import Any

import numpy as np
import stormpy
from stormpy import datastructures, models

PACKAGE = "stormpy"


def chain(transition: Any, goal: Any) -> Any:
    """Return the Markov chain whose `goal` states are labelled so."""
    labels = models.StateLabeling(len(transition))
    for label in ("init", "goal"):
        labels.add_label(label)
    labels.add_label_to_state("init", 0)
    for state in np.flatnonzero(goal).tolist():
        labels.add_label_to_state("goal", state)
    matrix = datastructures.build_sparse_matrix(transition)
    return models.SparseDtmc(models.SparseModelComponents(matrix, labels))


def works(given: Any) -> Any:
    first, last = given["window"].tolist()
    cells = chain(given["transition"], given["region"])
    product = chain(given["product"], given["twice"])
    presence = stormpy.parse_property(f'P=? [F[{first},{last}] "goal"]')
    twice = stormpy.parse_property(f'P=? [F<={last} "goal"]')

    def chances(model: Any, question: Any) -> Any:
        return np.array(stormpy.model_checking(model, question).get_value_vector())

    return {
        "presence": lambda: chances(cells, presence),
        "twice": lambda: chances(product, twice)[given["starts"]],
    }
