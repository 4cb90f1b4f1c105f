"""Functions of SciPy and scikit-learn, and array-api-compat, on JAX's arrays by the array API."""

import os
import sys

os.environ["SCIPY_ARRAY_API"] = "1"

import array_api_compat
import jax.numpy as jnp
import numpy as np
import scipy.signal
import scipy.special
import scipy.stats
import sklearn
from sklearn.decomposition import PCA

rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(60, 4)), jnp.float32)
y = jnp.asarray(rng.integers(0, 2, 60))
xp = array_api_compat.array_namespace(x)
with sklearn.config_context(array_api_dispatch=True):
    pca = PCA(n_components=2, svd_solver="full").fit(x)
    variance = pca.explained_variance_

np.savez(
    sys.argv[1],
    namespace=xp.__name__,
    are_jax=[array_api_compat.is_jax_array(v) for v in (x, variance)],
    variance=variance,
    logsumexp=scipy.special.logsumexp(x, axis=1),
    skew=scipy.stats.skew(x, axis=0),
    window=scipy.signal.detrend(x, axis=0),
    unique=xp.unique_all(y).counts,
    normal=xp.linalg.vector_norm(x, axis=1),
)
