"""klax: a network with constrained weights, fitted."""

import sys

import jax
import jax.numpy as jnp
import klax
import numpy as np
import optax

key = jax.random.key(0)
x = jnp.linspace(-1, 1, 40)[:, None]
y = x**2
model = klax.nn.MLP(1, 1, [8, 8], weight_init=jax.nn.initializers.he_normal(), key=key)
fitted, _ = klax.fit(
    model, (x, y), batch_size=8, steps=50, optimizer=optax.adam(1e-2), verbose=0, key=key
)
convex = klax.nn.FICNN(2, 1, [8, 8], weight_init=jax.nn.initializers.he_normal(), key=key)
points = jax.random.normal(key, (5, 2))
np.savez(
    sys.argv[1],
    fitted=jax.vmap(klax.finalize(fitted))(x),
    convex=jax.vmap(klax.finalize(convex))(points),
)
