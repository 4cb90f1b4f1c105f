"""equinox: a network of layers trained with filter_jit and filter_grad; checked at run time."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax


class Network(eqx.Module):
    layers: list
    norm: eqx.nn.LayerNorm
    scale: jax.Array
    activation: object = eqx.field(static=True)

    def __init__(self, key):
        keys = jax.random.split(key, 3)
        self.layers = [eqx.nn.Linear(4, 16, key=keys[0]), eqx.nn.MLP(16, 2, 8, 2, key=keys[1])]
        self.norm = eqx.nn.LayerNorm(16)
        self.scale = jnp.ones(())
        self.activation = jax.nn.silu

    def __call__(self, x):
        hidden = self.norm(self.activation(self.layers[0](x)))
        return self.scale * self.layers[1](hidden)


rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(32, 4)), jnp.float32)
y = jnp.asarray(rng.normal(size=(32, 2)), jnp.float32)
model = Network(jax.random.PRNGKey(0))
optimizer = optax.adam(1e-2)
opt_state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))


@eqx.filter_jit
def step(model, opt_state):
    loss, grads = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(x) - y) ** 2))(model)
    updates, opt_state = optimizer.update(grads, opt_state)
    return eqx.apply_updates(model, updates), opt_state, loss


losses = []
for _ in range(20):
    model, opt_state, loss = step(model, opt_state)
    losses.append(loss)


@eqx.filter_jit
def positive(x):
    return eqx.error_if(jnp.sqrt(x), x < 0, "x must not be negative")


try:
    positive(jnp.float32(-1.0))
    raised = False
except eqx.EquinoxRuntimeError as error:
    raised = "must not be negative" in str(error)

_, tangent = eqx.filter_jvp(lambda s, x: model(s * x), (model.scale, x[0]), (2.0, x[1]))
loop_gradient = jax.grad(
    lambda x: eqx.internal.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.sin(c[1])), (0, x),
        max_steps=8, kind="checkpointed",
    )[1]
)(0.3)  # fmt: skip
not_inlined = eqx.internal.noinline(lambda m, x: jnp.tanh(m(x)))
called = eqx.filter_jit(lambda m, x: jax.vmap(not_inlined, in_axes=(None, 0))(m, x))(model, x)
called_gradient = jax.jit(jax.grad(lambda x: not_inlined(model, x).sum()))(x[0])
np.savez(
    sys.argv[1],
    losses=np.stack(losses),
    outputs=jax.vmap(model)(x),
    sqrt=positive(jnp.float32(2.0)),
    raised=raised,
    tangent=tangent,
    called=called,
    called_gradient=called_gradient,
    loop_gradient=loop_gradient,
)
