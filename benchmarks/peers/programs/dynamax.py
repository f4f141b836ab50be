"""dynamax: its filter, compiled, in double precision; for every belief mapped over the starts."""

from typing import Any

import jax
import jax.numpy as jnp
from dynamax.hidden_markov_model import hmm_filter

PACKAGE = "dynamax"
jax.config.update("jax_enable_x64", True)


def works(given: Any) -> Any:
    lifted, logs = jnp.asarray(given["lifted"]), jnp.log(jnp.asarray(given["likelihoods"]))

    def forward(start: Any) -> Any:
        filtered = hmm_filter(start, lifted, logs)
        worlds = filtered.filtered_probs[-1].reshape(2, -1).sum(axis=1)
        return filtered.marginal_loglik + jnp.log(worlds)

    many = jax.jit(jax.vmap(forward, out_axes=1))
    one, every = jnp.asarray(given["one"]), jnp.asarray(given["every"])
    for starts in (one, every):  # compiled here
        many(starts).block_until_ready()
    return {
        "one": lambda: many(one).block_until_ready(),
        "every": lambda: many(every).block_until_ready(),
    }
