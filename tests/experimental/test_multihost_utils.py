"""`jax.experimental.multihost_utils` in one process; `tests/runtime/on_devices.py` has meshes."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from tests.helpers.both import of_both
from tests.helpers.oracle import RealModule, answer, jax

import jitney
from jitney.experimental import multihost_utils

oracle = RealModule("jax.experimental.multihost_utils")

TREE = {
    "scalar": 3,
    "array": np.arange(6.0).reshape(2, 3),
    "half": [np.float16(0.5), None, (True, 2 + 1j)],
    "empty": np.zeros((0, 2), np.int8),
}


def with_an_array(package):
    return {**TREE, "own": package.numpy.arange(4, dtype="uint8")}


@pytest.mark.parametrize(
    "call",
    [
        lambda m, tree: m.process_allgather(tree),
        lambda m, tree: m.process_allgather(tree, tiled=True),
        lambda m, tree: m.broadcast_one_to_all(tree),
        lambda m, tree: m.broadcast_one_to_all(tree, is_source=False),
    ],
)
def test_trees_of_numpy_arrays(call):
    got = call(multihost_utils, with_an_array(jitney))
    want = answer(lambda: call(oracle, with_an_array(jax)))
    assert jitney.tree.structure(got) == jitney.tree.structure(want)
    for a, b in zip(jitney.tree.leaves(got), jitney.tree.leaves(want), strict=True):
        assert type(a) is type(b) is np.ndarray
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b, strict=True)


def test_processes_that_agree():
    def claim(module):
        module.sync_global_devices("here")
        module.assert_equal({**TREE, "text": "as it is"}, "trees")
        assert module.reached_preemption_sync_point(3) is False
        with pytest.raises(AssertionError, match=r"^numbers"):
            module.assert_equal([1.0, np.array([2.0, np.nan])], "numbers")

    claim(multihost_utils)
    assert answer(lambda: claim(oracle)) is None


def test_what_is_refused():
    mesh = jitney.make_mesh((1,), ("x",))
    spec = jitney.sharding.PartitionSpec("x")
    key = jitney.random.key(0)
    with pytest.raises(TypeError, match="a string, but got 3"):
        multihost_utils.sync_global_devices(3)
    with pytest.raises(TypeError, match="no dtype for keys"):
        multihost_utils.process_allgather(key)
    with pytest.raises(jitney.errors.TracerArrayConversionError):
        jitney.jit(multihost_utils.process_allgather)(1.0)
    for f in (
        multihost_utils.host_local_array_to_global_array,
        multihost_utils.global_array_to_host_local_array,
    ):
        with pytest.raises(TypeError, match="a Mesh of devices, but got"):
            f(np.ones(2), mesh.abstract_mesh, spec)
        with pytest.raises(ValueError, match=r"got None; use PartitionSpec\(\) to replicate"):
            f({"a": np.ones(2)}, mesh, {"a": None})


def in_programs(jax):
    utils = importlib.import_module(f"{jax.__name__}.experimental.multihost_utils")
    mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("x")
    x = jax.numpy.arange(4.0)
    lines = []
    for name in ("host_local_array_to_global_array", "global_array_to_host_local_array"):
        move, primitive = getattr(utils, name), getattr(utils, f"{name}_p")
        impl = getattr(utils, f"{name}_impl")
        lines.append(str(jax.make_jaxpr(lambda x, f=move: f(x, mesh, spec))(x).eqns[0].primitive))
        lines.append(str(jax.jit(lambda x, f=move: f(x, mesh, spec))(x)))
        lines.append(str(jax.grad(lambda x, f=move: (f(x, mesh, spec) ** 2).sum())(x)))
        batch = jax.vmap(lambda x, f=move: f(x, mesh, spec), in_axes=1)
        lines.append(str(batch(jax.numpy.ones((4, 2))).shape))
        lines.append(str(primitive.bind(x, global_mesh=mesh, pspec=spec)))
        lines.append(str(type(impl(np.ones(2), global_mesh=mesh, pspec=spec).sharding).__name__))
    types = [
        utils.gtl_abstract_eval(jax.typeof(x), global_mesh=mesh, pspec=spec),
        utils.ltg_abstract_eval(jax.typeof(x), global_mesh=mesh, pspec=spec),
    ]
    return [*lines, *map(str, types)]


def test_in_programs():
    ours, theirs = of_both(in_programs)
    assert ours == theirs


def test_derivatives_and_batches_of_moves():
    mesh = jitney.make_mesh((1,), ("x",))
    spec, whole = jitney.sharding.PartitionSpec("x"), jitney.sharding.PartitionSpec()

    def f(x):
        x = multihost_utils.host_local_array_to_global_array(x, mesh, spec)
        return multihost_utils.global_array_to_host_local_array((x * x).sum(), mesh, whole)

    x = np.arange(3.0, dtype=np.float32)
    np.testing.assert_array_equal(jitney.grad(f)(x), 2 * x)
    np.testing.assert_array_equal(jitney.jit(jitney.vmap(f))(np.stack([x, x + 1])), [5.0, 14.0])
