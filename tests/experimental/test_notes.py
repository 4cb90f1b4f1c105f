"""`set_xla_metadata` and `compute_on`: what equations say, beside real jax."""

import importlib

import numpy as np
import pytest
from tests.helpers.both import Cases, check

import jitney

same = Cases()


def modules(jax):
    return [importlib.import_module(f"{jax.__name__}.experimental.{m}") for m in NAMES]


NAMES = ("xla_metadata", "compute_on")


def notes(program):
    return [(e.primitive.name, e.ctx.compute_type, e.ctx.xla_metadata) for e in program.eqns]


@same
def metadata_of_operations(jax, jnp):
    metadata, _ = modules(jax)

    def f(x):
        with metadata.set_xla_metadata(a="1", b=2):
            y = jnp.sin(x)
            with metadata.set_xla_metadata(a=None, c=3):
                y = jnp.cos(y)
        return y * 2

    return notes(jax.make_jaxpr(f)(1.0)), jax.jit(f)(1.0)


@same
def metadata_of_values(jax, jnp):
    metadata, _ = modules(jax)

    def f(x):
        return metadata.set_xla_metadata(x, a=1, b="2") * x

    return (str(jax.make_jaxpr(f)(1.0)), f(2.0), jax.grad(f)(3.0), jax.vmap(f)(jnp.arange(3.0)),
            jax.jit(jax.grad(f))(2.0))  # fmt: skip


@same
def metadata_as_decorator(jax, jnp):
    metadata, _ = modules(jax)
    return notes(jax.make_jaxpr(metadata.set_xla_metadata(a=1)(jnp.exp))(1.0))


@same
def metadata_of_a_function(jax, jnp):
    return modules(jax)[0].set_xla_metadata(jnp.sin, a=1)


@same
def computed_on_the_host(jax, jnp):
    _, on = modules(jax)
    space = jax.memory.Space.Device
    f = on.compute_on(lambda x: x * x, compute_type="device_host", out_memory_spaces=space)
    g = on.compute_on(compute_type="device_host", out_memory_spaces=space)(lambda x: jnp.sin(x))
    return f(3.0), jax.jit(f)(3.0), jax.grad(f)(3.0), jax.vmap(f)(jnp.arange(3.0)), jax.jit(g)(1.0)


@same
def what_compute_on_was(jax, jnp):
    return modules(jax)[1].compute_on("device_host")


@same
def second_form(jax, jnp):
    return modules(jax)[1].compute_on2


def _computed_on(place):
    def case(jax, jnp):
        space = jax.memory.Space.Device
        f = modules(jax)[1].compute_on(jnp.ones, compute_type=place, out_memory_spaces=space)
        return np.asarray(jax.jit(lambda: f(2))())

    return case


for _place in ("device", "tpu_sparsecore", "gpu_stream:1", "bogus", "gpu_stream", 3, None):
    same(_computed_on(_place))


@same
def calls_with_attributes(jax, jnp):
    groups = importlib.import_module(f"{jax.__name__}.experimental.scheduling_groups")
    g = groups.scheduling_group("g")(lambda x: jnp.sin(x) + 1)
    two = groups.xla_metadata_call(lambda x, y: {"sum": x + y}, a="1", b="c")
    return (
        g(1.0), jax.jit(g)(2.0), jax.vmap(g)(jnp.arange(2.0)), jax.grad(g)(1.0), two(1.0, y=2.0),
        str(jax.make_jaxpr(g)(1.0)), str(jax.make_jaxpr(jax.grad(g))(1.0)),
        str(jax.make_jaxpr(two)(1.0, y=2.0)), str(jax.make_jaxpr(jax.vmap(g))(jnp.arange(2.0))),
    )  # fmt: skip


@pytest.mark.parametrize("case", same.all, ids=same.ids)
def test_same(case):
    check(case)


def test_traced_anew():
    from jitney.experimental.compute_on import compute_on

    def f(x):
        return x + 1

    host = compute_on(f, compute_type="device_host", out_memory_spaces=jitney.memory.Space.Device)
    plain, noted = jitney.jit(f).trace(1.0).jaxpr, jitney.jit(host).trace(1.0).jaxpr
    assert [plain.eqns[0].ctx.compute_type, noted.eqns[0].ctx.compute_type] == [None, "device_host"]
