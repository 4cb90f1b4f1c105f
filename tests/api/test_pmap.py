"""`pmap` on the one device that there is."""

import numpy as np
import pytest
from tests.helpers.both import of_both

import jitney
import jitney.numpy as jnp
from jitney import lax


def test_like_jax():
    def mapped(lib):
        return lib.pmap(
            lambda x, y, scale: (lib.lax.psum(x, "i") * scale + y, lib.lax.axis_index("i")),
            "i", in_axes=(0, None, 1), out_axes=(1, 0),
        )(np.ones((1, 3), "f"), np.arange(3, dtype="f"), np.full((3, 1), 2, "f"))  # fmt: skip

    for a, b in zip(*of_both(mapped), strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_static_and_keyword_arguments():
    f = jitney.pmap(
        lambda x, power, y: x**power + y, in_axes=(0, None), static_broadcasted_argnums=1
    )
    np.testing.assert_array_equal(f(jnp.full((1, 2), 3.0), 2, y=jnp.ones((1, 2))), [[10.0, 10.0]])
    np.testing.assert_array_equal(f(jnp.full((1, 2), 3.0), 1, y=jnp.ones((1, 2))), [[4.0, 4.0]])


def test_is_compiled_and_composes():
    f = jitney.pmap(lambda x: jnp.sin(x).sum())
    assert f.lower(jnp.ones((1, 3))).compile() is not None
    gradient = jitney.grad(lambda x: f(x)[0])(jnp.zeros((1, 3)))
    np.testing.assert_array_equal(gradient, np.ones((1, 3)))
    np.testing.assert_array_equal(jitney.vmap(f)(jnp.zeros((2, 1, 3))), np.zeros((2, 1)))


def test_axis_size():
    size = jitney.pmap(lambda: lax.psum(1, "i"), axis_name="i", axis_size=1)
    np.testing.assert_array_equal(size(), [1])


def test_more_indices_than_devices():
    with pytest.raises(ValueError, match=r"pmap of f: the mapped axis has 2 indices.*1 device"):

        def f(x):
            return x

        jitney.pmap(f)(jnp.ones((2, 3)))


def test_keeps_the_function():
    def f(x):
        return x

    assert jitney.pmap(f).__wrapped__ is f


def test_scalars():
    with pytest.raises(ValueError, match=r"its rank must be at least 1, but its shape is \(\)"):
        jitney.pmap(lambda x: x)(1.0)
    with pytest.raises(TypeError, match="pmap needs a function, but got 3"):
        jitney.pmap(3)


def test_axes_and_static_arguments():
    with pytest.raises(TypeError, match="all axes must be integers or None"):
        jitney.pmap(lambda x: x, in_axes=False)
    static = jitney.pmap(lambda a, b: a + b, static_broadcasted_argnums=1)
    np.testing.assert_array_equal(static(jnp.ones((1, 2)), 2), [[3, 3]])
    with pytest.raises(ValueError, match="pass static arguments by position"):
        static(jnp.ones((1, 2)), b=2)
