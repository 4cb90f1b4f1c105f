"""Shardings as parts of types: arrays along Explicit axes of a mesh, as JAX has them."""

import pytest
from tests.helpers.programs_alike import lines_alike

import jitney
from jitney.core.sharding_in_types import explicit

test_like_jax = lines_alike(__file__, "explicit_on_meshes.py")


def test_what_is_refused_is_named():
    mesh = jitney.make_mesh((1,), ("i",))
    x = jitney.device_put(jitney.numpy.ones((2, 2)), jitney.NamedSharding(mesh, jitney.P("i")))
    with pytest.raises(
        explicit.ShardingTypeError,
        match=r"add: operands must be sharded along the same mesh axes.*f32\[2@i,2\]",
    ):
        x + x.T


def test_gradients_of_single_elements():
    mesh = jitney.make_mesh((1,), ("i",))
    x = jitney.device_put(jitney.numpy.arange(4.0), jitney.NamedSharding(mesh, jitney.P("i")))
    picks = [lambda x: x[3], lambda x: x[jitney.numpy.int32(3)], lambda x: x[3:].sum()]
    for pick in picks:
        slope = jitney.jit(jitney.grad(lambda x, pick=pick: pick(x) ** 2))(x)
        assert slope.tolist() == [0, 0, 0, 6]
        assert jitney.typeof(slope).sharding.spec == jitney.P("i")


def test_references_keep_where_their_array_lies():
    mesh = jitney.make_mesh((1,), ("i",))
    with jitney.set_mesh(mesh):
        x = jitney.device_put(jitney.numpy.arange(8.0).reshape(4, 2), jitney.P("i"))
        ref = jitney.new_ref(x)
        ref[...] = jitney.numpy.ones((4, 2))
        ref[0:2] = jitney.numpy.zeros((2, 2))
        assert ref[...].sharding.spec == jitney.P("i", None)
        assert ref[...].tolist() == [[0, 0], [0, 0], [1, 1], [1, 1]]
        assert jitney.typeof(ref.T[...]).sharding.spec == jitney.P(None, "i")
        assert jitney.typeof(ref[:, 0]).sharding.spec == jitney.P("i")
        with pytest.raises(
            explicit.ShardingTypeError, match="in blocks, or with its axes permuted"
        ):
            ref.reshape(8)[...]


def test_types_of_other_arrays_say_nothing():
    auto = jitney.make_mesh((1,), ("i",), axis_types=(jitney.sharding.AxisType.Auto,))
    x = jitney.device_put(jitney.numpy.ones(2), jitney.NamedSharding(auto, jitney.P("i")))
    assert x.aval.has_default_place and x.to_device(jitney.devices()[0]).aval.has_default_place


def test_lowered_programs_say_where_types_put_values():
    mesh = jitney.make_mesh((1,), ("i",))
    x = jitney.device_put(jitney.numpy.ones((2, 2)), jitney.NamedSharding(mesh, jitney.P("i")))
    lowered = jitney.jit(lambda x: (x * x).T).lower(x)
    text = lowered.as_text()
    assert text.count('sdy.sharding_constraint %1 sharding=<@mesh, [{"i"}, {}]>') == 1
    assert text.count('<@mesh, [{}, {"i"}]>') == 1
    assert "sharding" not in lowered.as_text("simplify")


def test_auto_axes_may_divide_what_types_leave():
    explicit_and_auto = (jitney.sharding.AxisType.Explicit, jitney.sharding.AxisType.Auto)
    mesh = jitney.sharding.AbstractMesh((2, 2), ("i", "j"), axis_types=explicit_and_auto)
    place = jitney.NamedSharding(mesh, jitney.P(None, None))
    x = jitney.ShapeDtypeStruct((2, 2), jitney.numpy.float32, sharding=place)
    assert '<@mesh, [{?}, {?}], replicated={"i"}>' in jitney.jit(lambda x: -x).lower(x).as_text()


def test_factorizations_keep_how_a_batch_is_divided():
    mesh = jitney.make_mesh((1,), ("i",))
    blocks = jitney.numpy.stack([jitney.numpy.eye(3)] * 4)

    def typed(*spec):
        return jitney.device_put(blocks, jitney.NamedSharding(mesh, jitney.P(*spec)))

    lower = jitney.lax.linalg.cholesky(typed("i"))
    assert str(jitney.typeof(lower)) == "float32[4@i,3,3]"
    lower, pivots, _ = jitney.lax.linalg.lu(typed("i"))
    assert str(jitney.typeof(lower)) == "float32[4@i,3,3]"
    assert str(jitney.typeof(pivots)) == "int32[4@i,3]"
    with pytest.raises(
        explicit.ShardingTypeError, match="lu needs complete blocks: axis 1 cannot be sharded"
    ):
        jitney.lax.linalg.lu(typed(None, "i"))
