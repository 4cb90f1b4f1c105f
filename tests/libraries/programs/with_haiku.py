"""dm-haiku: a convolutional network with batch norm and dropout, and an LSTM, trained by SGD."""

import sys

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(0)
images = jnp.asarray(rng.normal(size=(8, 8, 8, 1)), jnp.float32)
labels = jnp.asarray(rng.integers(0, 3, size=8))
words = jnp.asarray(rng.integers(0, 7, size=(6, 4)))


def network(x, is_training):
    x = hk.Conv2D(4, 3, with_bias=False)(x)
    x = hk.BatchNorm(True, True, 0.9)(x, is_training)
    x = hk.max_pool(jax.nn.relu(x), 2, 2, "VALID")
    if is_training:
        x = hk.dropout(hk.next_rng_key(), 0.2, x)
    return hk.Sequential([hk.Flatten(), hk.Linear(16), jnp.tanh, hk.Linear(3)])(x)


def language_model(words):
    core = hk.LSTM(8)
    state = core.initial_state(words.shape[1])
    hidden, _ = hk.dynamic_unroll(core, hk.Embed(7, 5)(words), state)
    return hk.BatchApply(hk.Linear(7))(hidden)


net = hk.transform_with_state(network)
params, state = net.init(jax.random.key(0), images, True)
optimizer = optax.adam(0.01)


@jax.jit
def step(params, state, opt_state, key):
    def loss_of(params):
        logits, new_state = net.apply(params, state, key, images, True)
        loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
        return loss, new_state

    (loss, state), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), state, opt_state, loss


losses, opt_state = [], optimizer.init(params)
for i in range(10):
    params, state, opt_state, loss = step(params, state, opt_state, jax.random.key(i))
    losses.append(loss)
logits, _ = net.apply(params, state, None, images, False)

model = hk.without_apply_rng(hk.transform(language_model))
weights = model.init(jax.random.key(1), words)
np.savez(
    sys.argv[1],
    losses=np.stack(losses),
    logits=logits,
    next_words=jax.jit(model.apply)(weights, words),
    n_params=hk.data_structures.tree_size(weights),
)
