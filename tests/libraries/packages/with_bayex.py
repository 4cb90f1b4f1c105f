"""bayex: Bayesian optimization of a function of one real number."""

import sys

import bayex
import jax
import numpy as np


def f(x):
    return -(1.4 - 3 * x) * np.sin(18 * x)


domain = {"x": bayex.domain.Real(0.0, 2.0)}
optimizer = bayex.Optimizer(domain=domain, maximize=True, acq="EI")
params = {"x": [0.0, 0.5, 1.0]}
state = optimizer.init([f(x) for x in params["x"]], params)
tried = []
for step in range(4):
    new = optimizer.sample(jax.random.fold_in(jax.random.key(42), step), state)
    tried.append(np.asarray(new["x"]).item())
    state = optimizer.fit(state, f(tried[-1]), new)
np.savez(sys.argv[1], tried=np.float32(tried[:2]), best=np.float32(max(map(f, tried)) > 0))
