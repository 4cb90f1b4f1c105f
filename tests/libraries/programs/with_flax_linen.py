"""flax.linen: convolutions with batch norm, attention and an LSTM, trained with a TrainState."""

import sys

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state

rng = np.random.default_rng(0)
images = jnp.asarray(rng.normal(size=(8, 8, 8, 1)), jnp.float32)
labels = jnp.asarray(rng.integers(0, 3, size=8))
sequences = jnp.asarray(rng.normal(size=(2, 5, 8)), jnp.float32)


class Network(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Conv(4, (3, 3), use_bias=False)(x)
        x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)
        x = nn.avg_pool(nn.relu(x), (2, 2), (2, 2)).reshape(len(x), -1)
        x = nn.Dropout(0.2, deterministic=not train)(x)
        return nn.Dense(3)(nn.gelu(nn.Dense(16)(x)))


class Layered(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.LayerNorm()(x + nn.MultiHeadDotProductAttention(num_heads=2)(x, x))
        x = nn.RNN(nn.LSTMCell(8))(x)
        blocks = nn.scan(
            lambda module, carry, _: (nn.tanh(module(carry)), None),
            variable_axes={"params": 0}, split_rngs={"params": True}, length=3,
        )  # fmt: skip
        return blocks(nn.Dense(8), x, None)[0]


class State(train_state.TrainState):
    batch_stats: dict


net = Network()
variables = net.init(jax.random.key(0), images, train=False)
state = State.create(
    apply_fn=net.apply, params=variables["params"], batch_stats=variables["batch_stats"],
    tx=optax.adamw(0.01),
)  # fmt: skip


@jax.jit
def step(state, key):
    def loss_of(params):
        logits, changes = state.apply_fn(
            {"params": params, "batch_stats": state.batch_stats}, images, train=True,
            rngs={"dropout": key}, mutable=["batch_stats"],
        )  # fmt: skip
        loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
        return loss, changes

    (loss, changes), grads = jax.value_and_grad(loss_of, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads, batch_stats=changes["batch_stats"]), loss


losses = []
for i in range(10):
    state, loss = step(state, jax.random.key(i))
    losses.append(loss)

layered = Layered()
weights = jax.jit(layered.init)(jax.random.key(1), sequences)
np.savez(
    sys.argv[1],
    losses=np.stack(losses),
    mean=state.batch_stats["BatchNorm_0"]["mean"],
    outputs=layered.apply(weights, sequences),
    gradient=jax.tree.leaves(
        jax.jit(jax.grad(lambda w: jnp.sum(layered.apply(w, sequences) ** 2)))(weights)
    )[0],
    shapes=str(jax.tree.map(jnp.shape, weights)),
)
