"""Types of users that stand for arrays, and what they ask of the class `jax.Array`."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.compat import pytype_aval_mappings
from jitney.extend import backend
from jitney.interpreters import xla


class Lent:
    """Holds an array that NumPy cannot read by itself."""

    def __init__(self, data):
        self.data = data

    shape = property(lambda self: self.data.shape)


@pytest.fixture
def lent():
    pytype_aval_mappings[Lent] = lambda x: jax.core.ShapedArray(x.shape, x.data.dtype)
    xla.canonicalize_dtype_handlers[Lent] = lambda x: x.data
    yield Lent(jnp.arange(3.0))
    del pytype_aval_mappings[Lent], xla.canonicalize_dtype_handlers[Lent]


def test_registered_types_are_operands(lent):
    data = lent.data
    ones = jnp.ones(3)
    for found, expected in (
        (jnp.sin(lent), jnp.sin(data)),
        (jax.lax.add(ones, lent), data + 1),
        (jax.jit(lambda x: x * 2)(lent), data * 2),
        (jax.jit(lambda x: jax.lax.add(x, lent))(ones), data + 1),
        (jax.grad(lambda x: jnp.sum(x**2))(lent), 2 * data),
        (jax.vmap(jnp.cos)(lent), jnp.cos(data)),
    ):
        np.testing.assert_array_equal(found, expected)


def test_types_without_a_rule_are_read_by_numpy():
    read = xla.canonicalize_dtype_handlers[np.ndarray]
    assert read(np.ones(2)).dtype == np.float32
    assert read([1, 2]).dtype == np.int32
    assert list not in xla.canonicalize_dtype_handlers


def test_the_class_of_arrays_has_what_all_arrays_have():
    x = jnp.arange(6.0).reshape(2, 3)
    for name in ("shape", "dtype", "ndim", "size", "nbytes", "itemsize", "weak_type"):
        assert getattr(jax.Array, name).fget(x) == getattr(x, name), name
        traced = []
        jax.eval_shape(lambda y: traced.append(getattr(y, name)), x)  # noqa: B023
        assert traced == [getattr(x, name)], name
    assert jax.Array.item(x, 4) == 4.0


def test_backends():
    (cpu,) = backend.backends().values()
    assert backend.get_backend() is backend.get_backend("cpu") is cpu
    assert list(cpu.devices()) == jax.devices()
