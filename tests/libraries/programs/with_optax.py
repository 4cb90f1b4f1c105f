"""optax: a small network trained by several optimizers, with a schedule, clipping and masks."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(0)
inputs = jnp.asarray(rng.normal(size=(64, 8)), jnp.float32)
labels = jnp.asarray(rng.integers(0, 3, size=64))
start = {
    "hidden": {"w": jnp.asarray(rng.normal(size=(8, 16)) / 3, jnp.float32), "b": jnp.zeros(16)},
    "out": {"w": jnp.asarray(rng.normal(size=(16, 3)) / 4, jnp.float32), "b": jnp.zeros(3)},
}


def loss_of(params):
    hidden = jax.nn.gelu(inputs @ params["hidden"]["w"] + params["hidden"]["b"])
    logits = hidden @ params["out"]["w"] + params["out"]["b"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train(optimizer, steps=30):
    @jax.jit
    def step(params, state):
        loss, grads = jax.value_and_grad(loss_of)(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    params, state, losses = start, optimizer.init(start), []
    for _ in range(steps):
        params, state, loss = step(params, state)
        losses.append(loss)
    return np.stack(losses)


def train_by_line_search(steps=10):
    optimizer = optax.lbfgs()
    value_and_grad = optax.value_and_grad_from_state(loss_of)

    @jax.jit
    def step(params, state):
        value, grad = value_and_grad(params, state=state)
        updates, state = optimizer.update(
            grad, state, params, value=value, grad=grad, value_fn=loss_of
        )
        return optax.apply_updates(params, updates), state, value

    params, state, losses = start, optimizer.init(start), []
    for _ in range(steps):
        params, state, loss = step(params, state)
        losses.append(loss)
    return np.stack(losses)


schedule = optax.warmup_cosine_decay_schedule(0.0, 0.05, 5, 30)
np.savez(
    sys.argv[1],
    sgd=train(optax.sgd(0.1, momentum=0.9, nesterov=True)),
    adamw=train(optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule))),
    lion=train(optax.lion(1e-3)),
    accumulated=train(optax.MultiSteps(optax.rmsprop(0.01), 3)),
    lbfgs=train_by_line_search(),
    schedule=jax.vmap(schedule)(jnp.arange(30)),
)
