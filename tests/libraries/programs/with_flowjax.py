"""flowjax: a normalizing flow fitted to samples, bijections and their inverses."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from flowjax import bijections
from flowjax.distributions import Normal, StandardNormal, Transformed
from flowjax.flows import coupling_flow, masked_autoregressive_flow
from flowjax.train import fit_to_data

rng = np.random.default_rng(0)
x = rng.normal(size=(256, 2)).astype(np.float32)
data = jnp.asarray(np.stack([x[:, 0], 0.5 * x[:, 0] ** 2 + 0.3 * x[:, 1]], 1))

flow = coupling_flow(
    jax.random.key(0), base_dist=Normal(jnp.zeros(2)), flow_layers=2, nn_width=8,
    transformer=bijections.RationalQuadraticSpline(knots=4, interval=3),
)  # fmt: skip
before = flow.log_prob(data[:5])
flow, losses = fit_to_data(
    jax.random.key(1), flow, data, learning_rate=1e-2, max_epochs=3, batch_size=64,
    show_progress=False,
)  # fmt: skip
mixed = masked_autoregressive_flow(
    jax.random.key(2), base_dist=StandardNormal((3,)), flow_layers=2, nn_width=8
)
points = jnp.asarray(rng.normal(size=(4, 3)), jnp.float32)
affine = bijections.Chain([bijections.Affine(jnp.full(3, 0.1), 0.5), bijections.Tanh((3,))])
moved, log_det = affine.transform_and_log_det(points[0])
transformed = Transformed(StandardNormal((3,)), affine)
np.savez(
    sys.argv[1],
    before=before,
    train=np.array(losses["train"]),
    validation=np.array(losses["val"]),
    after=flow.log_prob(data[:5]),
    samples=flow.sample(jax.random.key(3), (3,)),
    autoregressive=mixed.log_prob(points),
    gradient=jax.tree.leaves(eqx.filter_grad(lambda flow: flow.log_prob(points).mean())(mixed))[-1],
    moved=moved,
    back=affine.inverse(moved),
    log_det=log_det,
    transformed=transformed.log_prob(moved),
)
