"""lovely-jax: summaries of arrays."""

import sys

import jax
import jax.numpy as jnp
import lovely_jax as lj
import numpy as np

lj.monkey_patch()
x = jax.random.normal(jax.random.PRNGKey(0), (4, 5))
texts = [str(lj.lovely(x)), repr(jnp.arange(3.0)), repr(jnp.array([1.0, jnp.nan, jnp.inf]))]
np.savez(sys.argv[1], texts=texts)
