"""`device_put`: what is there already stays the same array, and specifications that do not fit."""

import os
import subprocess
import sys

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

DEVICE = jax.devices()[0]


def test_an_array_that_is_there_is_not_made_anew():
    x = jax.device_put(jnp.arange(3), DEVICE)
    assert jax.device_put(x, DEVICE) is x
    assert jax.device_put(x) is x
    assert jax.device_put(x, x.sharding, may_alias=True) is x
    assert jax.device_put(x, DEVICE, may_alias=False) is not x
    uncommitted = jnp.arange(3)
    assert jax.device_put(uncommitted, DEVICE) is not uncommitted
    assert jax.device_put(uncommitted, DEVICE).committed and not uncommitted.committed


def test_all_places_where_the_specification_does_not_fit_are_told():
    x = {"a": jnp.arange(2), "b": jnp.arange(3)}
    one = r"(?s)`device` has to be a tree prefix"
    with pytest.raises(ValueError, match=one + r".* in 1 places:.*device\['b'\]"):
        jax.device_put(x, {"a": None, "b": (None, None)})
    with pytest.raises(ValueError, match=one + r".* in 2 places:.*device\['a'\].*device\['b'\]"):
        jax.device_put(x, {"a": [None, None], "b": (None, None)})


def test_tracers_say_how_to_ask_for_their_sharding():
    def f(x):
        with pytest.raises(AttributeError, match=r"jax\.typeof"):
            _ = x.sharding
        return x

    jax.jit(f)(1.0)


def test_pjit_is_jit():
    from jitney.experimental.pjit import pjit

    assert pjit(lambda x, n: x + n, static_argnums=1)(1, 2) == 3


# Within jit, over two devices: the type and the place of results. As real JAX 0.10.2 has them, but for
# Auto axes, along which JAX leaves to its partitioner what it was told, and has P().
WITHIN_JIT = """
import numpy as np, jax, jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P, SingleDeviceSharding
x = jnp.arange(8.0)
second = SingleDeviceSharding(jax.devices()[1])
print(jax.jit(lambda x: jax.device_put(x, second) * 2)(x).sharding.device_set)
for kind in (AxisType.Explicit, AxisType.Auto):
    place = NamedSharding(jax.make_mesh((2,), ("x",), axis_types=(kind,)), P("x"))
    put = lambda x: jax.device_put(x, place)
    print(jax.make_jaxpr(put)(x).out_avals[0].str_short())
    for f in (put, lambda x: put(x) * 2, lambda x: jax.jit(put)(x) + 1,
              lambda x: jax.lax.scan(lambda c, _: (put(c) * 2, None), put(x), None, length=3)[0],
              jax.grad(lambda x: (put(x) ** 2).sum())):
        found = jax.jit(f)(x)
        assert len(found.sharding.device_set) == 2
        print(found.sharding.spec, *np.asarray(found)[:3])
    batch = jax.jit(jax.vmap(put))(jnp.ones((4, 8)))
    print(batch.sharding.spec, batch.sum())
try:
    jax.jit(lambda x: jax.device_put(x, P("x")))(x)
except ValueError as error:
    print("jax.set_mesh" in str(error))
"""
PLACED = """\
{CpuDevice(id=1)}
float32[8@x]
P('x',) 0.0 1.0 2.0
P('x',) 0.0 2.0 4.0
P('x',) 1.0 2.0 3.0
P('x',) 0.0 8.0 16.0
P('x',) 0.0 2.0 4.0
P(None, 'x') 32.0
float32[8]
P('x',) 0.0 1.0 2.0
P('x',) 0.0 2.0 4.0
P('x',) 1.0 2.0 3.0
P('x',) 0.0 8.0 16.0
P('x',) 0.0 2.0 4.0
P(None, 'x') 32.0
True
"""


def test_places_within_jit():
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run(
        [sys.executable, "-m", "jitney", "-c", WITHIN_JIT], env=env, capture_output=True, text=True
    )
    assert done.stderr == "" and done.stdout == PLACED


IN_HOST, IN_DEVICE = jax.memory.Space.Host, jax.memory.Space.Device


@pytest.mark.parametrize(("space", "kind"), [(IN_HOST, "pinned_host"), (IN_DEVICE, "device")])
def test_memory_spaces(space, kind):
    x = jnp.arange(3.0)
    y, n = jax.device_put((x, 2), space)
    assert y.sharding.memory_kind == n.sharding.memory_kind == kind and y.committed
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(y * 2, x * 2)
    mesh = jax.make_mesh((1,), ("i",))
    rows = jax.device_put(x, jax.NamedSharding(mesh, jax.P("i")))
    moved = jax.device_put(rows, space)
    assert moved.sharding == rows.sharding.with_memory_kind(kind)


@pytest.mark.parametrize("space", [IN_HOST, IN_DEVICE])
def test_memory_spaces_in_programs(space):
    def f(x):
        return 2 * jax.device_put(x, space, src=IN_DEVICE)

    x = jnp.arange(3.0)
    for g in (f, jax.jit(f), jax.vmap(f), jax.jit(jax.vmap(f))):
        np.testing.assert_array_equal(g(x), 2 * x)
    np.testing.assert_array_equal(jax.grad(lambda x: f(x).sum())(x), [2, 2, 2])
    assert f"devices=({space},)" in str(jax.make_jaxpr(f)(x))


def test_either_memory_is_no_place():
    with pytest.raises(ValueError, match=r"jax\.memory\.Space\.Device or \.Host.*MemorySpace\.Any"):
        jax.device_put(1.0, jax.memory.Space.Any)
