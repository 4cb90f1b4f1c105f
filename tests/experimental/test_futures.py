"""Collectives in two operations, and user-defined types in `shard_map`: in processes of their own."""

import numpy as np
import pytest
from tests.helpers.programs_alike import lines_alike

import jitney
import jitney.numpy as jnp
from jitney import lax

test_like_jax = lines_alike(__file__, "futures_on_meshes.py")


def mapped(f, out_specs=None):
    mesh = jitney.make_mesh((1,), ("x",), axis_types=(jitney.sharding.AxisType.Auto,))
    specs = jitney.P("x")
    return jitney.shard_map(f, mesh=mesh, in_specs=specs, out_specs=out_specs or specs)


def test_futures_pass_through_branches_and_out_of_programs():
    """Real JAX compiles neither on a CPU."""

    def f(x):
        future = lax.psum_scatter_start(x, "x", tiled=True)
        return lax.cond(x[0] > 0, lambda h: h.done(), lambda h: -h.done(), future)

    np.testing.assert_array_equal(jitney.jit(mapped(f))(jnp.array([1.0, 2.0])), [1.0, 2.0])
    np.testing.assert_array_equal(jitney.jit(mapped(f))(jnp.array([-1.0, 2.0])), [1.0, -2.0])
    future = jitney.jit(mapped(lambda x: lax.psum_scatter_start(x, "x", tiled=True)))(jnp.ones(2))
    np.testing.assert_array_equal(future.done(), [1.0, 1.0])


def test_what_futures_are():
    def f(x):
        future = lax.psum_scatter_start(x, "x", tiled=True)
        kind = jitney.typeof(future)
        assert (future.shape, future.dtype, future.ndim, future.size) == ((2,), np.float32, 1, 2)
        assert kind == type(kind)(kind.inner_aval) and hash(kind) == hash(
            type(kind)(kind.inner_aval)
        )
        assert str(kind).startswith("AbstractFuture(inner_aval=float32[2]")
        return future.done()

    mapped(f)(jnp.ones(2))
    with pytest.raises(ValueError, match="of length 1, for a future"):
        mapped(lambda x: lax.psum_scatter_start(x, "x"))(jnp.ones(1))
