"""Which inputs an output may lie in: those that are not read after it is written."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler import pipeline
from jitney.compiler.plan.aliasing import input_output_alias

X = np.linspace(-2.0, 3.0, 300 * 40, dtype=np.float32).reshape(300, 40)
Y = X[::-1].copy()
SQUARE = np.linspace(0.0, 1.0, 60 * 60, dtype=np.float32).reshape(60, 60)


def counted(x):
    return lax.fori_loop(0, 5, lambda i, x: jnp.sin(x) @ SQUARE[: x.shape[1], : x.shape[1]] + i, x)


def momentum(w, m, g):
    m = 0.9 * m + g
    return w - 0.1 * m, m


# name -> function, operands, and for each output the inputs that it may lie in
CASES = {
    "elementwise": (lambda x: jnp.sin(x) + 1, (X,), ((0,),)),
    "two operands": (lambda x, y: x * y, (X, Y), ((0, 1),)),
    "identity": (lambda x: x, (X,), ((0,),)),
    "swapped": (lambda x, y: (y, x), (X, Y), ((1,), (0, 1))),
    "copied twice": (lambda x: (x, x), (X,), ((0,), (0,))),
    "one element": (lambda x, i: x.at[i, i].add(2.0), (X, 3), ((0,),)),
    "a slice": (lambda x, y: x.at[2:5].set(y[:3]), (X, Y), ((0,),)),
    "a loop": (counted, (X,), ((0,),)),
    "a loop in registers": (counted, (X[:2, :2],), ((0,),)),
    "momentum": (momentum, (X, Y, X), ((0, 1, 2), (0, 1, 2))),
    # What is read in another order, or again, is not there any more.
    "rows added to twice": (
        lambda x: x.at[jnp.array([0, -1]), None].multiply(x),
        (X[None],),
        ((),),
    ),
    "a row taken twice": (lambda x, i: x.at[i].multiply(x[i]), (X, np.array([1, 1, 0])), ((),)),
    "reversed": (lambda x: x[::-1] * 2, (X,), ((),)),
    "transposed": (lambda x: x.T + 1, (SQUARE,), ((),)),
    "a product": (lambda x, y: x @ y, (SQUARE, SQUARE), ((),)),
    "normalized": (lambda x: x - x.sum(axis=1, keepdims=True), (X,), ((0,),)),
    "two results": (lambda x: (x + 1, x * 2), (X,), ((0,), (0,))),
    "read again": (lambda x, y: (x + 1, jnp.cos(x @ y)), (SQUARE, SQUARE), ((), (0, 1))),
    "read twice before, once after": (
        lambda x, y: (z := jnp.sin(x @ y + y @ x), z @ x),
        (SQUARE, SQUARE),
        ((1,), (1,)),
    ),
    "read three times before": (lambda x, y: x @ y + y @ x + x @ x, (SQUARE, SQUARE), ((0, 1),)),
    # Operands of other types are of no use.
    "another dtype": (lambda x: x.astype(jnp.int32), (X,), ((),)),
    "a sum": (lambda x: x.sum(), (X,), ((),)),
}


def plan_of(f, operands):
    module = jax.jit(f).lower(*operands).compiler_ir()
    return pipeline.plan(pipeline.optimize(module))


def may_alias(plan):
    """For each output, the inputs of its type in whose memory it may lie."""
    alias = input_output_alias(plan)
    return tuple([
        tuple([i for i, t in enumerate(plan.inputs) if t == output and alias.allows(i, j)])
        for j, output in enumerate(plan.outputs)
    ])  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_inputs_that_an_output_may_lie_in(name):
    f, operands, expected = CASES[name]
    assert may_alias(plan_of(f, operands)) == expected


@pytest.mark.parametrize("name", CASES)
def test_results_are_the_same_in_donated_memory(name):
    f, operands, _ = CASES[name]
    plain = jax.tree.leaves(jax.jit(f)(*operands))
    for i in {i for inputs in may_alias(plan_of(f, operands)) for i in inputs}:
        donated = jax.jit(f, donate_argnums=i)
        given = [jnp.array(x) for x in operands]
        for _ in range(2):  # by Python, then by the signature
            given[i] = jnp.array(operands[i])
            for got, expected in zip(jax.tree.leaves(donated(*given)), plain, strict=True):
                np.testing.assert_array_equal(got, expected)
            assert given[i].is_deleted()


def test_users_functions_may_keep_what_they_are_given():
    kept = []

    def f(x):
        jax.debug.callback(kept.append, x)
        return x + 1

    assert may_alias(plan_of(f, (X,))) == ((),)
    x = jnp.array(X)
    jax.jit(f, donate_argnums=0)(x).block_until_ready()
    np.testing.assert_array_equal(kept[0], X)
