"""Minimization by the method of Broyden, Fletcher, Goldfarb and Shanno (BFGS).

Source: Nocedal and Wright, Numerical Optimization, 2nd ed., algorithm 6.1, with the line search of
algorithms 3.5 and 3.6. Iterations and line searches are loops of `lax`, so that the minimization
can be compiled and batched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.autodiff.gradient import value_and_grad
from jitney.core.array import Array
from jitney.core.typing import ArrayLike

_Point: TypeAlias = "tuple[Array, Array, Array]"

_SUFFICIENT, _CURVATURE = 1e-4, 0.9  # constants c1 and c2 of the Wolfe conditions


class OptimizeResults(NamedTuple):
    """The result of `minimize`.

    Attributes:
      x: the point found.
      success: whether the norm of the gradient at x is within the tolerance.
      status: 0 if `success`; 1 if the maximum number of iterations was reached; 3 if the line
        search failed.
      fun: value of the function at x.
      jac: gradient at x.
      hess_inv: estimate of the inverse Hessian at x.
      nfev, njev: numbers of evaluations of the function and of its gradient.
      nit: number of iterations.
    """

    x: Array
    success: bool | Array
    status: int | Array
    fun: Array
    jac: Array
    hess_inv: Array | None
    nfev: int | Array
    njev: int | Array
    nit: int | Array


def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Finds a local minimum of a function of several variables.

    Args:
      fun: differentiable function of a vector and `args` that returns a real scalar.
      x0: initial vector.
      args: further arguments of `fun`.
      method: must be "BFGS".
      tol: norm of the gradient at which to stop; the option "gtol" takes precedence.
      options: dict of options, with these defaults: "gtol" (1e-5), the norm of the gradient at
        which to stop; "norm" (inf), the order of that norm; "maxiter" (200 times the number of
        variables); "line_search_maxiter" (10).

    Returns: `OptimizeResults`.

    Raises:
      TypeError: if `args` is not a tuple, or `fun` does not return a scalar.
      ValueError: if the method or an option is unknown, or `x0` is not a vector.

    Example:
      >>> distance = lambda x: jnp.sum((x - 3) ** 2)
      >>> jax.scipy.optimize.minimize(distance, jnp.zeros(2), method="BFGS").x.round(3)
      Array([3., 3.], dtype=float32)
    """
    if not isinstance(args, tuple):
        raise TypeError(f"minimize: `args` must be a tuple, but got {args!r}")
    if method.lower() != "bfgs":
        raise ValueError(f"minimize: method {method!r} is not supported; it must be 'BFGS'")
    start = jnp.asarray(x0)
    if start.ndim != 1:
        raise ValueError(f"minimize: x0 must be a vector, but got shape {start.shape}")
    if not jnp.issubdtype(start.dtype, np.inexact):
        start = start.astype(float)
    settings = {
        "norm": np.inf,
        "maxiter": 200 * start.size,
        "line_search_maxiter": 10,
        "gtol": 1e-5,
    }
    unknown = sorted(set(options or {}) - set(settings))
    if unknown:
        raise ValueError(f"minimize: unknown options {unknown}; the options are {sorted(settings)}")
    settings |= {} if tol is None else {"gtol": tol}
    settings |= dict(options or {})
    return _bfgs(value_and_grad(lambda x: fun(x, *args)), start, **settings)


class _State(NamedTuple):
    x: Array
    value: Array
    slope: Array
    inverse: Array
    evaluations: Array
    iteration: Array
    converged: Array
    failed: Array


def _bfgs(
    evaluate: Callable[[Array], tuple[Array, Array]],
    start: Array,
    *,
    norm: float,
    maxiter: int,
    line_search_maxiter: int,
    gtol: float,
) -> OptimizeResults:
    value, slope = evaluate(start)
    identity = jnp.eye(start.size, dtype=start.dtype)

    def is_small(slope: Array) -> Array:
        return jnp.linalg.norm(slope, ord=norm) < gtol

    def goes_on(s: _State) -> Array:
        return ~s.converged & ~s.failed & (s.iteration < maxiter)

    def step(s: _State) -> _State:
        direction = -(s.inverse @ s.slope)
        search = _line_search(evaluate, s, direction, line_search_maxiter)
        move, change = search.x - s.x, search.slope - s.slope
        # The Wolfe conditions make the curvature positive, except for rounding.
        product = jnp.vdot(change, move)
        useful = product > 0
        rho = jnp.where(useful, 1 / jnp.where(useful, product, 1), 0)
        left = identity - rho * move[:, None] * change[None]
        updated = left @ s.inverse @ left.T + rho * move[:, None] * move[None]
        return _State(
            search.x, search.value, search.slope, jnp.where(useful, updated, s.inverse),
            s.evaluations + search.evaluations, s.iteration + 1, is_small(search.slope), search.failed,
        )  # fmt: skip

    one, zero = jnp.ones((), np.int32), jnp.zeros((), np.int32)
    first = _State(start, value, slope, identity, one, zero, is_small(slope), jnp.zeros((), bool))
    s = lax.while_loop(goes_on, step, first)
    status = jnp.where(s.converged, 0, jnp.where(s.failed, 3, 1))
    return OptimizeResults(
        s.x, s.converged, status, s.value, s.slope, s.inverse, s.evaluations, s.evaluations,
        s.iteration,
    )  # fmt: skip


