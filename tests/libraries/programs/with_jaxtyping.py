"""jaxtyping: shapes and dtypes of arrays and tracers, checked where functions are called."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PyTree, jaxtyped

x = jnp.ones((3, 4))
checks = [
    isinstance(x, Float[Array, "3 4"]),
    isinstance(x, Float[Array, "3 5"]),
    isinstance(x, Int[Array, "..."]),
    isinstance(x > 0, Bool[Array, "rows cols"]),
    isinstance(jax.random.key(0), Key[Array, ""]),
    isinstance({"a": x, "b": [x]}, PyTree[Float[Array, "3 4"]]),
    isinstance({"a": x, "b": [1]}, PyTree[Float[Array, "3 4"]]),
]


@jax.jit
def rows_agree(x, y):
    with jaxtyped("context"):
        one = isinstance(x, Float[Array, "rows cols"])
        other = isinstance(y, Float[Array, "rows more"])
        checks.extend([one, other])
    return x @ y.T


product = rows_agree(x, jnp.ones((3, 4)))
np.savez(sys.argv[1], checks=np.array(checks), product=product)
