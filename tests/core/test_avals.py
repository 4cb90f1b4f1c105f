"""Types of arrays: where an array lies is part of its type, as in jax."""

import pickle

import jax
import numpy as np
import pytest
from jax.sharding import (
    AbstractMesh as JaxMesh,
    AxisType as JaxAxisType,
    NamedSharding as JaxSharding,
    PartitionSpec as JaxSpec,
)

import jitney
from jitney.core.avals import ShapedArray, placed_array, shaped_array
from jitney.core.manual_axes import ManualAxisType
from jitney.core.memory_space import MemorySpace
from jitney.core.sharding.mesh import AbstractMesh, AxisType, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec

F32 = np.dtype(np.float32)
E, A, M = "Explicit", "Auto", "Manual"


class Ours:
    array, mesh, kinds = ShapedArray, AbstractMesh, AxisType
    sharding, spec, manual, space = NamedSharding, PartitionSpec, ManualAxisType, MemorySpace


class Theirs:
    array, mesh, kinds = jax.core.ShapedArray, JaxMesh, JaxAxisType
    sharding, spec, space = JaxSharding, JaxSpec, jax.memory.Space
    manual = type(jax.typeof(np.float32(0)).manual_axis_type)


def made(side, shape=(8, 4), spec=None, kinds=(E, E), manual=None, space="Device", weak=False):
    """A type of ours or of theirs: `spec` is (partitions, options)."""
    sharding = None
    if spec is not None or manual is not None:
        partitions, options = spec or ((), {})
        kinds = (M, M) if manual is not None else kinds
        mesh = side.mesh(
            (4, 2), ("x", "y"), axis_types=tuple(getattr(side.kinds, k) for k in kinds)
        )
        sharding = side.sharding(mesh, side.spec(*partitions, **options))
    return side.array(
        shape, F32, weak, sharding=sharding, memory_space=getattr(side.space, space),
        **({} if manual is None else {"manual_axis_type": side.manual(**manual)}),
    )  # fmt: skip


CASES = {
    "default": {},
    "first": {"spec": (("x",), {})},
    "second": {"spec": ((None, "y"), {})},
    "both": {"spec": (("x", "y"), {})},
    "two_along_one": {"spec": ((("x", "y"), None), {})},
    "more_entries": {"spec": (("x", "y", None), {})},
    "unreduced": {"spec": (("x",), {"unreduced": {"y"}})},
    "reduced": {"spec": ((), {"reduced": {"x"}})},
    "auto": {"spec": (("x", "y"), {}), "kinds": (A, A)},
    "mixed": {"spec": (("x", "y"), {}), "kinds": (A, E)},
    "host": {"space": "Host"},
    "any_memory": {"space": "Any", "weak": True, "spec": (("x",), {})},
    "varying": {"manual": {"varying": {"x"}}},
    "varying_along_two": {"manual": {"varying": {"x", "y"}}},
    "varying_and_unreduced": {"manual": {"varying": {"x"}, "unreduced": {"y"}}},
    "varying_and_reduced": {"manual": {"varying": {"x"}, "reduced": {"y"}}},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_texts(case):
    ours, theirs = made(Ours, **case), made(Theirs, **case)
    assert str(ours) == str(theirs)
    assert repr(ours) == repr(theirs)
    assert ours.str_short(short_dtypes=True) == theirs.str_short(short_dtypes=True)
    assert ours.str_short(True, True) == theirs.str_short(True, True)
    assert str(ours.sharding.spec) == str(theirs.sharding.spec)
    assert repr(ours.manual_axis_type.varying) == repr(theirs.manual_axis_type.varying)
    assert str(ours.memory_space) == str(theirs.memory_space)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_copies_have_all_attributes(case):
    ours, theirs = made(Ours, **case), made(Theirs, **case)
    for change in (
        lambda a: a.update(),
        lambda a: a.update(shape=(16, 8)),
        lambda a: a.update(shape=(8, 4, 3)),
        lambda a: a.update(dtype=np.dtype(np.int32)),
        lambda a: a.update(weak_type=True),
        lambda a: a.strip_weak_type(),
        lambda a: a.update(weak_type=True).strip_weak_type(),
        lambda a: a.at_least_vspace(),
        lambda a: a.update(dtype=np.dtype(np.int32)).to_tangent_aval(),
        lambda a: a.to_ct_aval(),
    ):
        assert repr(change(ours)) == repr(change(theirs))
    assert ours.update() == ours
    assert pickle.loads(pickle.dumps(ours)) == ours


def test_types_are_equal_by_all_attributes():
    types = [made(Ours, **case) for case in CASES.values()]
    theirs = [made(Theirs, **case) for case in CASES.values()]
    for i, a in enumerate(types):
        assert hash(a) == hash(made(Ours, **list(CASES.values())[i]))
        for j, b in enumerate(types):
            assert (a == b) == (theirs[i] == theirs[j]), (a, b)


def test_types_are_interned():
    assert shaped_array((3,), F32) is shaped_array((3,), F32).update(weak_type=False)
    sharded = made(Ours, spec=(("x",), {}))
    args = sharded.sharding, sharded.manual_axis_type, sharded.memory_space
    assert placed_array((8, 4), F32, False, *args) is placed_array((8, 4), F32, False, *args)
    plain = shaped_array((8, 4), F32)
    assert placed_array((8, 4), F32, False, None, plain.mat, plain.memory_space) is plain
    assert sharded.update(sharding=None) is plain


def test_arrays_lie_whole_on_no_mesh():
    for x in (jitney.numpy.ones((3, 4)), 1.0, jitney.random.key(0)):
        aval = jitney.typeof(x)
        theirs = jax.typeof(np.ones(aval.shape))
        assert repr(aval.sharding) == repr(theirs.sharding)
        assert aval.vma == frozenset() == theirs.manual_axis_type.varying
        assert repr(aval.memory_space) == repr(theirs.memory_space)


def test_jaxprs_print_where_values_lie():
    from jitney.core.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, Var

    var = Var(made(Ours, spec=(("x",), {})))
    closed = ClosedJaxpr(Jaxpr((), [var], [var], [], frozenset(), DebugInfo("test", "f")), ())
    assert str(closed) == "{ lambda ; a:f32[8@x,4]. let  in (a,) }"


@pytest.mark.parametrize(
    "shape, partitions", [((3, 4), ("x",)), ((8,), ("x", "y")), ((4,), (("x", "y"),))]
)
def test_shardings_that_do_not_fit(shape, partitions):
    for side in (Ours, Theirs):
        with pytest.raises((ValueError, AssertionError)):
            made(side, shape=shape, spec=(partitions, {}))


def test_meshes_of_types_have_no_devices():
    mesh = Mesh(np.array(jitney.devices()), ("x",), (AxisType.Explicit,))
    with pytest.raises(ValueError, match="AbstractMesh"):
        ShapedArray((8,), F32, sharding=NamedSharding(mesh, PartitionSpec("x")))


def test_an_axis_has_one_manual_type():
    with pytest.raises(ValueError, match="only one"):
        ManualAxisType(varying={"x"}, reduced={"x"})


def test_unknown_attributes_are_errors():
    with pytest.raises(TypeError):
        shaped_array((3,), F32).update(wrong=1)
    with pytest.raises(TypeError):
        ShapedArray((3,), F32, wrong=1)