class _LineSearchResult(NamedTuple):
    """The end point of a line search."""

    x: Array
    value: Array
    slope: Array
    evaluations: Array
    failed: Array


class _Search(NamedTuple):
    """The state of a line search; its ends `low` and `high` are (step, value, derivative)."""

    trial: Array
    low: tuple[Array, Array, Array]
    high: tuple[Array, Array, Array]
    zooms: Array
    done: Array
    tries: Array
    best: tuple[Array, Array]  # value and gradient at the last trial
    last: Array


def _line_search(
    evaluate: Callable[[Array], tuple[Array, Array]], s: _State, direction: Array, most: int
) -> _LineSearchResult:
    """Finds a step that satisfies the strong Wolfe conditions."""
    initial = jnp.vdot(s.slope, direction).real

    def goes_on(search: _Search) -> Array:
        return ~search.done & (search.tries < 2 * most)

    def advance(search: _Search) -> _Search:
        a = search.trial
        value, slope = evaluate(s.x + a * direction)
        derivative = jnp.vdot(slope, direction).real
        here = (a, value, derivative)
        too_high = ~(value <= s.value + _SUFFICIENT * a * initial)
        too_high = too_high | (value >= search.low[1]) & (search.zooms | (search.tries > 0))
        done = ~too_high & (jnp.abs(derivative) <= -_CURVATURE * initial)
        width = jnp.where(search.zooms, search.high[0] - search.low[0], 1.0)
        turns = derivative * width >= 0
        low = _choose(too_high, search.low, here)
        high = _choose(too_high, here, _choose(turns, search.low, search.high))
        zooms = search.zooms | too_high | turns
        trial = jnp.where(zooms, _between(low, high), 2 * a)
        return _Search(trial, low, high, zooms, done, search.tries + 1, (value, slope), a)

    zero, no = jnp.zeros_like(s.value), jnp.zeros((), bool)
    start = (zero, s.value, initial)
    search = _Search(
        jnp.ones_like(zero), start, start, no, no, jnp.zeros((), np.int32), (s.value, s.slope), zero
    )
    search = lax.while_loop(goes_on, advance, search)
    # If no step satisfies the conditions, take the last one, provided that it decreases the value.
    value, slope = search.best
    lower = search.done | (value < s.value)
    keep = lambda new, old: jnp.where(lower, new, old)  # noqa: E731
    return _LineSearchResult(
        keep(s.x + search.last * direction, s.x), keep(value, s.value), keep(slope, s.slope),
        search.tries, ~lower,
    )  # fmt: skip


def _choose(condition: Array, yes: _Point, no: _Point) -> _Point:
    (a, b, c), (x, y, z) = yes, no
    return jnp.where(condition, a, x), jnp.where(condition, b, y), jnp.where(condition, c, z)


def _between(low: tuple[Array, ...], high: tuple[Array, ...]) -> Array:
    """Returns the minimizer of the cubic through both ends, or the midpoint if it is near one."""
    (a, fa, da), (b, fb, db) = low, high
    width = b - a
    safe = jnp.where(width == 0, 1, width)
    d1 = da + db - 3 * (fb - fa) / safe
    square = d1 * d1 - da * db
    d2 = jnp.sign(width) * jnp.sqrt(jnp.maximum(square, 0))
    bottom = db - da + 2 * d2
    share = 1 - (db + d2 - d1) / jnp.where(bottom == 0, 1, bottom)
    usable = (square >= 0) & (bottom != 0) & (share > 0.1) & (share < 0.9)
    return a + width * jnp.where(usable, share, 0.5)
