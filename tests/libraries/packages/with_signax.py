"""signax: signatures of paths, and a network on top of them."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jrandom
import numpy as np
import signax
from signax.module import SignatureTransform

key = jrandom.PRNGKey(0)
paths = jrandom.normal(shape=(4, 30, 3), key=key)
signatures = signax.signature(paths, 3)
logs = signax.logsignature(paths, 3)
combined = signax.signature_combine(signatures, signatures)
mlp = eqx.nn.MLP(depth=1, in_size=3 + 3**2 + 3**3, width_size=4, out_size=1, key=key)
model = eqx.nn.Sequential(layers=[SignatureTransform(depth=3), mlp])
out = jax.vmap(model)(paths)
slope = eqx.filter_grad(lambda x: jnp.sum(model(x)))(paths[0])

np.savez(
    sys.argv[1],
    second=signatures[1],
    third=signatures[2],
    logs=logs[2],
    combined=combined[2],
    out=out,
    slope=slope,
)
