"""Shardings in types propagate through operations, or are refused where they are ambiguous."""

import numpy as np
import pytest

import jitney
from jitney.core.sharding.mesh import AbstractMesh, AxisType
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.core.sharding_in_types import explicit
from jitney.core.sharding_in_types.explicit import Operation, ShardingTypeError
from jitney.core.types.avals import shaped_array

MESH = AbstractMesh((2, 3), ("x", "y"))
AUTO = AbstractMesh((2, 3), ("x", "y"), (AxisType.Auto,) * 2)
PLAIN = shaped_array((6, 6), np.dtype(np.float32))


def of(*entries, **axes):
    return explicit.typed(PLAIN, NamedSharding(MESH, P(*entries, **axes)))


def operation(*specs, shapes=((6, 6),)):
    return Operation("op", MESH, [PLAIN] * len(specs), [*specs], {}, [*shapes])


def test_types_have_shardings_on_meshes_with_explicit_axes():
    assert explicit.sharding_of(of("x")).spec == P("x", None)
    assert explicit.sharding_of(PLAIN) is None
    assert explicit.typed(of("x"), NamedSharding(AUTO, P("x"))) == PLAIN
    assert explicit.is_explicit([PLAIN, of("x")])
    assert explicit.if_explicit(NamedSharding(AUTO, P("x"))) is None
    assert of("x").str_short(short_dtypes=True) == "f32[6@x,6]"


def test_equal_shardings_whatever_the_spec():
    assert explicit.equally_sharded(of("x"), of("x", None))
    assert explicit.equally_sharded(PLAIN, of(None))
    assert not explicit.equally_sharded(of("x"), of(None, "x"))
    assert not explicit.equally_sharded(of(), of(unreduced={"x"}))


@pytest.mark.parametrize(
    "specs, expected",
    [
        ([(("x",), ()), ((), ("y",))], (("x",), ("y",))),
        ([(("x",), ()), (("x",), ())], (("x",), ())),
        ([((), ()), (("x", "y"), ())], (("x", "y"), ())),
        ([(("x",), ()), ()], (("x",), ())),  # a scalar
    ],
)
def test_elementwise_operations_keep_shardings(specs, expected):
    assert explicit.elementwise(operation(*specs), (6, 6)) == expected


@pytest.mark.parametrize(
    "specs", [[(("x",), ()), (("y",), ())], [(("x",), ()), ((), ("x",))]], ids=["axis", "name"]
)
def test_contradictory_shardings_are_refused(specs):
    with pytest.raises(ShardingTypeError, match="sharded along the same mesh axes at axis"):
        explicit.elementwise(operation(*specs), (6, 6))


def test_operations_without_a_rule_are_elementwise_or_take_whole_operands():
    sharded = (("x",), ())
    assert explicit.by_shapes(operation(sharded)) == [sharded]
    assert explicit.by_shapes(operation(((), ()), shapes=[(4,)])) == [((),)]
    with pytest.raises(ShardingTypeError, match="op has no rule for sharded operands"):
        explicit.by_shapes(operation(sharded, shapes=[(4,)]))


def test_axes_are_moved_and_inserted():
    place = NamedSharding(MESH, P("x"))
    assert explicit.permuted(place, (1, 0)).spec == P(None, "x")
    assert explicit.permuted(None, (1, 0)) is None
    assert explicit.batched(place, 0, ("y",)).spec == P("y", "x")
    assert explicit.batched(P("x"), 2) == P("x", None, None)
    assert explicit.batched(None, 0) is None
    assert explicit.names_along(of("x"), 0) == ("x",)
    assert explicit.names_along(of("x"), None) == ()


def test_scalars_that_multiply_unreduced_cotangents_are_reduced():
    scalar = shaped_array((), np.dtype(np.float32))
    assert explicit.like_factor_of(of(unreduced={"x"}), scalar).spec == P(reduced={"x"})
    assert explicit.like_factor_of(of("x"), scalar) is None
    assert explicit.like_factor_of(of(unreduced={"x"}), PLAIN) is None


def test_mapped_axes_are_sharded_alike():
    def divided(*xs):
        *same, plain = xs
        assert explicit.common_sharding("vmap", same, [0, 1], None).spec == P("x")
        assert explicit.common_sharding("vmap", [*same, plain], [0, 1, None], "x").spec == P("x")
        assert explicit.common_sharding("vmap", [plain], [0], None) is None
        with pytest.raises(ValueError, match="mapped axes must have the same sharding"):
            explicit.common_sharding("vmap", same, [0, 0], None)
        with pytest.raises(ValueError, match="spmd_axis_name is 'y'"):
            explicit.common_sharding("vmap", same, [0, 1], "y")
        return xs

    specs = [P("x"), P(None, "x"), P()]
    jitney.make_jaxpr(divided)(
        *[
            jitney.ShapeDtypeStruct((6, 6), np.float32, sharding=NamedSharding(MESH, spec))
            for spec in specs
        ]
    )


def test_no_known_mesh_has_the_devices():
    mesh = AbstractMesh((1013,), ("test_only_here",))
    aval = explicit.typed(PLAIN, NamedSharding(mesh, P()))
    with pytest.raises(ValueError, match="no known mesh has 1013 devices"):
        explicit.place_of(aval)
    assert explicit.place_of(PLAIN) is None
