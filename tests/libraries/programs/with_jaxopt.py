"""jaxopt: minima, roots, fixed points and quadratic programs, and derivatives through them."""

import sys

import jax
import jax.numpy as jnp
import jaxopt
import numpy as np

rng = np.random.default_rng(0)
features = jnp.asarray(rng.normal(size=(30, 5)), jnp.float32)
targets = features @ jnp.array([1.0, -2.0, 0.0, 0.5, 0.0]) + 0.1


def ridge(params, strength, data):
    x, y = data
    return jnp.mean((x @ params - y) ** 2) + strength * jnp.sum(params**2)


def solution(strength, solver):
    return solver.run(jnp.zeros(5), strength, (features, targets)).params


def rosenbrock(x):
    return (1 - x[0]) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2


lbfgs = jaxopt.LBFGS(ridge, maxiter=30, tol=1e-4)
descent = jaxopt.GradientDescent(ridge, maxiter=40, tol=1e-4)
lasso = jaxopt.ProximalGradient(
    jaxopt.objective.least_squares, jaxopt.prox.prox_lasso, maxiter=60, tol=1e-4
)
simplex = jaxopt.ProjectedGradient(
    lambda x: jnp.sum((x - jnp.array([0.9, 0.6, -0.4])) ** 2), jaxopt.projection.projection_simplex
)
qp = jaxopt.OSQP(maxiter=200, tol=1e-4)
q = 2 * jnp.eye(2)


def program(c):
    return qp.run(params_obj=(q, c), params_ineq=(-jnp.eye(2), jnp.zeros(2))).params.primal


np.savez(
    sys.argv[1],
    lbfgs=solution(0.1, lbfgs),
    sensitivity=jax.jacobian(solution)(0.1, descent),
    lasso=lasso.run(jnp.zeros(5), 0.1, (features, targets)).params,
    simplex=simplex.run(jnp.ones(3) / 3).params,
    quadratic_program=program(jnp.array([-1.0, 1.0])),
    root=jaxopt.Bisection(lambda x: x**3 - x - 2, 1.0, 2.0).run().params,
    root_gradient=jax.grad(
        lambda a: jaxopt.Broyden(lambda x, a: x**3 + a * x - 1, maxiter=30).run(
            jnp.array([0.6]), a).params[0]
    )(1.5),
    fixed_point=jaxopt.AndersonAcceleration(lambda x: jnp.cos(x), maxiter=20).run(
        jnp.array([0.5])).params,
    gauss_newton=jaxopt.GaussNewton(
        lambda p: p[0] * jnp.exp(-p[1] * features[:, 0]) - jnp.exp(-0.5 * features[:, 0]) * 2
    ).run(jnp.array([1.0, 0.3])).params,
    scipy=jaxopt.ScipyMinimize(fun=rosenbrock, method="BFGS").run(jnp.array([-0.5, 1.0])).params,
)  # fmt: skip
