"""What the classes of types tell of tracers, and types of the parts of a `shard_map`."""

import importlib

import numpy as np
import pytest
from tests.helpers.both import check

import jitney
from jitney.core.types.avals import AbstractValue
from jitney.experimental import hijax

METHODS = """
    all any argmax argmin argpartition argsort astype byteswap choose clip compress conj
    conjugate copy cumprod cumsum diagonal dot flatten item max mean min nonzero prod ptp ravel
    repeat reshape round searchsorted sort squeeze std sum swapaxes take to_device trace
    transpose var view
""".split()
PROPERTIES = "T mT at flat imag itemsize real".split()


def part(jax, name):
    """A module of either package."""
    return importlib.import_module(f"{jax.__name__}.{name}")


def kinds_of_attributes(jax, jnp):
    array = jax.core.ShapedArray
    aval = array((2, 3), jnp.float32)
    kinds = {name: type(getattr(array, name)) for name in (*METHODS, *PROPERTIES)}
    return kinds, [
        type(aval.T),
        type(aval.sum),
        aval.array_abstraction_level,
        aval.shape,
        aval.ndim,
    ]


def attributes_are_of_arrays(jax, jnp):
    array = jax.core.ShapedArray
    x = jnp.arange(6.0).reshape(2, 3)
    return [
        array.sum.fun(x, axis=1), array.T.fget(x), array.at.fget(x)[0].set(1.0),
        array.itemsize.fget(x), array.item.fun(x, 2), jax.jit(array.ravel.fun)(x),
    ]  # fmt: skip


def attributes_of_references(jax, jnp):
    kind = part(jax, "experimental.hijax").AbstractRef
    ref = jax.new_ref(jnp.arange(6.0).reshape(2, 3))
    names = "T addupdate at bitcast get reshape set swap transpose".split()
    kind.addupdate.fun(ref, jnp.ones(3), 0)
    kind.set.fun(ref, 7.0, (1, 1))
    before = kind.swap.fun(ref, 8.0, (1, 2))
    view = kind.at.fget(ref)[1]
    return {n: type(getattr(kind, n)) for n in names}, before, kind.get.fun(ref), view[...]


def values_for_others(jax, jnp):
    aval = jax.core.ShapedArray((2,), jnp.float32)
    parts = aval.lower_val2(3)
    return [parts.vals, parts.unflatten(), aval.raise_val2(parts)]


def raise_of_what_is_not_flattened(jax, jnp):
    return jax.core.ShapedArray((2,), jnp.float32).raise_val2(1)


@pytest.mark.parametrize(
    "case",
    [
        kinds_of_attributes,
        attributes_are_of_arrays,
        attributes_of_references,
        values_for_others,
        raise_of_what_is_not_flattened,
    ],
    ids=lambda case: case.__name__,
)
def test_types_describe_tracers(case):
    check(case)


def test_attributes_that_are_there_show_in_types_of_users_alone():
    assert not hasattr(AbstractValue, "sum")
    assert not hasattr(hijax.HiType, "sum")
    assert not hasattr(jitney.typeof(np.float32(1)), "nothing")


# --- parts of a shard_map ---------------------------------------------------------------------------

BOTH = ("x", "y")


def on_mesh(jax, use, kind="Explicit"):
    mesh = jax.sharding.AbstractMesh(
        (2, 2), BOTH, axis_types=(getattr(jax.sharding.AxisType, kind),) * 2
    )
    aval = jax.core.ShapedArray((4, 6), np.float32, weak_type=True)
    return str(use(aval, mesh, jax.P))


PARTS = {
    "rows": lambda a, mesh, P: a.shard(mesh, frozenset(BOTH), True, P("x")),
    "unchecked": lambda a, mesh, P: a.shard(mesh, frozenset(BOTH), False, P("x")),
    "one axis": lambda a, mesh, P: a.shard(mesh, frozenset("x"), True, P("x")),
    "an axis of two": lambda a, mesh, P: a.shard(mesh, frozenset(BOTH), True, P(BOTH)),
    "columns": lambda a, mesh, P: a.shard(mesh, frozenset(BOTH), True, P(None, "x")),
    "not manual": lambda a, mesh, P: a.shard(mesh, frozenset("x"), True, P("x", "y")),
    "unreduced": lambda a, mesh, P: a.shard(mesh, frozenset(BOTH), True, P(unreduced={"x"})),
    "and back": lambda a, mesh, P: a.shard(mesh, frozenset(BOTH), True, P("x")).unshard(
        mesh, True, P("x")
    ),
    "whole": lambda a, mesh, P: a.unshard(mesh, True, P(None, BOTH)),
    "residuals": lambda a, mesh, P: a.shard(mesh, frozenset(BOTH), True, P("x")).nospec(
        mesh, True, BOTH
    ),
    "residuals of two": lambda a, mesh, P: a.shard(mesh, frozenset(BOTH), True, P(BOTH)).nospec(
        mesh, True, ()
    ),
    "residuals of equal parts": lambda a, mesh, P: a.nospec(mesh, True, BOTH),
    "residuals, unchecked": lambda a, mesh, P: a.nospec(mesh, False, ("y", "x")),
}


@pytest.mark.parametrize("kind", ["Explicit", "Auto"])
@pytest.mark.parametrize("name", list(PARTS))
def test_types_of_parts(name, kind):
    use = PARTS[name]
    check(lambda jax, jnp: on_mesh(jax, use, kind))


def parts_of_references(jax, jnp):
    mesh = jax.sharding.AbstractMesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
    ref = part(jax, "experimental.hijax").AbstractRef(jax.core.ShapedArray((4,), jnp.float32))
    return str(ref.shard(mesh, frozenset("x"), True, jax.P("x")))


def whole_of_references(jax, jnp):
    mesh = jax.sharding.AbstractMesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
    ref = part(jax, "experimental.hijax").AbstractRef(jax.core.ShapedArray((4,), jnp.float32))
    return ref.unshard(mesh, True, jax.P("x"))


def parts_of_tokens(jax, jnp):
    return part(jax, "extend.core").AbstractToken().shard(None, frozenset(), True, jax.P())


def parts_of_users_values(jax, jnp):
    class Kind(part(jax, "experimental.hijax").HiType):
        pass

    return Kind().nospec(None, True, ())


@pytest.mark.parametrize(
    "case",
    [parts_of_references, whole_of_references, parts_of_tokens, parts_of_users_values],
    ids=lambda case: case.__name__,
)
def test_types_of_other_parts(case):
    check(case)
