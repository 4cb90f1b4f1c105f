"""rax: metrics and losses of rankings, and a linear model trained to rank."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import rax

scores = jnp.array([2.2, -1.3, 5.4, 0.5])
labels = jnp.array([1.0, 0.0, 0.0, 2.0])
results = {}
for name in ("ndcg_metric", "mrr_metric", "ap_metric", "precision_metric"):
    results[name] = getattr(rax, name)(scores, labels)
for name in ("pairwise_hinge_loss", "softmax_loss", "pairwise_logistic_loss", "listmle_loss"):
    options = {"key": jax.random.key(0)} if name == "listmle_loss" else {}
    results[name] = getattr(rax, name)(scores, labels, **options)
results["slope"] = jax.grad(rax.softmax_loss)(scores, labels)

features = jax.random.normal(jax.random.key(1), (5, 4, 3))
relevance = jnp.argsort(features @ jnp.array([1.0, -2.0, 0.5]), axis=-1) * 1.0
weights = jnp.zeros(3)
step = jax.jit(jax.grad(lambda w: rax.softmax_loss(features @ w, relevance)))
for _ in range(20):
    weights = weights - 0.1 * step(weights)

np.savez(sys.argv[1], weights=weights, **results)
