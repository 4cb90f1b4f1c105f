"""diffmah: the growth of dark matter haloes, and its derivatives."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from diffmah import DEFAULT_MAH_PARAMS, logmh_at_t_obs, mah_halopop, mah_singlehalo

times = jnp.linspace(0.5, 13.8, 30)
lgt0 = jnp.log10(13.8)
rates, masses = mah_singlehalo(DEFAULT_MAH_PARAMS, times, lgt0)
several = jax.tree.map(lambda x: x + jnp.linspace(-0.1, 0.1, 5), DEFAULT_MAH_PARAMS)
rates_of_several, masses_of_several = mah_halopop(several, times, lgt0)
slope = jax.grad(lambda p: mah_singlehalo(p, times, lgt0)[1].sum())(DEFAULT_MAH_PARAMS)
observed = logmh_at_t_obs(several, jnp.linspace(8.0, 13.0, 5), lgt0)

np.savez(
    sys.argv[1],
    rates=rates,
    masses=masses,
    rates_of_several=rates_of_several,
    masses_of_several=masses_of_several,
    slope=jnp.stack(slope),
    observed=observed,
)
