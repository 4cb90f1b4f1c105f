"""`jax.extend.random`: the PRNG implementations of `jax.random`, and how to define new ones."""

from jitney.core.util.lazy import listing
from jitney.primitives.random.generators import (
    define_prng_impl as define_prng_impl,
    rbg as rbg_prng_impl,
    threefry as threefry_prng_impl,
    unsafe_rbg as unsafe_rbg_prng_impl,
)
from jitney.primitives.random.seeds import (
    random_seed as random_seed,
    seed_with_impl as seed_with_impl,
)
from jitney.primitives.random.threefry import (
    threefry2x32_p as threefry2x32_p,
    threefry_2x32 as threefry_2x32,
)

__all__ = [
    "define_prng_impl", "random_seed", "rbg_prng_impl", "seed_with_impl", "threefry2x32_p",
    "threefry_2x32", "threefry_prng_impl", "unsafe_rbg_prng_impl",
]  # fmt: skip

__dir__ = listing(__name__)
