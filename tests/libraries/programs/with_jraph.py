"""jraph: batched and padded graphs, message passing, a graph network trained with optax."""

import sys

import jax
import jax.numpy as jnp
import jraph
import numpy as np
import optax

rng = np.random.default_rng(0)


def graph(n_node, n_edge):
    return jraph.GraphsTuple(
        nodes=rng.normal(size=(n_node, 4)).astype(np.float32),
        edges=rng.normal(size=(n_edge, 2)).astype(np.float32),
        senders=rng.integers(0, n_node, size=n_edge),
        receivers=rng.integers(0, n_node, size=n_edge),
        globals=np.zeros((1, 1), np.float32),
        n_node=np.array([n_node]),
        n_edge=np.array([n_edge]),
    )


batch = jraph.batch([graph(3, 4), graph(5, 7), graph(2, 1)])
batch = jax.tree.map(jnp.asarray, jraph.pad_with_graphs(batch, n_node=16, n_edge=16, n_graph=4))
mask = jraph.get_graph_padding_mask(batch)
labels = jnp.array([0.0, 1.0, 0.0, 0.0])


def matrix(*shape):
    return jnp.asarray(rng.normal(size=shape) / np.sqrt(shape[0]), jnp.float32)


params = {"edges": matrix(11, 8), "nodes": matrix(21, 8), "globals": matrix(17, 1)}


def network(params, batch):
    def layer(name):
        def update(*features):
            inputs = jnp.concatenate(jax.tree.leaves(features), axis=-1)
            return inputs @ params[name]

        return update

    return jraph.GraphNetwork(
        update_edge_fn=lambda *x: jnp.tanh(layer("edges")(*x)),
        update_node_fn=lambda *x: jnp.tanh(layer("nodes")(*x)),
        update_global_fn=layer("globals"),
    )(batch)


optimizer = optax.adam(0.05)


@jax.jit
def step(params, state):
    def loss(params):
        logits = network(params, batch).globals[:, 0]
        return jnp.sum(optax.sigmoid_binary_cross_entropy(logits, labels) * mask) / jnp.sum(mask)

    value, grads = jax.value_and_grad(loss)(params)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state, value


losses, state = [], optimizer.init(params)
for _ in range(10):
    params, state, loss = step(params, state)
    losses.append(loss)

attention = jraph.GAT(
    attention_query_fn=lambda nodes: nodes @ jnp.eye(4, 3),
    attention_logit_fn=lambda s, r, e: jnp.sum(s * r, -1, keepdims=True),
    node_update_fn=None,
)
convolution = jraph.GraphConvolution(lambda nodes: nodes @ jnp.eye(4, 3), add_self_edges=True)
np.savez(
    sys.argv[1],
    losses=np.stack(losses),
    nodes=network(params, batch).nodes,
    convolution=jax.jit(convolution)(batch).nodes,
    attention=attention(batch._replace(edges=None)).nodes,
    softmax=jraph.segment_softmax(batch.edges[:, 0], batch.receivers, 16),
    variance=jraph.segment_variance(batch.edges, batch.receivers, 16),
    parts=np.array([g.nodes.sum() for g in jraph.unbatch(jraph.unpad_with_graphs(batch))]),
)
