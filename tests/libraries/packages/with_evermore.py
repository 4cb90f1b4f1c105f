"""evermore: a binned likelihood of signal and background, its minimum and covariance."""

import sys
from typing import NamedTuple

import evermore as evm
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

jax.config.update("jax_enable_x64", True)


class Params(NamedTuple):
    mu: evm.Parameter
    syst: evm.NormalParameter


def model(params, hists):
    mu = params.mu.scale()
    syst = params.syst.scale_log_asymmetric(up=1.1, down=0.9)
    return mu(hists["signal"]) + syst(hists["bkg"])


def loss(dynamic, args):
    graphdef, static, hists, observation = args
    params = nnx.merge(graphdef, dynamic, static)
    expectation = model(params, hists)
    likelihood = evm.pdf.PoissonContinuous(lamb=expectation).log_prob(observation).sum()
    likelihood += evm.util.sum_over_leaves(evm.loss.get_log_probs(params))
    return -jnp.sum(likelihood)


hists = {"signal": jnp.array([3.0, 1.0]), "bkg": jnp.array([10.0, 20.0])}
params = Params(mu=evm.Parameter(1.0), syst=evm.NormalParameter(0.0))
graphdef, dynamic, static = nnx.split(params, evm.filter.is_dynamic_parameter, ...)
args = (graphdef, static, hists, jnp.array([15.0, 22.0]))
value = loss(dynamic, args)
slopes = nnx.grad(loss)(dynamic, args)
step = nnx.jit(nnx.grad(loss))
for _ in range(50):
    dynamic = jax.tree.map(lambda x, g: x - 0.05 * g, dynamic, step(dynamic, args))

np.savez(
    sys.argv[1],
    value=value,
    slopes=jnp.stack([jnp.sum(x) for x in jax.tree.leaves(slopes)]),
    fitted=jnp.stack([jnp.sum(x) for x in jax.tree.leaves(dynamic)]),
)
