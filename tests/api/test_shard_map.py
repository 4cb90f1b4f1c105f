"""`shard_map` over meshes of one device."""

import numpy as np
import pytest
from tests.helpers.both import of_both

import jitney
import jitney.numpy as jnp
from jitney.experimental.shard_map import shard_map as earlier_shard_map


def both_axes(lib, numpy):
    mesh = lib.sharding.Mesh(np.array(lib.devices()[:1]).reshape(1, 1), ("i", "j"))
    spec = lib.P("i", "j")

    def body(x, y):
        where = lib.lax.axis_index("i") + lib.lax.axis_index("j")
        total = lib.lax.psum(x, ("i", "j"))
        return {"x": x @ y + where, "total": lib.lax.pmax(total.sum(), "j")}

    f = lib.shard_map(
        body, mesh=mesh, in_specs=(spec, lib.P("j")), out_specs={"x": lib.P("i"), "total": lib.P()},
        check_vma=False,
    )  # fmt: skip
    return f, numpy.arange(6.0).reshape(2, 3), numpy.ones((3, 2))


@pytest.mark.parametrize("compiled", [False, True])
def test_like_jax(compiled):
    def result(lib):
        f, x, y = both_axes(lib, lib.numpy)
        return (lib.jit(f) if compiled else f)(x, y)

    results = of_both(result)
    for name in ("x", "total"):
        np.testing.assert_allclose(results[0][name], results[1][name], rtol=1e-6)
        assert results[0][name].shape == results[1][name].shape


def test_decorator_context_and_earlier_place():
    mesh = jitney.make_mesh((1,), ("i",))

    @jitney.shard_map(out_specs=jitney.P("i"), mesh=mesh)
    def doubled(x):
        return 2 * x

    np.testing.assert_array_equal(doubled(jnp.arange(3)), [0, 2, 4])
    with jitney.set_mesh(mesh):
        f = jitney.shard_map(lambda x: x + 1, in_specs=jitney.P("i"), out_specs=jitney.P("i"))
        np.testing.assert_array_equal(f(jnp.arange(3, out_sharding=jitney.P("i"))), [1, 2, 3])
        with pytest.raises(ValueError, match=r"reshard the argument first"):  # as JAX does
            f(jnp.arange(3))
    f = earlier_shard_map(lambda x: x + 1, mesh, jitney.P("i"), jitney.P("i"))
    np.testing.assert_array_equal(f(jnp.arange(3)), [1, 2, 3])


def test_derivatives_and_batches():
    mesh = jitney.make_mesh((1,), ("i",))
    spec = jitney.P("i")
    f = jitney.shard_map(
        lambda x: jitney.lax.psum(x**2, "i"), mesh=mesh, in_specs=spec, out_specs=spec
    )
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(jitney.grad(lambda x: f(x).sum())(x), [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(jitney.vmap(f)(x[:, None]), [[0.0], [1.0], [4.0]])


def test_errors():
    mesh = jitney.make_mesh((1,), ("i",))
    spec = jitney.P("i")
    x = jnp.ones(3)

    def call(f=lambda x: x, **changes):
        words = {"mesh": mesh, "in_specs": spec, "out_specs": spec, **changes}
        return jitney.shard_map(f, **words)(x)

    with pytest.raises(ValueError, match="a mesh is needed, but there is no context mesh"):
        call(mesh=None)
    with pytest.raises(ValueError, match="which has no devices"):
        call(mesh=jitney.sharding.AbstractMesh((2,), ("i",)))
    with pytest.raises(ValueError, match=r"in_specs .* but names 'k'"):
        call(in_specs=jitney.P("k"))
    with pytest.raises(ValueError, match=r"out_specs has .* of length 2"):
        call(out_specs=jitney.P(None, "i"))
    with pytest.raises(ValueError, match="in_specs has to be a tree prefix"):
        call(in_specs=(spec, spec))
    with pytest.raises(ValueError, match=r"in_specs\[0\]"):
        call(in_specs=([spec],))
    with pytest.raises(ValueError, match="axis_names"):
        call(axis_names={"k"})
    with pytest.raises(TypeError, match="has a leaf 'i' of type str"):
        call(in_specs="i")


def test_reduced_is_for_types_that_say_it():
    with pytest.raises(ValueError, match="to='reduced' needs a shard_map with check_vma=True"):
        jitney.vmap(lambda x: jitney.lax.all_gather(x, "i", to="reduced"), axis_name="i")(
            jnp.ones(3)
        )
