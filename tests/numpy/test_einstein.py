"""`einsum` of many operands: the order of contraction is that of JAX, and is found by little work."""

import sys

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as jnp

CALLS = 20_000  # of Python functions, for one path


def chain(count, batch=False):
    """Returns the subscripts and operands of a product of `count` matrices, or of their batches."""
    names = "abcdefghijklmnopqrstuvwxy"[: count + 1]
    first = "z" if batch else ""
    terms = [first + names[k : k + 2] for k in range(count)]
    extents = {name: 2 + (7 * k) % 5 for k, name in enumerate(names)} | {"z": 3}
    rng = np.random.default_rng(count)
    operands = [rng.normal(size=[extents[c] for c in term]).astype(np.float32) for term in terms]
    return f"{','.join(terms)}->{first}{names[0]}{names[count]}", operands


def star(count):
    """Returns the subscripts and operands of `count` vectors with a common axis: no order is better."""
    terms = [f"{'abcdefghijklmnopqrstuvwxy'[k]}z" for k in range(count)]
    return f"{','.join(terms)}->z", [np.ones((2, 3), np.float32) for _ in terms]


def counted(function, limit):
    """Fails once `function` has made more than `limit` calls of Python functions."""
    calls = 0

    def look(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"
        if calls > limit:
            raise AssertionError(f"more than {limit} calls")

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        function()
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("count", [9, 12, 14, 15, 20])
@pytest.mark.parametrize("make", [chain, star])
def test_the_search_for_a_path_is_cheap(count, make):
    subscripts, operands = make(count)
    jnp.einsum_path("a", np.ones(2))  # loads what is loaded at the first use
    counted(lambda: jnp.einsum_path(subscripts, *operands), CALLS)
    shapes = [jitney.ShapeDtypeStruct(x.shape, x.dtype) for x in operands]
    traced = jitney.jit(lambda *xs: jnp.einsum(subscripts, *xs))
    counted(lambda: traced.trace(*shapes), 10 * CALLS)  # each step is an operation, traced


@pytest.mark.parametrize("optimize", ["auto", True, False, "greedy", "eager", "dp", "branch-2"])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 6])
def test_paths_are_those_of_jax(count, optimize):
    for subscripts, operands in (chain(count), chain(count, batch=True), star(count)):

        def found(j, subscripts=subscripts, operands=operands):
            product = lambda *xs: j.numpy.einsum(subscripts, *xs, optimize=optimize)  # noqa: E731
            path = j.numpy.einsum_path(subscripts, *operands, optimize=optimize)[0]
            return path, str(j.make_jaxpr(product)(*operands)).count("dot_general[")

        assert found(jitney) == of_jax(found)


@pytest.mark.parametrize("count", [9, 12, 16])
def test_default_paths_are_those_of_jax(count):
    for subscripts, operands in (chain(count), star(count)):
        want = of_jax(lambda j, s=subscripts, x=operands: j.numpy.einsum_path(s, *x)[0])
        assert jnp.einsum_path(subscripts, *operands)[0] == want
        found = jnp.einsum(subscripts, *operands)
        exact = np.einsum(subscripts, *[x.astype(float) for x in operands], optimize=True)
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-3)
        lists = [x for pair in zip(operands, _axes(subscripts), strict=True) for x in pair]
        assert jnp.einsum_path(*lists, _of(subscripts.split("->")[1]), optimize=False)[0] == (
            [(0, 1)] * (count - 1)
        )


def _axes(subscripts):
    return [_of(term) for term in subscripts.split("->")[0].split(",")]


def _of(term):
    return [ord(c) - ord("a") for c in term]
