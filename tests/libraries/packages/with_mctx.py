"""mctx: Monte Carlo tree search, with MuZero's and Gumbel MuZero's policies."""

import functools
import sys

import jax
import jax.numpy as jnp
import mctx
import numpy as np

key = jax.random.PRNGKey(0)
batch, actions, width = 3, 4, 5
weights = jax.random.normal(key, (width, actions))
moves = jax.random.normal(jax.random.PRNGKey(1), (actions, width, width)) / 3


def recurrent(params, rng, action, embedding):
    embedding = jnp.tanh(jax.vmap(lambda a, e: moves[a] @ e)(action, embedding))
    output = mctx.RecurrentFnOutput(
        reward=embedding.sum(-1), discount=jnp.full(batch, 0.9),
        prior_logits=embedding @ weights, value=embedding[:, 0],
    )  # fmt: skip
    return output, embedding


embedding = jax.random.normal(jax.random.PRNGKey(2), (batch, width))
root = mctx.RootFnOutput(
    prior_logits=embedding @ weights, value=embedding[:, 0], embedding=embedding
)
results = {}
for name, policy in {"muzero": mctx.muzero_policy, "gumbel": mctx.gumbel_muzero_policy}.items():
    search = functools.partial(policy, (), key, recurrent_fn=recurrent, num_simulations=12)
    found = jax.jit(lambda root, search=search: search(root=root))(root)
    results[f"{name}_action"] = found.action
    results[f"{name}_weights"] = found.action_weights
    results[f"{name}_visits"] = found.search_tree.node_visits
np.savez(sys.argv[1], **results)
