"""Guards of transfers, which find copies that a program makes unawares."""

import logging
import os
import subprocess
import sys

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

REFUSED = {
    "a NumPy array to a jitted function": lambda f, x: f(np.ones(3, np.float32)),
    "a scalar to a jitted function": lambda f, x: f(1.0),
    "a scalar to an operation": lambda f, x: x + 1,
    "a NumPy array to an operation": lambda f, x: x + np.ones(3),
    "asarray": lambda f, x: jnp.asarray(np.ones(3)),
    "array": lambda f, x: jnp.array([1.0, 2.0]),
    "a scalar to array": lambda f, x: jnp.array(1.0),
}
ALLOWED = {
    "device_put": lambda f, x: jax.device_put(np.ones(3)),
    "an array": lambda f, x: f(x),
    "an operation on arrays": lambda f, x: x + x,
    "a constant": lambda f, x: jax.jit(lambda x: x + np.ones(3))(x),
    "reading": lambda f, x: np.asarray(x),
}


@pytest.fixture
def f():
    f = jax.jit(lambda x: x * 2)
    for x in (jnp.ones(3), np.ones(3, np.float32), 1.0):  # such calls are native from now on
        f(x)
    return f


@pytest.mark.parametrize("name", REFUSED)
def test_implicit_transfers(name, f, caplog):
    x, run = jnp.ones(3), REFUSED[name]
    with jax.transfer_guard("disallow"), pytest.raises(jax.errors.JaxRuntimeError) as raised:
        run(f, x)
    assert "Disallowed host-to-device transfer: " in str(raised.value)
    assert "jax_transfer_guard_host_to_device is 'disallow'" in str(raised.value)
    with jax.transfer_guard_device_to_device("disallow"):
        run(f, x)
    assert not caplog.records
    with jax.transfer_guard("log"), caplog.at_level(logging.WARNING):
        run(f, x)
    assert "host-to-device transfer: " in caplog.text
    run(f, x)


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_no_implicit_transfer(name, f):
    with jax.transfer_guard("disallow"):
        ALLOWED[name](f, jnp.ones(3))


def test_explicit_transfers():
    with (
        jax.transfer_guard("disallow_explicit"),
        pytest.raises(jax.errors.JaxRuntimeError, match=r"device_put copies .*float32"),
    ):
        jax.device_put(np.ones(3, np.float32))


def test_a_call_under_a_guard_does_not_change_later_calls(f):
    x = np.ones(4, np.float32)
    with jax.transfer_guard("allow"):
        f(x)
    for _ in range(2):
        with jax.transfer_guard("disallow"), pytest.raises(jax.errors.JaxRuntimeError):
            f(x)
        f(x)


def test_between_devices():
    code = """
import jitney as jax, jitney.numpy as jnp
first, second = jax.devices()
x, y = jnp.ones(4), jax.device_put(jnp.ones(4), second)
jax.config.update("jax_transfer_guard", "disallow")
assert jax.config.jax_transfer_guard_device_to_host == "disallow"
jax.device_put(x, second)
halves = jax.NamedSharding(jax.make_mesh((2,), ("i",)), jax.P("i"))
for run in (lambda: jax.jit(jnp.add)(x, y), lambda: jax.jit(jnp.sin, in_shardings=halves)(x)):
    try:
        run()
    except jax.errors.JaxRuntimeError as error:
        assert "Disallowed device-to-device transfer: jit(" in str(error), error
    else:
        raise AssertionError
with jax.transfer_guard("disallow_explicit"):
    try:
        jax.device_put(x, second)
    except jax.errors.JaxRuntimeError as error:
        assert "the transfer is explicit" in str(error), error
    else:
        raise AssertionError
"""
    environment = {**os.environ, "JAX_NUM_CPU_DEVICES": "2"}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env=environment)
