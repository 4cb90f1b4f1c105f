"""Operations are annotated with the unit that shall compute them, and compute the same."""

import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental.compute_on import compute_on

HOST = {"compute_type": "device_host", "out_memory_spaces": None}


def types_of(f, *args):
    return [(e.primitive.name, e.ctx.compute_type) for e in jax.make_jaxpr(f)(*args).eqns]


def test_only_operations_of_the_function_are_annotated():
    f = compute_on(lambda x, *, y: x * y["y"], **HOST)
    assert f(3.0, y={"y": 4.0}) == 12
    found = types_of(lambda x: jnp.sin(f(jnp.cos(x), y={"y": x})), 1.0)
    assert found == [("cos", None), ("mul", "device_host"), ("sin", None)]


def test_decorators_nest():
    @compute_on(compute_type="gpu_stream:12", out_memory_spaces=None)
    def outer(x):
        return jnp.sin(compute_on(jnp.cos, **HOST)(x))

    assert outer.__name__ == "outer"
    assert types_of(outer, 1.0) == [("cos", "device_host"), ("sin", "gpu_stream:12")]


@pytest.mark.parametrize("name", ["tpu", "gpu_stream:", "gpu_stream:x", "device_hosts", ""])
def test_unknown_units_are_refused(name):
    with pytest.raises(ValueError, match="must be 'device', 'device_host'"):
        compute_on(abs, compute_type=name, out_memory_spaces=None)


def test_options_are_required():
    with pytest.raises(TypeError, match="must be a string, but got 3"):
        compute_on(abs, compute_type=3, out_memory_spaces=None)
    for options in {"compute_type": "device"}, {"out_memory_spaces": None}:
        with pytest.raises(TypeError, match="must be passed by keyword"):
            compute_on(abs, **options)
