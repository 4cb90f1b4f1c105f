"""dynamax: hidden Markov and linear Gaussian models: fitted, filtered, smoothed, decoded."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from dynamax.hidden_markov_model import CategoricalHMM, GaussianHMM
from dynamax.linear_gaussian_ssm import LinearGaussianSSM
from dynamax.nonlinear_gaussian_ssm import ParamsNLGSSM, extended_kalman_filter

key = jax.random.key(0)
hmm = GaussianHMM(num_states=3, emission_dim=2)
params, props = hmm.initialize(
    key, method="prior", emission_means=jnp.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
)
states, emissions = hmm.sample(params, jax.random.key(1), num_timesteps=60)
fitted, log_probs = hmm.fit_em(params, props, emissions, num_iters=5, verbose=False)
descended, losses = hmm.fit_sgd(params, props, emissions, num_epochs=5)
posterior = hmm.smoother(fitted, emissions)

dice = CategoricalHMM(num_states=2, emission_dim=1, num_classes=6)
dice_params, _ = dice.initialize(jax.random.key(2))
_, rolls = dice.sample(dice_params, jax.random.key(3), num_timesteps=40)

linear = LinearGaussianSSM(state_dim=2, emission_dim=1)
linear_params, linear_props = linear.initialize(jax.random.key(4))
_, track = linear.sample(linear_params, jax.random.key(5), num_timesteps=30)
linear_fitted, marginals = linear.fit_em(
    linear_params, linear_props, track, num_iters=4, verbose=False
)
smoothed = linear.smoother(linear_fitted, track)

pendulum = ParamsNLGSSM(
    initial_mean=jnp.array([1.0, 0.0]), initial_covariance=0.1 * jnp.eye(2),
    dynamics_function=lambda x: jnp.array([x[0] + 0.1 * x[1], x[1] - jnp.sin(x[0])]),
    dynamics_covariance=0.01 * jnp.eye(2),
    emission_function=lambda x: jnp.sin(x[:1]), emission_covariance=0.1 * jnp.eye(1),
)  # fmt: skip
filtered = extended_kalman_filter(pendulum, track)

np.savez(
    sys.argv[1],
    states=states,
    emissions=emissions,
    log_probs=log_probs,
    losses=losses,
    means=fitted.emissions.means,
    posterior=posterior.smoothed_probs,
    path=hmm.most_likely_states(fitted, emissions),
    rolls=rolls,
    dice=dice.marginal_log_prob(dice_params, rolls),
    dice_path=dice.most_likely_states(dice_params, rolls),
    marginals=marginals,
    smoothed=smoothed.smoothed_means,
    covariances=smoothed.smoothed_covariances,
    filtered=filtered.filtered_means,
)
