"""Transformations of a function of arrays, as source: each result is such a function again.

So they compose in any order. Each is a few lines of JAX, which stand in every program that uses it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

JITTED = """
def jitted(f):
    return jax.jit(f)
"""

MAPPED = '''
def mapped(f, in_axes):
    """f over a batch that is made of each argument."""

    def call(*xs):
        def batch(x, axis):
            return x if axis is None else jnp.stack([x, jnp.flip(x), x], axis)

        return jax.vmap(f, in_axes)(*[batch(x, a) for x, a in zip(xs, in_axes)])

    return call
'''

SCALAR = '''
def scalar(f):
    """A weighted sum of the floating-point results of f."""

    def call(*xs):
        total = 0.0
        for y in map(jnp.asarray, jax.tree.leaves(f(*xs))):
            if jnp.issubdtype(y.dtype, jnp.inexact):
                y = jnp.real(y).astype(jnp.float32)
                total += jnp.sum(y * (1 + jnp.arange(y.size, dtype=y.dtype).reshape(y.shape)))
        return jnp.float32(total)

    return call
'''

GRADIENT = """
def gradient(f, argnums):
    return jax.grad(scalar(f), argnums)
"""

HESSIAN = """
def hessian(f, argnums):
    return lambda *xs: jax.tree.leaves(jax.hessian(scalar(f), argnums)(*xs))
"""

FORWARD = '''
def forward(f):
    """Results and derivatives in one direction."""

    def tangent(x):
        x = jnp.asarray(x)
        is_inexact = jnp.issubdtype(x.dtype, jnp.inexact)
        return jnp.full_like(x, 0.5) if is_inexact else np.zeros(x.shape, jax.dtypes.float0)

    def call(*xs):
        out, dout = jax.jvp(f, xs, tuple([tangent(x) for x in xs]))
        return [x for x in jax.tree.leaves((out, dout)) if x.dtype != jax.dtypes.float0]

    return call
'''

JACOBIAN = '''
def jacobian(f, argnums):
    """By forward mode, of the scalar and its square."""

    def pair(*xs):
        y = scalar(f)(*xs)
        return jnp.stack([y, y * y])

    return lambda *xs: jax.jacfwd(pair, argnums)(*xs)
'''

LINEAR = '''
def linear(f, argnums):
    """Derivatives by linearize, and by the transpose of what it gives."""

    def call(*xs):
        def part(*some):
            full = list(xs)
            for i, x in zip(argnums, some):
                full[i] = x
            return scalar(f)(*full)

        some = [jnp.asarray(xs[i]) for i in argnums]
        out, push = jax.linearize(part, *some)
        back = jax.linear_transpose(push, *some)
        return out, push(*[jnp.ones_like(x) for x in some]), back(jnp.ones_like(out))

    return call
'''

REMAT = """
def rematerialized(f):
    return jax.checkpoint(f)
"""

SOURCES = {
    "jitted": JITTED,
    "mapped": MAPPED,
    "gradient": GRADIENT,
    "hessian": HESSIAN,
    "forward": FORWARD,
    "jacobian": JACOBIAN,
    "linear": LINEAR,
    "rematerialized": REMAT,
}
DERIVATIVES = {"gradient", "hessian", "jacobian", "linear"}


def source(names: Sequence[str], noisy: bool = False) -> str:
    """Definitions of the transformations `names`; with noise where `scalar` rounds to float32."""
    scalar = SCALAR.replace("y = jnp.real(y).astype(jnp.float32)",
                            "y = noise(jnp.real(y).astype(jnp.float32), True)")  # fmt: skip
    parts = [scalar if noisy else SCALAR] if DERIVATIVES & set(names) else []
    parts += [SOURCES[name] for name in dict.fromkeys(names)]
    return "\n".join([part.lstrip("\n") for part in parts])


def choose(
    r: random.Random, inexact: Sequence[int], count: int, large: bool
) -> tuple[tuple[str, str], ...]:
    """Some transformations for a function of `count` arguments, of which `inexact` are floats.

    Of `large` arguments there are no matrices of derivatives: these would have a million elements.
    """
    kinds = ["jitted", "mapped", "mapped", "forward", "rematerialized"]
    if inexact:
        kinds += ["gradient", "gradient", "gradient", "linear"]
    if inexact and not large:
        kinds += ["hessian", "jacobian"]
    depth = r.choice((0, 0, 0, 1, 1, 1, 2, 2, 3))
    mode = []
    for kind in [r.choice(kinds) for _ in range(depth)]:
        if kind == "mapped":
            axes = [r.choice((0, 0, 0, None, -1)) for _ in range(count)]
            if all(a is None for a in axes):
                axes[r.randrange(count)] = 0
            mode.append((kind, f"({', '.join(map(repr, axes))},)"))
        elif kind in DERIVATIVES:
            some = sorted(r.sample(inexact, r.randint(1, len(inexact))))
            mode.append((kind, f"({', '.join(map(repr, some))},)"))
        else:
            mode.append((kind, ""))
    return tuple(mode)
