"""Programs over several devices of the CPU: `pmap`, `shard_map`, `jit` over a mesh."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from benchmarks.cases_training import squared_loss, weights
from benchmarks.harness import Call, Side, case


def mesh_of(side: Side, n: int) -> Any:
    """A mesh of `n` devices along one axis, which the compiler divides along."""
    sharding = side.jax.sharding
    return side.jax.make_mesh((n,), ("data",), axis_types=(sharding.AxisType.Auto,))


def placed(side: Side, mesh: Any, x: np.ndarray, *spec: str | None) -> Any:
    """`x` on the devices of a mesh, divided as `spec` says."""
    sharding = side.jax.sharding
    return side.jax.device_put(x, sharding.NamedSharding(mesh, sharding.PartitionSpec(*spec)))


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def of_kinds(
    name: str, title: str, goal: float, devices: int
) -> Callable[[Callable[[Side], tuple[Any, ...]]], None]:
    """Registers cases of warm calls, of compiling in a warm process, and of a process's first call.

    The last two are to be three times as fast. What is decorated gives, for a side, a function that
    builds the program with a constant in it, and the program's operands.
    """

    def register(make: Callable[[Side], tuple[Any, ...]]) -> None:
        def setup(side: Side) -> Call:
            build, *operands = make(side)
            f = build(1.0)
            return lambda: f(*operands)

        def new(side: Side) -> Call:
            build, *operands = make(side)
            numbers = count()

            def compile_another() -> Any:
                build(1.0 + 1e-6 * next(numbers)).lower(*operands).compile()
                return operands[0]

            return compile_another

        setup.__module__ = new.__module__ = make.__module__
        case(name, title, goal, devices=devices)(setup)
        case(f"{name}_new", f"{title}, traced, lowered and compiled", 3.0, devices=devices)(new)
        first = f"{title}, first call"
        case(f"{name}_first", first, 3.0, kind="first_call", devices=devices)(setup)

    return register


@of_kinds("pmap_small", "pmap of a small function, 2 devices", 3.0, 2)
def _pmap(side: Side) -> tuple[Any, ...]:
    def build(c: float) -> Any:
        return side.jax.pmap(lambda x: side.jnp.sin(x) * 2 + c)

    return build, build(1.0)(normal(2, 8))


@of_kinds("shard_map_psum", "shard_map, psum of 1e6 floats, 2 devices", 1.5, 2)
def _psum(side: Side) -> tuple[Any, ...]:
    spec = side.jax.sharding.PartitionSpec
    mesh = mesh_of(side, 2)

    def build(c: float) -> Any:
        total = side.jax.shard_map(
            lambda x: side.lax.psum(c * x, "data"),
            mesh=mesh,
            in_specs=spec("data"),
            out_specs=spec(),
        )
        return side.jax.jit(total)

    return build, placed(side, mesh, normal(2_000_000), "data")


@of_kinds(
    "data_parallel_mlp", "SGD step, data parallel, 784-512-256-10, batch 128, 2 devices", 1.0, 2
)
def _data_parallel(side: Side) -> tuple[Any, ...]:
    jax, mesh = side.jax, mesh_of(side, 2)
    spec = jax.sharding.PartitionSpec
    loss = squared_loss(side)

    def build(c: float) -> Any:
        def step(layers: Any, x: Any, y: Any) -> Any:
            gradients = jax.lax.pmean(jax.grad(loss)(layers, x, y), "data")
            return jax.tree.map(lambda p, g: p - 0.1 * c * g, layers, gradients)

        step = jax.shard_map(
            step, mesh=mesh, in_specs=(spec(), spec("data"), spec("data")), out_specs=spec(),
            check_vma=False,
        )  # fmt: skip
        return jax.jit(step)

    layers, _ = weights(side, [784, 512, 256, 10], 128)
    layers = jax.device_put(layers, jax.sharding.NamedSharding(mesh, spec()))
    x, y = placed(side, mesh, normal(128, 784), "data"), placed(side, mesh, normal(128, 10), "data")
    return build, layers, x, y


@of_kinds("mesh_matmul", "jit over 8 devices, 1024x1024 matmul", 1.0, 8)
def _matmul(side: Side) -> tuple[Any, ...]:
    mesh = mesh_of(side, 8)
    x = placed(side, mesh, normal(1024, 1024), "data")
    y = placed(side, mesh, normal(1024, 1024) / 32)
    return lambda c: side.jax.jit(lambda x, y: c * (x @ y)), x, y


@of_kinds("mesh_layer_norm", "jit over 8 devices, layer norm of 4096x1024", 1.0, 8)
def _layer_norm(side: Side) -> tuple[Any, ...]:
    jnp, mesh = side.jnp, mesh_of(side, 8)

    def build(c: float) -> Any:
        def layer_norm(x: Any, scale: Any, bias: Any) -> Any:
            centred = x - x.mean(-1, keepdims=True)
            return (
                centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5 * c) * scale + bias
            )

        return side.jax.jit(layer_norm)

    scale, bias = (placed(side, mesh, np.full(1024, c, np.float32)) for c in (0.5, 2.0))
    return build, placed(side, mesh, normal(4096, 1024), "data"), scale, bias
