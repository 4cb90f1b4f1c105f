"""Random programs of jitney.numpy functions: a list of steps that can be run eagerly or traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tests.compiler.programs import Chooser

import jitney
import jitney.numpy as jnp
from jitney import lax

# Names of functions of one array, of two, and of one along an axis.
UNARY = (
    "abs negative square sign floor ceil rint exp log1p sin cos tanh sqrt cbrt isnan isfinite isinf "
    "logical_not reciprocal exp2 arctan arcsinh real ravel flip transpose signbit ptp trace diag triu "
    "tril atleast_2d sinc i0 deg2rad nan_to_num fliplr conj positive trunc"
).split()
BINARY = (
    "add subtract multiply maximum minimum greater less equal not_equal logical_and logical_xor "
    "power "
    "remainder floor_divide true_divide hypot arctan2 copysign fmax fmin heaviside logaddexp outer "
    "kron inner dot matmul less_equal gcd bitwise_or bitwise_and fmod nextafter float_power"
).split()
ALONG = (
    "sum prod max min mean var std any all argmax argmin cumsum cumprod sort argsort nansum nanmax "
    "median "
    "flip squeeze count_nonzero diff nancumsum average nanmean ptp"
).split()
DTYPES = (
    "float32",
    "float32",
    "int32",
    "bool_",
    "uint8",
    "int8",
    "float16",
    "bfloat16",
    "complex64",
)

Step = Callable[[list[Any]], Any]


def _reshape(c: Chooser, x: Any) -> Any:
    n = x.size
    divisors = [d for d in range(1, n + 1) if n % d == 0] or [1]
    first = c.pick(divisors)
    return jnp.reshape(x, (first, -1) if n else (0,))


def _index(c: Chooser, x: Any) -> Any:
    parts: list[Any] = []
    for n in x.shape:
        kind = c.integer(0, 5)
        if kind == 0 and n:
            parts.append(c.integer(-n, n - 1))
        elif kind == 1 and n:
            parts.append(np.array([c.integer(-n, n - 1) for _ in range(3)]))
        elif kind == 2:
            parts.append(None)
            parts.append(slice(None))
        else:
            parts.append(slice(c.integer(-3, 3), None, c.pick((1, 2, -1))))
    return tuple(parts)


def step(c: Chooser) -> Step:
    """One random step: a function of the values so far, which may refuse them."""
    which = c.integer(0, 22)
    i, j = c.integer(0, 50), c.integer(0, 50)
    d = Chooser(c.integer(0, 10**6))  # decisions that depend on values' shapes
    seed = d.integer(0, 10**6)
    fn: Any = c.pick(UNARY) if which < 5 else c.pick(BINARY) if which < 9 else c.pick(ALONG)
    dtype = c.pick(DTYPES)

    def run(values: list[Any]) -> Any:
        x, y = values[i % len(values)], values[j % len(values)]
        d = Chooser(seed)
        if which < 5:
            return getattr(jnp, fn)(x)
        if which < 9:
            return getattr(jnp, fn)(x, y)
        axis = d.integer(-x.ndim, x.ndim - 1) if x.ndim else None
        if which < 13:
            return getattr(jnp, fn)(x, axis=axis)
        if which == 13:
            return jnp.astype(x, getattr(jnp, dtype))
        if which == 14:
            return _reshape(d, x)
        if which == 15:
            return x[_index(d, x)]
        if which == 16:
            return jnp.where(x > 0, x, y)
        if which == 17:
            return d.pick((jnp.concatenate, jnp.stack, jnp.hstack, jnp.vstack))([x, x, y])
        if which == 18:
            where = _index(d, x)
            return d.pick((x.at[where].add, x.at[where].set, x.at[where].max))(2)
        return d.pick(MORE)(d, x)

    return run


MORE: Sequence[Callable[[Chooser, Any], Any]] = (
    lambda c, x: jnp.roll(x, c.integer(-4, 4)),
    lambda c, x: jnp.repeat(x, c.integer(0, 3)),
    lambda c, x: jnp.tile(x, c.integer(1, 3)),
    lambda c, x: jnp.pad(x, c.integer(0, 2), mode=c.pick(("constant", "edge", "reflect", "wrap"))),
    lambda c, x: jnp.clip(x, -1, 2),
    lambda c, x: jnp.take(x, jnp.array([0, 5, -1]), mode=c.pick(("fill", "clip", "wrap"))),
    lambda c, x: jnp.einsum("...i,...i->...", x, x),
    lambda c, x: jnp.searchsorted(jnp.sort(x.ravel()), x),
    lambda c, x: lax.top_k(x, min(2, x.shape[-1]))[1],
    lambda c, x: lax.cumlogsumexp(x, 0),
    lambda c, x: lax.dynamic_slice_in_dim(x, c.integer(-9, 9), 1),
    lambda c, x: lax.reduce_precision(x, 5, 4),
    lambda c, x: jnp.broadcast_to(x, (3, *x.shape)),
    lambda c, x: jnp.moveaxis(x, 0, -1),
    lambda c, x: jnp.linspace(0.0, 1.0, 5) + x.sum(),
    lambda c, x: jnp.round(x, 1),
    lambda c, x: jnp.unwrap(x),
    lambda c, x: jnp.convolve(x.ravel(), x.ravel()[:3]),
    lambda c, x: jnp.histogram(x, 4)[0],
    lambda c, x: jnp.nonzero(x, size=4)[0],
    lambda c, x: jnp.percentile(x, 30.0),
    lambda c, x: jitney.lax.population_count(x),
    lambda c, x: x.view(jnp.uint8),
    lambda c, x: jnp.meshgrid(x.ravel(), x.ravel()[:2])[1],
    lambda c, x: lax.scan(lambda a, r: (a + r, jnp.maximum(a, r)), jnp.zeros_like(x[0]), x)[
        c.integer(0, 1)
    ],
    lambda c, x: lax.scan(lambda a, r: (r, a), x[0], x, reverse=c.chance(50))[1],
    lambda c, x: lax.fori_loop(0, c.integer(0, 4), lambda i, a: a.at[i].set(i) - x, x),
    lambda c, x: lax.fori_loop(0, x.shape[0], lambda i, a: a + x[i] * i, jnp.zeros_like(x[0])),
    lambda c, x: lax.cond(x.sum() > 0, lambda x: x * 2, lambda x: -x, x),
    lambda c, x: lax.switch(x.size % 3, [lambda x: x + 1, jnp.flip, lambda x: x * x], x),
    lambda c, x: lax.while_loop(lambda v: jnp.any(v < 3), lambda v: v + 1, jnp.clip(x, -5, 5)),
    lambda c, x: lax.map(lambda r: jnp.cumsum(r), x),
    lambda c, x: lax.associative_scan(jnp.maximum, x),
    lambda c, x: lax.associative_scan(jnp.add, jnp.sign(x), reverse=c.chance(50)),
    lambda c, x: jitney.vmap(lambda r: jnp.sort(r)[0] + r)(x),
    lambda c, x: jitney.vmap(lambda v: lax.while_loop(lambda v: v < 3, lambda v: v + 1, v))(
        jnp.clip(x.ravel(), -5, 5)
    ),
    lambda c, x: jitney.vmap(lambda r, i: lax.dynamic_slice_in_dim(r, i, 1))(
        x, jnp.arange(len(x)) - 1
    ),
    lambda c, x: jitney.vmap(lambda r: lax.cond(r.sum() > 0, lambda r: r, lambda r: r * 2, r))(x),
    lambda c, x: jitney.vmap(jitney.vmap(lambda v: jnp.where(v > 0, v, -v)))(x),
)


def program(c: Chooser, steps: int = 8) -> tuple[list[Step], list[np.ndarray]]:
    """(steps, inputs): those steps that the inputs, eagerly, do not refuse."""
    inputs: list[np.ndarray] = []
    for _ in range(c.integer(1, 2)):
        shape = tuple(c.pick((1, 2, 3, 5, 8, 17)) for _ in range(c.integer(0, 3)))
        rng = np.random.default_rng(c.integer(0, 999))
        values = rng.integers(-6, 7, shape) / 2
        dtype = getattr(jnp, c.pick(DTYPES))
        inputs.append(np.asarray(jnp.asarray(values).astype(dtype)))
    taken: list[Step] = []
    values = [jnp.asarray(x) for x in inputs]
    while len(taken) < steps and steps > -40:
        steps -= 1
        candidate = step(c)
        try:
            value = candidate(values)
        except (TypeError, ValueError, IndexError):
            continue
        if value.size <= 2000:
            taken.append(candidate)
            values.append(value)
    return taken, inputs


def run(steps: Sequence[Step], inputs: Sequence[Any]) -> list[Any]:
    """All values, one after the other."""
    values = list(inputs)
    for one in steps:
        values.append(one(values))
    return values[len(inputs) :]
