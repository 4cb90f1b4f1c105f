"""`jax.experimental.ode`: initial value problems, solved by the Dormand-Prince method.

`odeint` adapts its step size to the error estimate of the embedded formula of order 4. Results at
the requested times are interpolated by a polynomial through both ends and the midpoint of a step.
Reverse-mode derivatives solve the adjoint equation backwards in time, so that no steps have to be
stored.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.autodiff.autodiff import vjp
from jitney.api.autodiff.custom_gradient import closure_convert
from jitney.api.autodiff.custom_vjp import custom_vjp
from jitney.api.batching.vmap import vmap
from jitney.api.jit.jit import jit
from jitney.core.pytree import pytrees
from jitney.core.types import dtypes
from jitney.core.types.avals import is_valid_operand
from jitney.core.util.lazy import listing, refusing
from jitney.flatten_util import ravel_pytree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.typing import Array, ArrayLike, PyTree

_T = TypeVar("_T")

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)

# Nodes, stages, weights of the result of order 5, and their difference from the weights of order 4.
_NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_RESULT = (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0)
_ERROR = (
    35 / 384 - 1951 / 21600,
    0.0,
    500 / 1113 - 22642 / 50085,
    125 / 192 - 451 / 720,
    -2187 / 6784 + 12231 / 42400,
    11 / 84 - 649 / 6300,
    -1 / 60,
)
# Weights of the value at the midpoint of a step (Shampine's formula of order 4).
_MIDDLE = (
    6025192743 / 30085553152 / 2,
    0.0,
    51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2,
    11237099 / 235043384 / 2,
)


def _weights(values: Sequence[float], like: Any) -> Array:
    dtype = like.dtype if hasattr(like, "dtype") else np.float32
    return jnp.asarray(np.asarray(values), dtype=dtype)


def abs2(x: Array) -> Array:
    """Computes the squared absolute value."""
    if jnp.iscomplexobj(x):
        return jnp.real(x) ** 2 + jnp.imag(x) ** 2
    return x**2


def ravel_first_arg(
    f: Callable[..., Any], unravel: Callable[[Array], PyTree], debug_info: Any = None
) -> Callable[..., Array]:
    """Returns `f` with its first argument and its result flattened to vectors."""

    def raveled(vector: Any, *args: PyTree) -> Array:
        return ravel_pytree(f(unravel(vector), *args))[0]

    return raveled


def interp_fit_dopri(y0: PyTree, y1: ArrayLike, k: Array, dt: ArrayLike) -> Array:
    """Returns the coefficients of the interpolating polynomial of a Dormand-Prince step.

    The coefficients are as in `fit_4th_order_polynomial`, computed from the slopes `k` of all
    stages.
    """
    y_mid = y0 + dt * jnp.dot(_weights(_MIDDLE, y0), k)
    return jnp.asarray(fit_4th_order_polynomial(y0, y1, y_mid, k[0], k[-1], dt))


def fit_4th_order_polynomial(
    y0: PyTree, y1: ArrayLike, y_mid: Any, dy0: Any, dy1: Any, dt: ArrayLike
) -> tuple[Array, Array, Array, Array, Array]:
    """Returns the coefficients of a quartic polynomial on [0, 1] with given values and slopes.

    Args:
      y0, y_mid, y1: values at 0, 1/2 and 1.
      dy0, dy1: derivatives with respect to time at 0 and 1.
      dt: length of the step, by which time is scaled to [0, 1].

    Returns: the coefficients, highest power first.
    """
    left, right = dt * dy0, dt * dy1
    a = -2.0 * left + 2.0 * right - 8.0 * y0 - 8.0 * y1 + 16.0 * y_mid
    b = 5.0 * left - 3.0 * right + 18.0 * y0 + 14.0 * y1 - 32.0 * y_mid
    c = -4.0 * left + right - 11.0 * y0 - 5.0 * y1 + 16.0 * y_mid
    return a, b, c, left, y0


def _norm(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(abs2(x)))


def initial_step_size(
    fun: Callable[..., Any],
    t0: ArrayLike,
    y0: PyTree,
    order: int,
    rtol: float,
    atol: float,
    f0: Array,
) -> Array:
    """Returns an initial step size, from the norms of value, slope and change of the slope.

    See E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, section
    II.4.
    """
    dtype = y0.dtype
    scale = atol + jnp.abs(y0) * rtol
    d0 = _norm(y0 / scale.astype(dtype))
    d1 = _norm(f0 / scale.astype(dtype))
    h0 = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1)
    f1 = fun(y0 + h0.astype(dtype) * f0, t0 + h0)
    d2 = _norm((f1 - f0) / scale.astype(dtype)) / h0
    h1 = jnp.where(
        (d1 <= 1e-15) & (d2 <= 1e-15),
        jnp.maximum(1e-6, h0 * 1e-3),
        (0.01 / jnp.maximum(d1, d2)) ** (1.0 / (order + 1.0)),
    )
    return jnp.minimum(100.0 * h0, h1)


def runge_kutta_step(
    func: Callable[..., Any], y0: PyTree, f0: Array, t0: ArrayLike, dt: Array
) -> tuple[Array, Array, Array, Array]:
    """Computes a step; returns value and slope at its end, error estimate, slopes of all stages."""
    slopes = [f0]
    for node, stage in zip(_NODES, _STAGES, strict=True):
        y = y0 + dt * jnp.dot(_weights(stage, f0), jnp.stack(slopes))
        slopes.append(func(y, t0 + dt * node))
    k = jnp.stack(slopes)
    y1 = dt * jnp.dot(_weights(_RESULT, f0), k) + y0
    error = dt * jnp.dot(_weights(_ERROR, f0), k)
    return y1, k[-1], error, k


def mean_error_ratio(
    error_estimate: Array, rtol: float, atol: float, y0: PyTree, y1: ArrayLike
) -> Array:
    """Computes the root mean square of the error estimate relative to the tolerance."""
    limit = atol + rtol * jnp.maximum(jnp.abs(y0), jnp.abs(y1))
    ratio = error_estimate / limit.astype(error_estimate.dtype)
    return jnp.sqrt(jnp.mean(abs2(ratio)))


def optimal_step_size(
    last_step: ArrayLike,
    mean_error_ratio: Array,
    safety: float = 0.9,
    ifactor: float = 10.0,
    dfactor: float = 0.2,
    order: float = 5.0,
) -> Array:
    """Computes the next step size from the error of the last step.

    Args:
      last_step: size of the last step.
      mean_error_ratio: error of the last step, as a multiple of the tolerance.
      safety: safety factor applied to the optimal size.
      ifactor: largest factor by which the size is multiplied.
      dfactor: smallest factor by which the size is multiplied after a step that was rejected; after
        an accepted step, the size does not decrease.
      order: order of the method.
    """
    least = jnp.where(mean_error_ratio < 1, 1.0, dfactor)
    best = jnp.maximum(mean_error_ratio ** (-1.0 / order) * safety, least)
    factor = jnp.minimum(ifactor, best)
    return jnp.where(mean_error_ratio == 0, last_step * ifactor, last_step * factor)


@overload
def odeint(
    func: Callable[..., Any],
    y0: ArrayLike,
    t: Array,
    *args: PyTree,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = jnp.inf,
    hmax: float = jnp.inf,
) -> Array: ...


@overload
def odeint(
    func: Callable[..., Any],
    y0: _T,
    t: Array,
    *args: PyTree,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = jnp.inf,
    hmax: float = jnp.inf,
) -> _T: ...


def odeint(
    func: Callable[..., Any],
    y0: PyTree,
    t: Array,
    *args: PyTree,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = jnp.inf,
    hmax: float = jnp.inf,
) -> object:
    """Solves the initial value problem dy/dt = func(y, t, *args), y(t[0]) = y0, at the times `t`.

    If `mxstep` steps do not suffice, no error is raised; the result is extrapolated from the last
    step.

    Args:
      func: right-hand side, which returns a pytree like y0.
      y0: initial value: a pytree of arrays.
      t: increasing times, of a floating dtype.
      *args: further arguments of `func`, pytrees of arrays. The solution can be differentiated with
        respect to them.
      rtol: relative tolerance of the error of a step.
      atol: absolute tolerance of the error of a step.
      mxstep: maximum number of steps between two requested times.
      hmax: maximum step size.

    Returns: a pytree like y0, each array with a leading axis of the size of `t`.

    Raises:
      TypeError: if `t` does not have a floating dtype, or a leaf of `args` is neither an array nor
        a scalar.

    Example:
      >>> from jitney.experimental.ode import odeint
      >>> decay = odeint(lambda y, t: -y, 1.0, jnp.array([0.0, 1.0, 2.0]))
      >>> jnp.round(decay, 3)
      Array([1.   , 0.368, 0.135], dtype=float32)
    """
    for leaf in pytrees.tree_leaves(args):
        if not is_valid_operand(leaf):
            raise TypeError(
                f"odeint: `*args` must contain only arrays and scalars, but got {leaf!r} of type "
                f"{type(leaf)}"
            )
    if not jnp.issubdtype(dtypes.dtype(t), jnp.floating):
        raise TypeError(f"odeint: the times `t` must be floats, but got {t}")
    converted, consts = closure_convert(func, y0, t[0], *args)
    f = converted if consts else func
    return _solve(f, rtol, atol, mxstep, hmax, y0, t, *args, *consts)


@functools.partial(jit, static_argnums=(0, 1, 2, 3, 4))
def _solve(
    func: Callable[..., PyTree],
    rtol: float,
    atol: float,
    mxstep: float,
    hmax: float,
    y0: PyTree,
    ts: Array,
    *args: PyTree,
) -> object:
    vector, unravel = ravel_pytree(y0)
    out = _odeint(ravel_first_arg(func, unravel), rtol, atol, mxstep, hmax, vector, ts, *args)
    return vmap(unravel)(out)


def _integrate(
    func: Callable[..., PyTree],
    rtol: float,
    atol: float,
    mxstep: float,
    hmax: float,
    y0: PyTree,
    ts: Array,
    *args: PyTree,
) -> Array:
    def slope(y: PyTree, t: Array) -> Array:
        return func(y, t, *args)

    def to_time(carry: PyTree, target: Array) -> tuple[list[Array], Array]:
        def unfinished(state: PyTree) -> Array:
            i, _, _, t, dt, _, _ = state
            return (t < target) & (i < mxstep) & (dt > 0)

        def step(state: PyTree) -> list[Array]:
            i, y, f, t, dt, last_t, coefficients = state
            dt = jnp.clip(dt, 0, hmax)
            next_y, next_f, error, k = runge_kutta_step(slope, y, f, t, dt)
            next_t = t + dt
            ratio = mean_error_ratio(error, rtol, atol, y, next_y)
            polynomial = interp_fit_dopri(y, next_y, k, dt)
            next_dt = jnp.clip(optimal_step_size(dt, ratio), 0.0, hmax)
            accepted = ratio <= 1.0
            new = [next_y, next_f, next_t, next_dt, t, polynomial]
            old = [y, f, t, next_dt, last_t, coefficients]
            return [
                i + 1, *(jnp.where(accepted, a, b) for a, b in zip(new, old, strict=True)),
            ]  # fmt: skip

        _, *carry = lax.while_loop(unfinished, step, [0, *carry])
        _, _, t, _, last_t, coefficients = carry
        where = (target - last_t) / (t - last_t)
        return carry, jnp.polyval(coefficients, where.astype(coefficients.dtype))

    f0 = slope(y0, ts[0])
    dt = jnp.clip(initial_step_size(slope, ts[0], y0, 4, rtol, atol, f0), 0.0, hmax)
    coefficients = jnp.stack([y0] * 5)
    carry = [y0, f0, ts[0], dt.astype(ts.dtype), ts[0], coefficients]
    _, ys = lax.scan(to_time, carry, ts[1:])
    return jnp.concatenate([y0[None], ys])


_odeint = custom_vjp(_integrate, nondiff_argnums=(0, 1, 2, 3, 4))


def _forward(
    func: Callable[..., PyTree],
    rtol: float,
    atol: float,
    mxstep: float,
    hmax: float,
    y0: PyTree,
    ts: Array,
    *args: PyTree,
) -> tuple[Array, tuple[Array, Array, tuple[object, ...]]]:
    ys = _odeint(func, rtol, atol, mxstep, hmax, y0, ts, *args)
    return ys, (ys, ts, args)


def _backward(
    func: Callable[..., PyTree],
    rtol: float,
    atol: float,
    mxstep: float,
    hmax: float,
    residuals: PyTree,
    g: PyTree,
) -> tuple[Array, ...]:
    """Solves the adjoint equation backwards from the last time to the first."""
    ys, ts, args = residuals

    def adjoint(augmented: PyTree, t: Array, *args: PyTree) -> tuple[object, ...]:
        y, y_bar, _, _ = augmented
        y_dot, pull_back = vjp(func, y, -t, *args)
        return (-y_dot, *_split(pull_back(y_bar)))

    def _split(cts: PyTree) -> tuple[object, ...]:
        y_bar, t_bar, *args_bar = cts
        return y_bar, t_bar, tuple(args_bar)

    def dot(a: Array, b: Array) -> Array:
        return jnp.sum((a * b).real)  # times are real even if the solution is complex

    def back(carry: PyTree, i: Array) -> tuple[tuple[object, ...], Array]:
        y_bar, t0_bar, args_bar = carry
        # The derivative of the loss with respect to the later time.
        t_bar = dot(func(ys[i], ts[i], *args), g[i])
        t0_bar = t0_bar - t_bar
        _, y_bar, t0_bar, args_bar = pytrees.tree_map(
            operator.itemgetter(1),
            odeint(
                adjoint, (ys[i], y_bar, t0_bar, args_bar), jnp.stack([-ts[i], -ts[i - 1]]), *args,
                rtol=rtol, atol=atol, mxstep=mxstep, hmax=hmax,
            ),
        )  # fmt: skip
        return (y_bar + g[i - 1], t0_bar, args_bar), t_bar

    zero = jnp.zeros((), ts.dtype)
    start: Any = (g[-1], zero, pytrees.tree_map(jnp.zeros_like, args))
    carry: Any
    carry, later = lax.scan(back, start, jnp.arange(len(ts) - 1, 0, -1))
    y_bar, t0_bar, args_bar = carry
    return y_bar, jnp.concatenate([t0_bar[None], later[::-1]]), *args_bar


_odeint.defvjp(_forward, _backward)
