"""Lower layers receive operators, types of shards and evaluation from higher ones."""

import numpy as np
import pytest

import jitney as jax
from jitney import export, wiring
from jitney.core.array import Array
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.types.avals import shaped_array
from jitney.runtime.arrays.array import ArrayImpl


@pytest.mark.parametrize("name", ["__add__", "__getitem__", "sum", "reshape", "astype"])
def test_members_are_named_after_arrays_and_tracers_have_them(name):
    assert vars(Array)[name].__qualname__ == f"Array.{name}"
    jax.make_jaxpr(lambda x: used.append(callable(getattr(x, name))) or x)(1.0)
    assert used.pop() and callable(getattr(jax.numpy.ones(2), name))


used = []


def test_properties_compute_with_the_functions_of_numpy():
    x = jax.numpy.asarray([[1, 2j]])
    assert x.T.tolist() == [[1], [2j]] and x.real.tolist() == [[1, 0]] and x.at[0, 0].get() == 1
    assert (np.float32(2) * x).tolist() == [[2, 4j]] and isinstance(np.float32(2) * x, ArrayImpl)


def test_types_of_parts_and_wholes_are_inverses():
    mesh = jax.sharding.AbstractMesh((4,), ("x",))
    whole, spec = shaped_array((8, 3), np.dtype("float32")), PartitionSpec("x")
    types = wiring._PartTypes()
    part = types.part(whole, mesh, frozenset({"x"}), True, spec)
    assert part.shape == (2, 3)
    assert types.whole(part, mesh, True, spec).shape == (8, 3)


def test_programs_are_lowered_to_arrays_without_references():
    def f(x):
        ref = jax.new_ref(x)
        ref[...] += 1
        return ref[...]

    closed = jax.make_jaxpr(f)(1.0)
    names = [eqn.primitive.name for eqn in wiring._on_arrays(closed).eqns]
    assert "add" in names and not {"new_ref", "get", "swap", "addupdate"} & set(names)


def test_symbolic_sizes_are_values_of_programs():
    (n,) = export.symbolic_shape("n")
    f = jax.make_jaxpr(lambda x: wiring._value_of_dim(x.shape[0] + 1))
    closed = f(jax.ShapeDtypeStruct((n,), np.float32))
    assert closed.out_avals[0].shape == () and closed.out_avals[0].dtype == np.int32
    assert closed.eqns[-1].params["dim"] == n + 1


def test_modules_receive_what_jax_exports_from_them():
    assert wiring._reexported("jax.experimental.rnn", "Array") is jax.Array
    assert wiring._reexported("jax.experimental.rnn", "no_such_name") is None
