"""lineax: linear systems by several solvers, their least-squares solutions, and their gradients."""

import sys

import jax
import jax.numpy as jnp
import lineax as lx
import numpy as np

rng = np.random.default_rng(0)
square = jnp.asarray(rng.normal(size=(5, 5)) + 4 * np.eye(5), jnp.float32)
tall = jnp.asarray(rng.normal(size=(7, 5)), jnp.float32)
definite = square @ square.T
b = jnp.asarray(rng.normal(size=5), jnp.float32)
tall_b = jnp.asarray(rng.normal(size=7), jnp.float32)


def solve(matrix, b, solver, *tags):
    return lx.linear_solve(lx.MatrixLinearOperator(matrix, tags), b, solver).value


by_function = lx.FunctionLinearOperator(
    lambda x: definite @ x, jax.ShapeDtypeStruct((5,), jnp.float32), lx.positive_semidefinite_tag
)
gradient = jax.grad(lambda m: jnp.sum(solve(m, b, lx.LU()) ** 2))(square)
batch = jnp.stack([square, definite])
tridiagonal = lx.TridiagonalLinearOperator(4 + jnp.arange(5.0), jnp.ones(4), -jnp.ones(4))
np.savez(
    sys.argv[1],
    lu=jax.jit(lambda m, b: solve(m, b, lx.LU()))(square, b),
    qr=solve(tall, tall_b, lx.QR()),
    svd=solve(tall, tall_b, lx.SVD()),
    cholesky=solve(definite, b, lx.Cholesky(), lx.positive_semidefinite_tag),
    auto=jax.vmap(lambda s: solve(square * s, b, lx.AutoLinearSolver(well_posed=True)))(
        jnp.array([1.0, 2.0])
    ),
    cg=lx.linear_solve(by_function, b, lx.CG(1e-6, 1e-6)).value,
    gmres=solve(square, b, lx.GMRES(1e-6, 1e-6)),
    tridiagonal=lx.linear_solve(tridiagonal, b, lx.Tridiagonal()).value,
    gradient=gradient,
    batched_gradient=jax.grad(
        lambda b: jnp.sum(jax.vmap(lambda m, b: solve(m, b, lx.LU()) ** 2)(batch, b))
    )(jnp.stack([b, b + 1])),
    forward=jax.jvp(lambda b: solve(square, b, lx.LU()), (b,), (b + 1,))[1],
    tall_gradient=jax.grad(lambda m: jnp.sum(solve(m, tall_b, lx.QR()) ** 2))(tall),
)
