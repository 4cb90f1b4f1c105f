"""Types that stand in for arrays have a shape and a dtype, and compare by all that they say."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.core.program.shape_dtype import ShapeDtypeStruct, abstractify, is_abstract_operand
from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.core.sharding.mesh import AbstractMesh, AxisType, use_abstract_mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.core.types.avals import shaped_array

MESH = AbstractMesh((2,), ("x",))
F32 = np.dtype(np.float32)


def test_sizes():
    struct = ShapeDtypeStruct([2, 3], "float32")
    assert (struct.shape, struct.ndim, struct.size, len(struct)) == ((2, 3), 2, 6, 2)
    assert ShapeDtypeStruct((0, 5), F32).size == 0
    with pytest.raises(TypeError, match="unsized"):
        len(ShapeDtypeStruct((), F32))


def test_equal_types_agree_in_everything():
    struct = ShapeDtypeStruct((2,), F32)
    assert struct == ShapeDtypeStruct((2,), "f4")
    assert hash(struct) == hash(ShapeDtypeStruct((2,), "f4"))
    others = [
        struct.update(shape=(3,)),
        struct.update(dtype=np.int8),
        struct.update(weak_type=True),
        struct.update(sharding=P("x")),
        struct.update(manual_axis_type=ManualAxisType(varying="x")),
    ]
    assert len({struct, *others}) == 6
    assert repr(others[3]) == "ShapeDtypeStruct(shape=(2,), dtype=float32, sharding=P('x',))"
    assert others[4].vma == {"x"}


@pytest.mark.parametrize(
    "shape, dtype, sharding, message",
    [
        ((2,), None, None, "expected a dtype, but got None"),
        ((2, None), F32, None, "each axis needs a size"),
        ((), F32, P("x"), "at least that rank, but got rank 0"),
        ((2,), F32, NamedSharding(MESH, P(None, "x")), "at least that rank, but got rank 1"),
    ],
)
def test_wrong_types_are_refused(shape, dtype, sharding, message):
    with pytest.raises(ValueError, match=message):
        ShapeDtypeStruct(shape, dtype, sharding=sharding)


def test_specs_are_bound_to_the_context_mesh():
    struct = ShapeDtypeStruct((4,), F32, sharding=P("x"))
    with pytest.raises(TypeError, match="needs a context mesh; set one with"):
        struct.sharding  # noqa: B018
    with use_abstract_mesh(MESH):
        assert struct.sharding == NamedSharding(MESH, P("x"))
        assert abstractify(struct).str_short() == "float32[4@x]"
    auto = NamedSharding(MESH.update(axis_types=(AxisType.Auto,)), P("x"))
    assert abstractify(struct.update(sharding=auto)) == shaped_array((4,), F32)


def test_types_of_values_and_descriptions():
    assert abstractify(1.0) == shaped_array((), F32, True)
    assert abstractify(np.zeros(2)) == shaped_array((2,), F32)
    struct = ShapeDtypeStruct.like(jnp.ones((2, 3), jnp.int8))
    assert (struct.shape, struct.dtype, struct.weak_type) == ((2, 3), np.int8, False)
    assert ShapeDtypeStruct.like(struct) == struct
    assert is_abstract_operand(struct)
    assert not is_abstract_operand("x")
    with pytest.raises(TypeError, match="an object with a shape and a dtype, but got"):
        abstractify("x")
