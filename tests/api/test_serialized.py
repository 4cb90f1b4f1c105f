"""`jax.experimental.serialize_executable`: compiled programs that other processes call."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.experimental.serialize_executable import deserialize_and_load, serialize
from jitney.runtime.compilation import compiling


def again(f, *args, **options):
    """`f` compiled for `args`, and loaded from the bytes of it."""
    return deserialize_and_load(*serialize(jitney.jit(f, **options).lower(*args).compile()))


@pytest.fixture
def compiles(monkeypatch):
    """Names of programs that are compiled."""
    found = []
    own = compiling.backend_compile_and_load

    def noted(backend, module):
        found.append(module.name)
        return own(backend, module)

    monkeypatch.setattr(compiling, "backend_compile_and_load", noted)
    return found


def loop(x, tree):
    def body(i, carry):
        return jnp.sort(jnp.tanh(carry @ x) + tree["shift"])

    return {"y": lax.fori_loop(0, 3, body, x), "n": (x.shape[0], None)}


def test_results_are_the_same_and_nothing_is_compiled(compiles):
    x = jnp.linspace(0.0, 1.0, 16).reshape(4, 4)
    compiled = jitney.jit(loop).lower(x, {"shift": 0.5}).compile()
    assert compiles == ["loop"]
    data, in_tree, out_tree = serialize(compiled)
    assert (in_tree, out_tree) == (compiled.in_tree, compiled.out_tree)
    loaded = deserialize_and_load(data, in_tree, out_tree)
    assert compiles == ["loop"]
    want, got = compiled(x, {"shift": 0.25}), loaded(x, {"shift": 0.25})
    np.testing.assert_array_equal(got["y"], want["y"])
    assert got["n"][0] == 4 and got["n"][1] is None
    for name in ("in_avals", "out_avals", "donate_argnums", "fun_name", "input_shardings"):
        assert getattr(loaded, name) == getattr(compiled, name), name
    assert str(loaded.args_info) == str(compiled.args_info)
    assert loaded.as_text("hlo") == compiled.as_text("hlo")
    assert loaded.as_text("kernels") == compiled.as_text("kernels")
    assert loaded.cost_analysis() == compiled.cost_analysis()
    assert serialize(loaded)[1:] == (in_tree, out_tree)


def test_another_machine_compiles_anew(compiles):
    x = jnp.arange(4.0)
    data, *trees = serialize(jitney.jit(lambda x: jnp.cumsum(x) / 3).lower(x).compile())
    head = pickle.loads(data)
    head["code"] = {
        name: code.replace(b"jitney", b"jitnei") if name.endswith("program") else code
        for name, code in head["code"].items()
    }
    loaded = deserialize_and_load(pickle.dumps(head), *trees)
    assert len(compiles) == 2
    np.testing.assert_array_equal(loaded(x), jnp.cumsum(x) / 3)


def test_operands_of_each_kind():
    key = jitney.random.key(1)
    data = jitney.random.key_data
    np.testing.assert_array_equal(
        data(again(lambda k: jitney.random.split(k), key)(key)), data(jitney.random.split(key))
    )
    half = jnp.arange(3, dtype=jnp.bfloat16)
    assert again(lambda x: x * 2, half)(half).dtype == jnp.bfloat16
    assert again(lambda x, n: x * n, half, 3, static_argnums=1)(half).tolist() == [0, 3, 6]
    assert again(lambda: jnp.float32(3.0))() == 3.0
    weak = again(lambda x: x, 1.0)(2.0)
    assert weak.weak_type and weak == 2.0


def test_constants_are_exact():
    large = jnp.asarray(np.random.default_rng(0).normal(size=3000).astype(np.float32))
    large = large.at[:3].set(jnp.asarray([jnp.nan, jnp.inf, -0.0]))
    found = again(lambda x: (x[0] + jnp.arange(5), large), large)(large)[1]
    np.testing.assert_array_equal(np.asarray(found).view(int), np.asarray(large).view(int))


def test_donated_arguments_are_given_up():
    x = jnp.arange(5.0)
    loaded = again(lambda x: x + 1, x, donate_argnums=0)
    assert loaded.donate_argnums == (0,)
    assert loaded(x).tolist() == [1, 2, 3, 4, 5]
    assert x.is_deleted()


def test_wrong_calls():
    loaded = again(lambda value: value * 2, jnp.ones(3))
    with pytest.raises(TypeError, match=r"'value': compiled for float32\[3\]"):
        loaded(jnp.ones(4))
    with pytest.raises(TypeError, match=r"tree structure .* but was called with"):
        loaded(jnp.ones(3), 1)
    with pytest.raises(TypeError, match=r"argument 'value' is a .*Tracer"):
        jitney.grad(lambda x: loaded(x).sum())(jnp.ones(3))


def test_refusals():
    with pytest.raises(TypeError, match="takes a compiled program"):
        serialize(jitney.jit(jnp.sin))

    def calls(x):
        return lax.cond(
            x[0] > 0, lambda x: jitney.pure_callback(np.sin, x, x), lambda x: x, x
        )  # fmt: skip

    with pytest.raises(ValueError, match="calls Python functions"):
        serialize(jitney.jit(calls).lower(jnp.ones(2)).compile())
    ref = jitney.new_ref(jnp.ones(2))
    with pytest.raises(ValueError, match="mutable references"):
        serialize(jitney.jit(lambda ref: ref[...] + 1).lower(ref).compile())
    data, *trees = serialize(jitney.jit(jnp.sin).lower(1.0).compile())
    for wrong in (b"", b"abc", pickle.dumps(3), pickle.dumps({"format": 0})):
        with pytest.raises(ValueError, match="not a serialized program"):
            deserialize_and_load(wrong, *trees)
    with pytest.raises(ValueError, match="compiled for 1 device, but execution_devices has 2"):
        deserialize_and_load(data, *trees, execution_devices=jitney.devices() * 2)
    with pytest.raises(RuntimeError, match="tpu"):
        deserialize_and_load(data, *trees, backend="tpu")


DEVICES = """
import os, pickle, sys
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jitney as jax, jitney.numpy as jnp
from jitney.experimental.serialize_executable import deserialize_and_load, serialize
from jitney.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4,), ("a",), axis_types=(AxisType.Auto,))
rows = NamedSharding(mesh, P("a"))
x = jax.device_put(jnp.arange(8.0), rows)
"""

WRITES = """
f = jax.jit(lambda x, y: (x * y + jnp.sum(x), x[:4]), out_shardings=(rows, None))
one = jax.jit(lambda x: x * 2).lower(jnp.ones(3)).compile()
with open(sys.argv[1], "wb") as file:
    pickle.dump([serialize(f.lower(x, 2.0).compile()), serialize(one)], file)
"""

READS = """
with open(sys.argv[1], "rb") as file:
    several, one = pickle.load(file)
y, z = deserialize_and_load(*several)(x, 2.0)
assert y.sharding == rows and y.tolist() == [28.0 + 2 * i for i in range(8)], y
assert len(z.sharding.device_set) == 4, z.sharding
turned = jax.devices()[::-1]
there = NamedSharding(jax.sharding.Mesh(turned, ("a",)), P("a"))
f = deserialize_and_load(*several, execution_devices=turned)
y, _ = f(jax.device_put(jnp.arange(8.0), there), 2.0)
assert y.sharding.device_order == tuple(turned), y.sharding
g = deserialize_and_load(*one, execution_devices=turned[:1])
assert g(jnp.ones(3)).devices() == {turned[0]}
assert deserialize_and_load(*one)(jnp.ones(3)).devices() == {jax.devices()[0]}
"""


def test_other_processes_and_devices(tmp_path):
    for text in (WRITES, READS):
        done = subprocess.run(
            [sys.executable, "-c", DEVICES + text, str(tmp_path / "programs")],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert done.returncode == 0, done.stderr
