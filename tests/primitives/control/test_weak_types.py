"""Weak types of loops, branches and their derivatives, as in JAX: by types, without compilation."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney

# Functions of a number: (library, x) -> a number that is weakly typed if x is, never, or always.
BODIES: dict[str, Callable[[Any, Any], Any]] = {
    "as x": lambda j, x: x * 2.0,
    "strong": lambda j, x: x * np.float32(2),
    "number": lambda j, x: 1.0,
    "strong number": lambda j, x: j.numpy.float32(1),
}
# Arguments: (library) -> a number.
ARGUMENTS: dict[str, Callable[[Any], Any]] = {
    "float": lambda j: 1.5,
    "strong float": lambda j: j.numpy.float32(2),
    "int": lambda j: 1,
}

BRANCHES: dict[str, Callable[..., Any]] = {
    "cond": lambda j, f, g, x: j.lax.cond(x > 0, f, g, x),
    "switch": lambda j, f, g, x: j.lax.switch(np.int32(1), [f, g], x),
    "switch of three": lambda j, f, g, x: j.lax.switch(np.int32(1), [f, g, f], x),
    "gradient": lambda j, f, g, x: j.grad(lambda x: j.lax.cond(x > 0, f, g, x))(x),
    "tangent": lambda j, f, g, x: j.jvp(lambda x: j.lax.cond(x > 0, f, g, x), (x,), (1.0,)),
    "batch of predicates": lambda j, f, g, x: j.vmap(lambda y: j.lax.cond(y > 0, f, g, x))(
        j.numpy.arange(2.0)
    ),
    "batch of operands": lambda j, f, g, x: j.vmap(lambda y: j.lax.cond(x > 0, f, g, y))(
        j.numpy.arange(2.0)
    ),
    "jit": lambda j, f, g, x: j.jit(lambda x: j.lax.cond(x > 0, f, g, x))(x),
}

LOOPS: dict[str, Callable[..., Any]] = {
    "scan": lambda j, f, x: j.lax.scan(lambda c, _: (f(c), f(c)), x, None, length=2),
    "no turns": lambda j, f, x: j.lax.scan(lambda c, _: (f(c), f(c)), x, None, length=0),
    "while_loop": lambda j, f, x: j.lax.while_loop(
        lambda c: c[1] < 2, lambda c: (f(c[0]), c[1] + 1), (x, 0)
    ),
    "fori_loop": lambda j, f, x: j.lax.fori_loop(0, 3, lambda i, c: f(c), x),
    "unknown bound": lambda j, f, x: j.lax.fori_loop(0, np.int32(3), lambda i, c: f(c), x),
    "map": lambda j, f, x: j.lax.map(lambda row: f(x), j.numpy.arange(2.0)),
    "associative_scan": lambda j, f, x: j.lax.associative_scan(
        lambda a, b: a + b, j.numpy.stack([f(x), f(x)])
    ),
    "batch": lambda j, f, x: j.vmap(
        lambda y: j.lax.scan(lambda c, _: (f(c), f(y)), x, None, length=2)
    )(j.numpy.arange(2.0)),
}


def types(j: Any, function: Callable[..., Any], *args: Any) -> list[Any]:
    found = j.tree.leaves(j.eval_shape(function, *args))
    return [(a.shape, np.dtype(a.dtype).name, a.weak_type) for a in found]


@pytest.mark.parametrize("name", BRANCHES)
def test_branches(name: str) -> None:
    for (_, f), (_, g), argument in itertools.product(
        BODIES.items(), BODIES.items(), ("float", "strong float")
    ):

        def of(j: Any, f: Any = f, g: Any = g, x: Any = ARGUMENTS[argument]) -> list[Any]:
            branch = BRANCHES[name]
            return types(j, lambda x: branch(j, lambda x: f(j, x), lambda x: g(j, x), x), x(j))

        assert of(jitney) == of_jax(of), (f, g, argument)


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name: str) -> None:
    for (body, f), (argument, x) in itertools.product(BODIES.items(), ARGUMENTS.items()):

        def of(j: Any, f: Any = f, x: Any = x) -> list[Any]:
            return types(j, lambda x: LOOPS[name](j, lambda x: f(j, x), x), x(j))

        assert of(jitney) == of_jax(of), (body, argument)


# Carries that begin as a number and come out as a dtype, and the dtype they get; None: refused.
CARRIES = [
    (0.0, "int32", None),
    (0.0, "bool", None),
    (0.0, "float16", "float16"),
    (0.0, "complex64", "complex64"),
    (0, "bool", None),
    (0, "int8", "int8"),
    (0, "float16", "float16"),
    (0j, "float32", None),
    (True, "int32", None),
]


@pytest.mark.parametrize(("number", "dtype", "wanted"), CARRIES)
@pytest.mark.parametrize("shape", [(), (3,), (0,)])
def test_numbers_yield_to_dtypes_that_hold_them(
    number: complex, dtype: str, wanted: str | None, shape: tuple[int, ...]
) -> None:
    """As real JAX 0.10.2 answers: the carry gets the dtype that arithmetic of both would have."""
    jnp, lax = jitney.numpy, jitney.lax
    x = jnp.broadcast_to(jnp.asarray(number), shape)

    def body(c: Any) -> Any:
        return jnp.zeros(c.shape, dtype)

    loops: list[Callable[[], Any]] = [
        lambda: lax.scan(lambda c, _: (body(c), None), x, None, length=2)[0],
        lambda: lax.while_loop(lambda c: jnp.any(c != 0), body, x),
        lambda: lax.fori_loop(0, 2, lambda i, c: body(c), x),
    ]
    for loop in loops:
        if wanted is None:
            with pytest.raises(TypeError, match=r"do not match|differ"):
                loop()
        else:
            assert loop().dtype == wanted and not loop().weak_type


def test_strict_promotion_takes_a_weak_branch() -> None:
    """The first branch decides: a number of the other one does not make the result strong."""

    def dtype(j: Any) -> Any:
        with j.numpy_dtype_promotion("strict"):
            x = j.numpy.ones(2, np.float16)
            y = j.lax.cond(True, lambda strong: strong, lambda _: 2.0, np.float32(1))
            return (x * y).dtype

    assert dtype(jitney) == of_jax(dtype) == np.float16
