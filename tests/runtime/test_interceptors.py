"""Features that look at operations as they are evaluated, from their first use on."""

import subprocess
import sys

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.tracing.trace import state
from jitney.extend.core import Primitive
from jitney.runtime.execution.eager import EvalTrace

SET_UP = """
import jitney as jax, jitney.numpy as jnp
from jitney.core.tracing.trace import state
from jitney.extend.core import Primitive
from jitney.runtime.execution.eager import EvalTrace
x = jnp.array([1.0, 0.0])
def features():
    return [c.__name__ for c in type(state.eval_trace).__mro__ if c.__name__ != "EvalTrace"][:-2]
trace = state.eval_trace
"""
# What uses a feature, and its interceptor.
USES = {
    "jax.debug_nans(True)": "ValueChecks",
    "jax.debug_infs(True)": "ValueChecks",
    "jax.debug_key_reuse(True)": "KeyReuseChecks",
    "jax.transfer_guard('log')": "TransferGuards",
    "jax.set_mesh(jax.make_mesh((1,), ('x',)))": "OnContextMesh",
}


@pytest.mark.parametrize("use", USES)
def test_features_are_installed_at_their_first_use(use):
    program = f"""{SET_UP}
x + x
assert type(state.eval_trace) is EvalTrace
with {use}:
    x + x
    assert features() == [{USES[use]!r}], features()
with {use}:
    x + x
assert features() == [{USES[use]!r}], features()
assert state.eval_trace is state.trace is trace and repr(trace) == "EvalTrace"
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# What uses a feature that looks at calls of programs, and its interceptor.
USES_OF_CALLS = {
    "jax.debug_key_reuse(True)": "KeyReuseInCalls",
    "jax.transfer_guard('log')": "GuardsOfCalls",
}


@pytest.mark.parametrize("use", USES_OF_CALLS)
def test_calls_are_intercepted_from_the_first_use_on(use):
    program = f"""{SET_UP}
from jitney.runtime.execution.call_interceptors import any_on, features
def names():
    return [type(interceptor).__name__ for interceptor in features.installed]
f = jax.jit(lambda x: x + 1)
f(x)
assert names() == []
for _ in range(2):
    with {use}:
        f(x)
        assert any_on()
    assert not any_on() and names() == [{USES_OF_CALLS[use]!r}], names()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_calls_within_a_watched_operation_are_not_remembered():
    """A signature that native code knows would pass by the watch."""
    double = jax.jit(lambda key: jax.random.split(key))
    p = Primitive("split by a user")
    p.def_abstract_eval(lambda aval: aval.update(shape=(2,)))
    p.def_impl(lambda key: double(key))
    with jax.debug_key_reuse(True):
        p.bind(jax.random.key(0))
        key = jax.random.key(1)
        double(key)
        with pytest.raises(jax.errors.KeyReuseError):
            double(key)


@pytest.mark.parametrize("order", [1, -1])
def test_features_work_together_in_any_order(order):
    program = f"""{SET_UP}
uses = [{", ".join(USES)}][::{order}]
for use in uses:
    with use:
        x + x
assert len(features()) == 4, features()
jax.config.update("jax_debug_nans", True)
for f, error in [
    (lambda: jnp.log(-x), FloatingPointError),
    (lambda: jax.lax.top_k(-x * jnp.nan, 1), FloatingPointError),
]:
    try:
        f()
    except error:
        pass
    else:
        raise AssertionError
with jax.debug_key_reuse(True):
    key = jax.random.wrap_key_data(jnp.zeros(2, jnp.uint32))
    jax.random.bits(key)
    try:
        jax.random.bits(key)
    except jax.errors.KeyReuseError:
        pass
    else:
        raise AssertionError
with jax.transfer_guard("disallow"):
    try:
        jnp.add(x, 1.5)
    except RuntimeError:
        pass
    else:
        raise AssertionError
mesh = jax.make_mesh((1,), ("x",))
with jax.set_mesh(mesh):
    assert jnp.sin(x).sharding.mesh == mesh
assert jnp.sin(x).committed is False
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_implementations_of_users_are_left_alone():
    given = Primitive("given")
    given.def_impl(lambda x: np.full(2, np.nan))
    with jax.debug_nans(True), jax.transfer_guard("disallow"):
        assert np.isnan(given.bind(np.ones(2))).all()
    assert isinstance(state.eval_trace, EvalTrace)


def test_several_results_are_looked_at():
    with jax.debug_infs(True), pytest.raises(FloatingPointError, match="inf"):
        jax.lax.top_k(jnp.array([1.0, jnp.inf]), 1)
