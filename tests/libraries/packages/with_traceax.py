"""traceax: traces of a matrix estimated by products with random vectors."""

import sys

import jax
import jax.numpy as jnp
import jax.random as rdm
import lineax as lx
import numpy as np
import traceax as tx

keys = rdm.split(rdm.PRNGKey(0), 5)
Q, _ = jnp.linalg.qr(rdm.normal(keys[0], (200, 200)))
A = (Q * jnp.power(0.7, jnp.arange(200))) @ Q.T
operator = lx.MatrixLinearOperator(A)
hutch, _ = tx.HutchinsonEstimator().estimate(keys[1], operator, 25)
plus, _ = tx.HutchPlusPlusEstimator().estimate(keys[2], operator, 25)
xtrace, error = tx.XTraceEstimator().estimate(keys[3], operator, 25)
positive = lx.TaggedLinearOperator(operator, lx.positive_semidefinite_tag)
nystrom, _ = tx.XNysTraceEstimator().estimate(keys[4], positive, 25)


def of_scaled(scale):
    scaled = lx.MatrixLinearOperator(scale * A)
    return tx.HutchinsonEstimator().estimate(keys[1], scaled, 25)[0]


slope = jax.grad(of_scaled)(2.0)

np.savez(
    sys.argv[1],
    hutch=hutch,
    plus=plus,
    xtrace=xtrace,
    error=error["std.err"],
    nystrom=nystrom,
    slope=slope,
)
