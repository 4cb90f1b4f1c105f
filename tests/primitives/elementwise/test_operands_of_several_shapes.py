"""Derivatives of functions of broadcast operands: those at operands that were broadcast before."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.scipy import special, stats

DRAW = np.random.default_rng(3)

_JNP = (
    "add subtract multiply divide power float_power arctan2 hypot logaddexp logaddexp2 maximum minimum "
    "fmax fmin remainder fmod copysign"
)
_SPECIAL = "gammainc gammaincc beta betaln xlogy xlog1py rel_entr kl_div"
_ORDERS = np.array([1.5, 2.5], np.float32)[:, None, None]

# name -> (function, how many operands, the least one)
FUNCTIONS = {
    **{name: (getattr(jnp, name), 2, 0.5) for name in _JNP.split()},
    **{name: (getattr(special, name), 2, 0.5) for name in _SPECIAL.split()},
    "clip": (jnp.clip, 3, 0.5),
    "where": (lambda x, y: jnp.where(x > y, x * y, x - y), 2, 0.5),
    "gammainc of large": (special.gammainc, 2, 25.0),
    "gammaincc of large": (special.gammaincc, 2, 25.0),
    "polygamma": (lambda x: special.polygamma(_ORDERS.astype(int), x), 1, 0.5),
    "zeta": (lambda q: special.zeta(_ORDERS, q), 1, 0.5),
    "betainc": (lambda x: special.betainc(_ORDERS, 2.0, x / 3), 1, 0.5),
    "norm.logpdf": (stats.norm.logpdf, 3, 0.5),
    "gamma.logpdf": (stats.gamma.logpdf, 2, 0.5),
    "beta.logpdf": (lambda x, a, b: stats.beta.logpdf(x / 4, a, b), 3, 0.5),
    "t.logpdf": (stats.t.logpdf, 2, 0.5),
    "gelu": (lambda x, y: jax.nn.gelu(x * y), 2, 0.5),
}
SHAPES = {
    "scalar first": ((), (4,), (3, 4)),
    "scalar last": ((4,), (), ()),
    "both": ((3, 1), (1, 4), (4,)),
    "ranks": ((4,), (3, 4), (1,)),
    "empty": ((0,), (1,), ()),
}


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name, shapes):
    f, count, least = FUNCTIONS[name]
    parts = SHAPES[shapes][:count]
    operands = [DRAW.uniform(least, least + 2, s).astype(np.float32) for s in parts]
    tangents = [DRAW.uniform(-1, 1, s).astype(np.float32) for s in parts]
    whole, moves = np.broadcast_arrays(*operands), np.broadcast_arrays(*tangents)
    expected = jax.jvp(f, tuple(map(jnp.array, whole)), tuple(map(jnp.array, moves)))
    for run in (jax.jvp, jax.jit(jax.jvp, static_argnums=0)):
        for convert in (jnp.asarray, np.asarray):
            found = run(f, tuple(map(convert, operands)), tuple(map(convert, tangents)))
            for x, y in zip(found, expected, strict=True):
                assert x.dtype == y.dtype
                np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6)
    by_all = tuple(range(count))
    slopes = jax.grad(lambda *xs: f(*xs).sum(), by_all)(*map(jnp.asarray, operands))
    moved = sum((slope * t).sum() for slope, t in zip(slopes, tangents, strict=True))
    np.testing.assert_allclose(moved, expected[1].sum(), rtol=1e-4, atol=1e-5)
