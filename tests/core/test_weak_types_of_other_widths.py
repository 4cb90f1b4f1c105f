"""Weakly typed arrays that are narrower than Python's numbers: made without x64, used with it."""

import operator

import numpy as np
import pytest
from tests.helpers.oracle import answer, jax as peer

import jitney as jax

FUNCTIONS = {
    "add": lambda jnp: operator.add,
    "divide": lambda jnp: operator.truediv,
    "power": lambda jnp: operator.pow,
    "less": lambda jnp: operator.lt,
    "maximum": lambda jnp: jnp.maximum,
    "where": lambda jnp: lambda x, y: jnp.where(True, x, y),
    "arctan2": lambda jnp: jnp.arctan2,
    "stack": lambda jnp: lambda x, y: jnp.stack([x, y]),
    "result_type": lambda jnp: lambda x, y: jnp.zeros((), jnp.result_type(x, y)),
    "arange": lambda jnp: lambda x, y: jnp.arange(2) * x + y,
    "loop": lambda jnp: lambda x, y: jnp.asarray(x) + 1 + y,
}


def _operands(library):
    jnp = library.numpy
    with library.enable_x64(False):
        narrow = [jnp.asarray(3), jnp.asarray(3.0), jnp.asarray(3j)]
        strong = [jnp.int32(2), jnp.float32(2), jnp.int8(2), jnp.uint32(2), jnp.bfloat16(2)]
    with library.enable_x64(True):
        wide = [jnp.asarray(3), jnp.asarray(3.0), jnp.asarray(3j), jnp.asarray(True)]
    return narrow, [*narrow, *strong, *wide, 1, 1.0, 1j, True, np.float64(1), np.int64(1)]


def _type(function, *args):
    try:
        result = function(*args)
    except (TypeError, ValueError) as error:
        return type(error).__name__
    return f"{result.dtype} {result.weak_type} {result.shape}"


def _types(library, name):
    function = FUNCTIONS[name](library.numpy)
    narrow, others = _operands(library)
    pairs = [(x, y) for x in narrow for y in others]
    found = {}
    with library.enable_x64(True):
        for x, y in [*pairs, *[(y, x) for x, y in pairs]]:
            # A new function for each, as the arrays of some pairs differ in nothing that jit looks at.
            traced = library.jit(lambda a, b: function(a, b))
            found[f"{x!r} {y!r}"] = [_type(function, x, y), _type(traced, x, y)]
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_operations(name):
    ours = _types(jax, name)
    for case, theirs in answer(lambda: _types(peer, name)).items():
        assert ours[case] == theirs, case


def _of_one(library):
    jnp, lax = library.numpy, library.lax
    functions = {
        "x + 1": lambda x: x + 1,
        "x * 2.0": lambda x: x * 2.0,
        "-x": lambda x: -x,
        "arange": jnp.arange,
        "sin": jnp.sin,
        "sum": jnp.sum,
        "mean": jnp.mean,
        "array": jnp.array,
        "list": lambda x: jnp.array([x, 1]),
        "while": lambda x: lax.while_loop(lambda c: c < 10, lambda c: c + x, x),
        "fori": lambda x: lax.fori_loop(0, 3, lambda i, c: c + x, x),
        "scan": lambda x: lax.scan(lambda c, _: (c, c + 1), x, None, 3)[1],
        "gradient": library.grad(lambda x: x * 2.0),
        "vmap": lambda x: library.vmap(lambda y: x + y * 1)(jnp.arange(3.0)),
    }
    found = {}
    with library.enable_x64(False):
        operands = [jnp.asarray(3), jnp.asarray(3.0)]
    with library.enable_x64(True):
        for name, function in functions.items():
            for x in operands:
                traced = library.jit(function)
                found[f"{name} {x.dtype}"] = [_type(function, x), _type(traced, x)]
    return found


def test_functions_of_one():
    ours = _of_one(jax)
    for case, theirs in answer(lambda: _of_one(peer)).items():
        assert ours[case] == theirs, case


def test_values():
    with jax.enable_x64(False):
        x = jax.numpy.asarray(1.5)
    with jax.enable_x64(True):
        for function in (lambda x: x + 1, lambda x: x / 3, lambda x: 2**x):
            expected = np.float32(function(np.float32(1.5)))
            assert function(x) == expected
            assert jax.jit(function)(x) == expected
        assert jax.jit(lambda x: x + 0.1)(x) == 1.6  # in float64
