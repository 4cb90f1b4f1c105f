"""e3nn-jax: spherical harmonics, tensor products, and an equivariant network trained on points."""

import sys

import e3nn_jax as e3nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(0)
positions = jnp.asarray(rng.normal(size=(6, 3)), jnp.float32)
targets = jnp.sum(positions**2, axis=1)
senders, receivers = e3nn.radius_graph(positions, 2.5, size=24)
out_irreps = e3nn.Irreps("4x0e + 2x1o")


def network(params, positions):
    ahead = positions[receivers] - positions[senders]
    vectors = e3nn.IrrepsArray("1o", ahead)
    harmonics = e3nn.spherical_harmonics("0e + 1o + 2e", vectors, normalize=True)
    radial = e3nn.bessel(jnp.linalg.norm(ahead + 1e-6, axis=1), 4, 3.0) @ params["radial"]
    messages = e3nn.tensor_product(harmonics, harmonics).filter(["0e", "1o"]).regroup()
    messages = e3nn.IrrepsArray(messages.irreps, messages.array) * radial
    nodes = e3nn.scatter_sum(messages, dst=receivers, output_size=6)
    scalars = e3nn.gate(e3nn.concatenate([nodes.filter("0e"), nodes.filter("0e")]))
    return scalars.array @ params["scalars"], nodes


shapes = {"radial": (4, 1), "scalars": (6, 1)}
params = {k: jnp.asarray(rng.normal(size=s), jnp.float32) for k, s in shapes.items()}
optimizer = optax.adam(0.05)


@jax.jit
def step(params, state):
    def loss(params):
        return jnp.mean((network(params, positions)[0][:, 0] - targets) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state, value


losses, state = [], optimizer.init(params)
for _ in range(10):
    params, state, loss = step(params, state)
    losses.append(loss)

rotation = e3nn.rand_matrix(jax.random.key(0), ())
turned = network(params, positions @ rotation.T)[1]
x = e3nn.normal("2x0e + 1o + 2e", jax.random.key(1), (3,))
np.savez(
    sys.argv[1],
    losses=np.stack(losses),
    nodes=turned.array,
    invariance=jnp.abs(
        turned.array - network(params, positions)[1].transform_by_matrix(rotation).array
    ).max() < 1e-4,
    product=e3nn.tensor_product(x, x).array,
    gradient=jax.grad(lambda v: e3nn.spherical_harmonics("3o", v, True).array.sum())(jnp.ones(3)),
    coupling=e3nn.clebsch_gordan(1, 2, 2),
    wigner=x.irreps.D_from_matrix(rotation),
    sphere=e3nn.to_s2grid(
        x.filter(["1o"])[0], 6, 7, quadrature="gausslegendre", p_val=1, p_arg=-1
    ).grid_values,
)  # fmt: skip
