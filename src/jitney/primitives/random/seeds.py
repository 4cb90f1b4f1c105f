"""PRNG keys made from integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.settings import config
from jitney.core.tracing.trace import Tracer
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.primitives.elementwise.binary import add
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.random.bits import random_seed_p

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.random.prng import PRNGImpl


def random_seed(seeds: ArrayLike, impl: PRNGImpl) -> Array:
    """Makes keys from integers.

    Args:
      seeds: integer array [*shape], or a Python integer.
      impl: the generator.

    Returns: an array of keys, [*shape].

    Raises:
      TypeError: if the seeds are not integers.
      OverflowError: if a Python integer does not fit into 64 bits.

    Example:
      >>> from jitney.extend.random import random_seed, rbg_prng_impl
      >>> random_seed(jnp.arange(2), rbg_prng_impl)
      Array((2,), dtype=key<rbg>) overlaying:
      [[0 0 0 0]
       [0 1 0 1]]
    """
    seed: Any = seeds
    if dtypes.issubdtype(getattr(seed, "dtype", None) or np.int32, dtypes.prng_key):
        raise TypeError("jax.random.key: the seed must be an integer, but it is already a key")
    if isinstance(seed, int) and not isinstance(seed, bool | Tracer):
        # As in JAX, Python integers wider than the default integer keep their low 32 bits only;
        # integers that do not fit into 64 bits are rejected.
        if seed >= 1 << 63:
            raise OverflowError(
                f"jax.random.key: a seed must fit into 64 bits, including the sign, but is {seed}"
            )
        wide = np.int64(seed)
        seed = wide if config.enable_x64() else wide.astype(np.int32)
    if not dtypes.issubdtype(get_aval(seed).dtype, np.integer):
        raise TypeError(f"jax.random.key: a seed must be an integer, but is {seed!r}")
    value, offset = as_value(seed), config.random_seed_offset.value
    if offset:
        value = add(value, np.array(offset, value.dtype))
    return random_seed_p.bind(value, impl=impl)


def seed_with_impl(impl: PRNGImpl, seed: ArrayLike) -> Array:
    """Calls `random_seed` with the arguments in reverse order."""
    return random_seed(seed, impl)
