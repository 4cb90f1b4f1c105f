"""gpjax: a Gaussian process conditioned and fitted."""

import sys

import gpjax as gpx
import jax
import jax.numpy as jnp
import numpy as np
import optax

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(0)
x = jnp.asarray(np.sort(rng.uniform(-3, 3, (40, 1)), axis=0))
y = jnp.sin(4 * x) + jnp.cos(2 * x) + 0.1 * jnp.asarray(rng.normal(size=(40, 1)))
data = gpx.Dataset(X=x, y=y)
prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Zero(), kernel=gpx.kernels.RBF())
posterior = prior * gpx.likelihoods.Gaussian(num_datapoints=40)
loss = lambda p, d: -gpx.objectives.conjugate_mll(p, d)  # noqa: E731
fitted, history = gpx.fit(
    model=posterior, objective=loss, train_data=data, optim=optax.adam(0.05), num_iters=30,
    key=jax.random.key(0), verbose=False,
)  # fmt: skip
test = jnp.linspace(-3, 3, 11)[:, None]
predicted = fitted.predict(test, train_data=data)
np.savez(
    sys.argv[1],
    history=history,
    mean=predicted.mean,
    variance=predicted.variance,
)
