"""`in_nzs` and `saveable_args` of `vjp` and `linearize`; the trees are those of JAX 0.12.0.1."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

X, Y = jnp.float32(2), jnp.float32(3)
ONE = jnp.float32(1)
Pair = collections.namedtuple("Pair", "a b")


def product(x: Any, y: Any) -> Any:
    return jnp.sin(x) * y


def vjp(*args: Any, **options: Any) -> Any:
    return jax.vjp(*args, **options)[1]


# --- in_nzs ---------------------------------------------------------------------------------------


def test_tangents_that_are_said_to_be_zero():
    pullback = vjp(product, X, Y, in_nzs=(True, False))
    np.testing.assert_allclose(pullback(ONE), (3 * np.cos(2), 0), rtol=1e-6)
    assert pullback.out_nzs is True and pullback(ONE)[1].dtype == "float32"
    assert vjp(product, X, Y, in_nzs=False)(ONE) == (0, 0)
    assert vjp(product, X, Y, in_nzs=False).out_nzs is False
    of_dict = vjp(lambda d: d["a"] * d["b"], {"a": X, "b": Y}, in_nzs=((True, False),))
    assert of_dict(ONE) == ({"a": 3, "b": 0},)
    value, linear = jax.linearize(product, X, Y, in_nzs=(True, False))
    assert value == product(X, Y) and linear.out_nzs is True
    np.testing.assert_allclose(linear(ONE, ONE), 3 * np.cos(2), rtol=1e-6)
    assert linear(ONE, ONE) == linear(ONE, 10 * ONE)
    with_aux: Any = jax.vjp(lambda x: (x, x), X, has_aux=True, in_nzs=(False,))
    assert with_aux[1](ONE) == (0,) and with_aux[2] == X


def test_which_results_have_tangents():
    def tree(x: Any) -> Any:
        return Pair(x, 1.0), [x], {"k": x, "l": 2.0}

    wanted = ((True, False), [True], {"k": True, "l": False})
    assert vjp(tree, X).out_nzs == wanted
    assert jax.linearize(lambda x: (x, None, [None]), X)[1].out_nzs == (True, None, [None])
    assert jax.linearize(tree, X)[1].out_nzs == wanted
    assert vjp(lambda x, y: (x, y), X, Y, in_nzs=(False, True)).out_nzs == (False, True)


def test_nothing_is_computed_for_tangents_that_are_zero():
    def of_x(x: Any, y: Any) -> Any:
        return jax.linearize(lambda x, y: x * jnp.exp(y), x, y, in_nzs=(True, False))[1](x, y)

    program = str(jax.make_jaxpr(of_x)(1.0, 2.0))
    assert program.count("mul") == 2  # the value, and the derivative by x


def test_flags_under_transformations():
    def slope(x: Any, y: Any) -> Any:
        return vjp(product, x, y, in_nzs=(False, True))(ONE)

    for f in (jax.jit(slope), slope):
        np.testing.assert_allclose(f(X, Y), (0, np.sin(2)), rtol=1e-6)
    xs = jnp.arange(3.0)
    np.testing.assert_allclose(jax.vmap(slope, (0, None))(xs, Y)[1], np.sin(xs), rtol=1e-6)
    by_x = jax.grad(lambda x: slope(x, Y)[1])
    np.testing.assert_allclose(by_x(X), np.cos(2), rtol=1e-6)


@pytest.mark.parametrize("option", ["in_nzs", "saveable_args"])
def test_flags_that_do_not_fit(option: str):
    with pytest.raises(ValueError, match=rf"{option} argument of jax\.vjp.*has 1.*has 2"):
        vjp(product, X, Y, **{option: (True,)})
    with pytest.raises(ValueError, match=rf"{option}.*pytree of booleans.*3"):
        vjp(product, X, Y, **{option: 3})
    with pytest.raises(ValueError, match=option):
        vjp(product, X, Y, **{option: (True, (True,))})
    wrong: Any = (True,)
    with pytest.raises(ValueError, match=r"in_nzs argument of jax\.linearize"):
        jax.linearize(product, X, Y, in_nzs=wrong)


# --- saveable_args --------------------------------------------------------------------------------


def test_arguments_that_are_not_kept():
    pullback = vjp(lambda x, y: x * y, X, Y, saveable_args=(True, False))
    assert pullback.args_res[0] is X and repr(pullback.args_res[1]) == "NotSaveable()"
    with pytest.raises(ValueError, match=r"leaf 1 .*saveable_args"):
        pullback(ONE)
    pullback.args_res = [X, Y]
    assert pullback(ONE) == (3, 2)
    assert repr(vjp(lambda x, y: x * y, X, Y, saveable_args=False).args_res) == (
        "[NotSaveable(), NotSaveable()]"
    )
    unneeded = vjp(lambda x, y: x * 2 + y, X, Y, saveable_args=False)
    assert unneeded(ONE) == (2, 1) and repr(unneeded.args_res[0]) == "NotNeeded()"
    of_dict = vjp(
        lambda d: d["a"] * d["b"], {"a": X, "b": Y}, saveable_args=({"a": True, "b": False},)
    )
    assert repr(of_dict.args_res) == f"[{{'a': {X!r}, 'b': NotSaveable()}}]"
    of_dict = vjp(lambda d: d["a"] * d["b"], {"a": X, "b": Y}, saveable_args=((True, False),))
    assert repr(of_dict.args_res[0]["b"]) == "NotSaveable()" and of_dict.args_res[0]["a"] is X
    assert not [x for x in jax.tree.leaves(of_dict) if x is Y]
