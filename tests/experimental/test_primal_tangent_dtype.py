"""Dtypes whose derivatives are of another dtype, against real jax."""

import importlib

import numpy as np
import pytest
from tests.helpers.both import Cases, check

import jitney

same = Cases()
X = np.arange(4, dtype=np.int8)


def quantised(jax):
    """(the dtype, a conversion to it, one back)."""
    make = importlib.import_module(f"{jax.__name__}.experimental").primal_tangent_dtype
    dtype = make(np.dtype("int8"), jax.numpy.dtype("bfloat16"))

    def to(x):
        return jax.lax.convert_element_type(x, dtype)

    return dtype, to, lambda x: jax.lax.convert_element_type(x, np.int8)


@same
def names_and_equality(jax, jnp):
    dtype, _, _ = quantised(jax)
    make = importlib.import_module(f"{jax.__name__}.experimental").primal_tangent_dtype
    alike, other = make(np.dtype("int8"), jnp.dtype("bfloat16")), make("int8", "float32", name="q")
    return str(dtype), repr(other), dtype == alike, hash(dtype) == hash(alike), dtype == other


@same
def programs(jax, jnp):
    _, to, back = quantised(jax)
    moves = [lambda x: x[0], lambda x: x.reshape(2, 2), lambda x: jnp.stack([x, x])]
    texts = [str(jax.make_jaxpr(lambda x, f=f: back(f(to(x))))(X)) for f in moves]
    return texts, jax.jit(lambda x: back(to(x)))(X), jax.jit(jax.vmap(lambda x: back(to(x))))(X)


@same
def derivatives(jax, jnp):
    _, to, back = quantised(jax)

    scaled = jax.custom_vjp(lambda q: back(q).astype(jnp.bfloat16) * 2)
    scaled.defvjp(lambda q: (scaled(q), None), lambda _, ct: (ct * 3,))

    def pulled(x):
        out, pullback = jax.vjp(scaled, to(x))
        return out, pullback(out)

    return jax.jit(pulled)(X), str(jax.make_jaxpr(pulled)(X))


@same
def refused(jax, jnp):
    _, to, _ = quantised(jax)

    def outcome(f, x):
        try:
            return str(jax.make_jaxpr(f)(x))
        except (TypeError, ValueError) as error:
            return type(error).__name__

    others = [jnp.ones(3), jnp.arange(3), jnp.ones(3, jnp.bfloat16)]
    uses = [lambda q: q + q, lambda q: -q, lambda q: jax.lax.convert_element_type(q, jnp.float32)]
    return [outcome(to, x) for x in others], [outcome(lambda x, f=f: f(to(x)), X) for f in uses]


@pytest.mark.parametrize("case", same.all, ids=same.ids)
def test_like_jax(case):
    check(case)


def test_arrays():
    dtype, to, back = quantised(jitney)
    q = jitney.jit(to)(X)
    assert q.dtype == dtype
    assert repr(q) == "Array([0 1 2 3], dtype=PrimalTangentDType{i8/bf16})"
    assert back(q).tolist() == [0, 1, 2, 3]
    with pytest.raises(TypeError, match="returns its physical elements"):
        np.asarray(q)
