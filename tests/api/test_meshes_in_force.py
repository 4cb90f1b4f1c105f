"""Where values lie while `jax.set_mesh` is in force, or within `with mesh:`, as JAX has it."""

from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
from tests.helpers.oracle import answer, jax
from tests.helpers.programs_alike import lines_alike

import jitney
from jitney.experimental.layout import Format, Layout

AUTO = jitney.sharding.AxisType.Auto


test_like_jax = lines_alike(
    __file__, "meshes_in_force.py", imports_jax=True, PYTHONWARNINGS="ignore",
    XLA_FLAGS="--xla_force_host_platform_device_count=8",
)  # fmt: skip


def test_contexts_say_what_is_wrong():
    mesh = jitney.make_mesh((1,), ("x",), axis_types=(AUTO,))
    with pytest.raises(ValueError, match="expected a Mesh"):
        jitney.set_mesh("x")
    with (
        mesh,
        pytest.raises(
            RuntimeError, match="a PartitionSpec in in_shardings refers to the context mesh"
        ),
    ):
        jitney.jit(lambda x: x, in_shardings=jitney.P("x"))(1.0)
    with (
        jitney.set_mesh(mesh),
        pytest.raises(ValueError, match=r"context mesh, which has 1 along .* has 2"),
    ):
        jitney.sharding.use_abstract_mesh(jitney.sharding.AbstractMesh((2,), ("x",))).__enter__()
    place = jitney.NamedSharding(mesh, jitney.P(None, "x"))
    with pytest.raises(ValueError, match=r"entries for 2 axes, .* but got rank 1"):
        jitney.ShapeDtypeStruct((2,), "float32", sharding=place)


def test_shard_map_over_axes_is_on_the_mesh_in_force():
    mesh = jitney.make_mesh((1,), ("x",), axis_types=(AUTO,))
    double = jitney.shard_map(
        lambda x: 2 * x,
        mesh=mesh.abstract_mesh,
        in_specs=jitney.P("x"),
        out_specs=jitney.P("x"),
    )
    for x in (np.ones(4, np.float32), jitney.numpy.ones(4)):
        with jitney.set_mesh(mesh):
            out = double(x)
        assert out.tolist() == [2, 2, 2, 2] and out.sharding.mesh == mesh
        with pytest.raises(ValueError, match="which has no devices"):
            double(x)


def test_formats_of_types():
    place = jitney.NamedSharding(jitney.make_mesh((1,), ("x",)), jitney.P())
    layout = Format(Layout((0, 1)), place)
    x = jitney.ShapeDtypeStruct((2, 2), "float32", sharding=layout)
    assert x.sharding is place and x.format is layout and x.update(shape=(4, 2)).format is layout
    with pytest.raises(ValueError, match="has no layout"):
        x.update(sharding=place)


def test_programs_of_axes_get_their_devices_when_they_are_compiled():
    axes = jitney.sharding.AbstractMesh((1,), ("x",), (AUTO,))
    place = jitney.NamedSharding(axes, jitney.P("x"))
    x = jitney.ShapeDtypeStruct((4,), "float32", sharding=place)
    lowered = jitney.jit(lambda x: x * 2).trace(x).lower()
    with pytest.raises(RuntimeError, match="of 1 device, and device_assignment has 2"):
        lowered.compile(device_assignment=jitney.devices() * 2)
    compiled = lowered.compile(device_assignment=jitney.devices()[:1])
    mesh = jitney.sharding.Mesh(jitney.devices()[:1], "x", (AUTO,))
    on_devices = jitney.NamedSharding(mesh, jitney.P("x"))
    assert compiled.input_shardings == ((on_devices,), {})
    assert compiled(jitney.numpy.ones(4)).tolist() == [2, 2, 2, 2]
    assert compiled.out_info.sharding.mesh == mesh


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("in_force", [False, True])
@pytest.mark.parametrize("spec", [("x",), (None, "x"), ()])
@pytest.mark.parametrize("name", ["array", "asarray"])
def test_axes_without_devices_are_no_place_of_a_new_array(name, spec, in_force, compiled):
    def where(library):
        sharding = library.sharding
        types = (sharding.AxisType.Auto,)
        place = library.NamedSharding(sharding.AbstractMesh((1,), ("x",), types), library.P(*spec))
        mesh = library.make_mesh((1,), ("x",), axis_types=types)
        make = partial(getattr(library.numpy, name), np.ones(4, "float32"), device=place)
        with library.set_mesh(mesh) if in_force else nullcontext():
            x = library.jit(make)() if compiled else make()
        found = x.sharding
        return type(found).__name__, tuple(getattr(found, "spec", ())), x.tolist()

    assert where(jitney) == answer(lambda: where(jax))


@pytest.mark.parametrize("made", ["array", "asarray"])
def test_arrays_take_the_axes_of_a_mesh_without_devices(made):
    mesh = jitney.make_mesh((1,), ("x",))
    x = jitney.device_put(jitney.numpy.ones(4), jitney.devices()[0])
    spec = jitney.sharding.PartitionSpec("x")
    axes = jitney.sharding.NamedSharding(mesh.abstract_mesh, spec)
    with jitney.set_mesh(mesh):
        out = getattr(jitney.numpy, made)(x, device=axes)
    assert out.sharding.spec == spec
    assert jitney.typeof(out).sharding.spec == spec


def _on(library, **axes):
    kind = library.sharding.AxisType.Explicit
    return library.sharding.AbstractMesh(tuple(axes.values()), tuple(axes), (kind,) * len(axes))


def _energy(library, mesh):
    """A function of an array on no mesh, which computes on `mesh`."""
    jnp, P = library.numpy, library.sharding.PartitionSpec

    def f(x):
        with library.sharding.use_abstract_mesh(mesh):
            y = library.sharding.reshard(x, P("x"))
            return library.sharding.reshard(jnp.sum(jnp.sin(y) * y), P())

    return f


def _jaxprs(library):
    mesh = _on(library, x=4)
    f = _energy(library, mesh)
    x = library.ShapeDtypeStruct((8,), "float32")

    def descent(x):
        step = lambda x, _: (x - library.grad(f)(x), None)  # noqa: E731
        return library.lax.scan(step, x, None, length=3)[0]

    def found():
        functions = f, library.grad(f), descent
        return [str(library.make_jaxpr(function)(x)) for function in functions]

    with library.sharding.use_abstract_mesh(mesh):
        return found()


def test_gradients_are_on_a_mesh_if_the_argument_is():
    assert _jaxprs(jitney) == answer(lambda: _jaxprs(jax))


def test_gradients_of_programs_on_another_mesh():
    """Operations go backwards on the mesh on which they went forwards, not on that in force."""
    f = _energy(jitney, _on(jitney, x=4))
    x = jitney.ShapeDtypeStruct((8,), "float32")
    expected = str(jitney.make_jaxpr(jitney.grad(f))(x))
    with jitney.sharding.use_abstract_mesh(_on(jitney, a=2, b=2)):
        for g in (f, jitney.jit(f)):
            jaxpr = jitney.make_jaxpr(jitney.grad(g))(x)
            assert jaxpr.out_avals == jaxpr.in_avals
        assert str(jitney.make_jaxpr(jitney.grad(f))(x)) == expected
