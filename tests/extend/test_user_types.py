"""Types of users that stand for arrays, and what they ask of the class `jax.Array`."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.recording.compat import pytype_aval_mappings
from jitney.extend import backend
from jitney.interpreters import batching, xla


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


class Table:
    """An array whose axes have names, and numbers that all its rows share; no pytree."""

    def __init__(self, names, data, common=1.0):
        self.names, self.data, self.common = names, data, common


class Axis:
    """What stands for an axis of a table."""

    def __init__(self, name, place):
        self.name, self.place = name, place


def row_of(cont, index, table, axis):
    names = [name for name in table.names if name != axis.name]
    return Table(names, cont(table.data, axis.place), table.common * (1 + index()))


def table_of(cont, size, row, axis):
    names = list(row.names)
    names.insert(axis.place, axis.name)
    return Table(names, cont(size, row.data, axis.place), cont(size, row.common, 0))


@pytest.fixture
def mapped_tables():
    batching.register_vmappable(Table, Axis, int, row_of, table_of, None)
    yield
    batching.unregister_vmappable(Table)


def test_vmap_takes_users_types_apart(mapped_tables):
    data = jnp.arange(6.0).reshape(2, 3)

    def doubled(table, scale):
        assert table.names == ["j"]
        assert table.data.shape == scale.shape == (3,)
        return Table(table.names, table.data * scale, table.common), scale.sum()

    def run(data):
        mapped = jax.vmap(
            doubled, (Axis("i", 0), None), (Axis("i", 1), 0), axis_size=2, axis_name="k"
        )
        table, sums = mapped(Table(["i", "j"], data), data[1])
        assert table.names == ["j", "i"]
        return table.data, table.common, sums

    for found in (run(data), jax.jit(run)(data)):
        np.testing.assert_array_equal(found[0], (data * data[1]).T)
        np.testing.assert_array_equal(found[1], [1.0, 2.0])
        np.testing.assert_array_equal(found[2], [12.0, 12.0])
    slopes = jax.grad(lambda x: run(x)[0].sum())(data)
    np.testing.assert_array_equal(slopes, [[3, 4, 5], [6, 9, 12]])


def test_vmap_of_arrays_while_types_are_registered(mapped_tables):
    x = jnp.arange(6.0).reshape(2, 3)
    twice = jax.vmap(jax.vmap(lambda a, b: a * b, (0, None), 0), (1, 0), -1)
    np.testing.assert_array_equal(twice(x, x[0]), x * x[0])
    with pytest.raises(ValueError, match="out_axes is None"):
        jax.vmap(lambda a: a, out_axes=None)(x)
    with pytest.raises(ValueError, match="mapped axes must have the same size"):
        jax.vmap(jnp.dot)(x, x[0])
    with pytest.raises(TypeError, match="must return arrays or scalars, but returned 'a'"):
        jax.vmap(lambda a: "a")(x)
    with pytest.raises(ValueError, match="axis_size"):
        jax.vmap(lambda t: t.data, Axis("i", 0))(Table(["i"], x[0]))
