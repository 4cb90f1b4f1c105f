"""NIFTy: a Gaussian field with a power spectrum, inferred from noisy data."""

import sys

import jax
import jax.numpy as jnp
import nifty.re as jft
import numpy as np
from jax import random

jax.config.update("jax_enable_x64", True)
maker = jft.CorrelatedFieldMaker("cf")
maker.set_amplitude_total_offset(offset_mean=2, offset_std=(1e-1, 3e-2))
maker.add_fluctuations(
    (32,),
    distances=1.0 / 32,
    fluctuations=(1.0, 5e-1),
    loglogavgslope=(-3.0, 2e-1),
    flexibility=(1e0, 2e-1),
    asperity=(5e-1, 5e-2),
    prefix="ax1",
    non_parametric_kind="power",
)
field = maker.finalize()


class Signal(jft.Model):
    def __init__(self, field):
        self.field = field
        super().__init__(init=field.init)

    def __call__(self, x):
        return jnp.exp(self.field(x))


signal = Signal(field)
k1, k2, k3, k4 = random.split(random.PRNGKey(42), 4)
truth = signal(signal.init(k1))
data = truth + 0.1 * random.normal(k2, truth.shape)
likelihood = jft.Gaussian(data, lambda x: x / 0.1**2).amend(signal)
position = jft.Vector(likelihood.init(k3))
samples, state = jft.optimize_kl(
    likelihood,
    position,
    key=k4,
    n_total_iterations=1,
    n_samples=2,
    draw_linear_kwargs={"cg_name": None, "cg_kwargs": {"absdelta": 1e-3, "maxiter": 6}},
    kl_kwargs={"minimize_kwargs": {"name": None, "xtol": 1e-2, "maxiter": 2}},
    sample_mode="linear_resample",
)
mean, deviation = jft.mean_and_std([signal(s) for s in samples])

np.savez(sys.argv[1], truth=truth, energy=likelihood(position), mean=mean, deviation=deviation)
