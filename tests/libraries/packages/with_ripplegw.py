"""rippleGW: gravitational waves of binaries, and their derivatives."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import ripplegw

jax.config.update("jax_enable_x64", True)
frequencies = jnp.arange(20.0, 512.0, 8.0)
source = {
    "M_c": 28.0,
    "eta": 0.24,
    "s1_z": 0.3,
    "s2_z": -0.1,
    "lambda_1": 400.0,
    "lambda_2": 300.0,
    "d_L": 440.0,
    "phase_c": 0.5,
    "iota": 0.7,
}
results = {}
for name in ("IMRPhenomD", "TaylorF2"):
    wave = ripplegw.waveform(name)
    given = {k: source[k] for k in wave.parameter_names}

    def power(mass, wave=wave, given=given):
        strain = wave(frequencies, {**given, "M_c": mass})["p"]
        return jnp.sum(jnp.abs(strain * 1e22) ** 2)

    results[name] = jax.jit(wave)(frequencies, given)["p"]
    results[f"{name}_slope"] = jax.grad(power)(28.0)

np.savez(sys.argv[1], **results)
