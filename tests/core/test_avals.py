"""Types of arrays: where an array lies is part of its type, as in jax."""

import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.helpers.oracle import answer, jax

import jitney
from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.core.sharding.mesh import AbstractMesh, AxisType, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.types.avals import ShapedArray, placed_array, shaped_array
from jitney.core.types.memory_space import MemorySpace

F32 = np.dtype(np.float32)
E, A, M = "Explicit", "Auto", "Manual"


class Side(NamedTuple):
    """The classes of which types are made."""

    array: Any
    mesh: Any
    kinds: Any
    sharding: Any
    spec: Any
    manual: Any
    space: Any


OURS = Side(
    ShapedArray, AbstractMesh, AxisType, NamedSharding, PartitionSpec, ManualAxisType, MemorySpace
)


def theirs():
    places = jax.sharding
    manual = type(jax.typeof(np.float32(0)).manual_axis_type)
    return Side(
        jax.core.ShapedArray, places.AbstractMesh, places.AxisType, places.NamedSharding,
        places.PartitionSpec, manual, jax.memory.Space,
    )  # fmt: skip


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
    def texts(side):
        aval = made(side, **case)
        return [
            str(aval), repr(aval), aval.str_short(short_dtypes=True), aval.str_short(True, True),
            str(aval.sharding.spec), sorted(aval.manual_axis_type.varying), str(aval.memory_space),
        ]  # fmt: skip

    assert texts(OURS) == answer(lambda: texts(theirs()))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_copies_have_all_attributes(case):
    def changed(side):
        a = made(side, **case)
        copies = [
            a.update(),
            a.update(shape=(16, 8)),
            a.update(shape=(8, 4, 3)),
            a.update(dtype=np.dtype(np.int32)),
            a.update(weak_type=True),
            a.strip_weak_type(),
            a.update(weak_type=True).strip_weak_type(),
            a.at_least_vspace(),
            a.update(dtype=np.dtype(np.int32)).to_tangent_aval(),
            a.to_ct_aval(),
        ]
        return [repr(copy) for copy in copies]

    assert changed(OURS) == answer(lambda: changed(theirs()))
    ours = made(OURS, **case)
    assert ours.update() == ours
    assert pickle.loads(pickle.dumps(ours)) == ours


def test_more_entries_than_axes_are_refused():
    more = {"spec": (("x", "y", None), {})}
    assert answer(lambda: str(made(theirs(), **more))).name == "ValueError"
    with pytest.raises(ValueError, match="has more entries than an array of shape"):
        made(OURS, **more)


def test_types_are_equal_by_all_attributes():
    def equal(side):
        types = [made(side, **case) for case in CASES.values()]
        return [[a == b for b in types] for a in types]

    assert equal(OURS) == answer(lambda: equal(theirs()))
    for case in CASES.values():
        assert hash(made(OURS, **case)) == hash(made(OURS, **case))


def test_types_are_interned():
    assert shaped_array((3,), F32) is shaped_array((3,), F32).update(weak_type=False)
    sharded = made(OURS, spec=(("x",), {}))
    args = sharded.sharding, sharded.manual_axis_type, sharded.memory_space
    assert placed_array((8, 4), F32, False, *args) is placed_array((8, 4), F32, False, *args)
    plain = shaped_array((8, 4), F32)
    assert placed_array((8, 4), F32, False, None, plain.mat, plain.memory_space) is plain
    assert sharded.update(sharding=None) is plain


def test_arrays_lie_whole_on_no_mesh():
    for x in (jitney.numpy.ones((3, 4)), 1.0, jitney.random.key(0)):
        aval = jitney.typeof(x)
        assert aval.vma == frozenset()
        assert where(aval) == answer(lambda shape=aval.shape: where(jax.typeof(np.ones(shape))))


def where(aval):
    varying = sorted(aval.manual_axis_type.varying)
    return repr(aval.sharding), varying, repr(aval.memory_space)


def test_jaxprs_print_where_values_lie():
    from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, Var

    var = Var(made(OURS, spec=(("x",), {})))
    closed = ClosedJaxpr(Jaxpr((), [var], [var], [], frozenset(), DebugInfo("test", "f")), ())
    assert str(closed) == "{ lambda ; a:f32[8@x,4]. let  in (a,) }"


@pytest.mark.parametrize(
    "shape, partitions", [((3, 4), ("x",)), ((8,), ("x", "y")), ((4,), (("x", "y"),))]
)
def test_shardings_that_do_not_fit(shape, partitions):
    def claim(side):
        with pytest.raises((ValueError, AssertionError)):
            made(side, shape=shape, spec=(partitions, {}))

    claim(OURS)
    assert answer(lambda: claim(theirs())) is None


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
