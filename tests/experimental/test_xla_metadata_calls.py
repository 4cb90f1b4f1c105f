"""Calls with attributes for the compiler, and what `jax.extend.backend` keeps."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental import xla_metadata
from jitney.extend import backend


def call_of(f: Any, *args: Any) -> Any:
    (eqn,) = jax.make_jaxpr(f)(*args).jaxpr.eqns
    return eqn


@pytest.mark.parametrize(
    "f",
    [
        xla_metadata.xla_metadata_call(lambda x: x * x, stage=1),
        xla_metadata.xla_metadata_call(stage=1)(lambda x: x * x),
        xla_metadata.xla_metadata_call2(lambda x: x * x, {"stage": 1}),
        xla_metadata.xla_metadata_call2(metadata={"stage": 1}, ad_metadata="none")(lambda x: x * x),
    ],
)
def test_a_call_is_one_operation_with_attributes(f: Any):
    jit: Any = jax.jit
    assert f(3.0) == 9 and jit(f)(3.0) == 9 and jax.grad(f)(3.0) == 6
    np.testing.assert_array_equal(jax.vmap(f)(jnp.arange(3.0)), [0, 1, 4])
    eqn = call_of(f, 3.0)
    assert eqn.primitive.name == "jit" and dict(eqn.ctx.xla_metadata) == {"stage": 1}


def test_bounds_of_fusion_are_attributes():
    fused: Any = xla_metadata.must_fuse_call("sums")
    f = fused(lambda x: jnp.square(x).sum())
    assert f(jnp.arange(3.0)) == 5
    assert dict(call_of(f, jnp.arange(3.0)).ctx.xla_metadata) == {"MUST_FUSE": "sums"}

    def limited(x: Any) -> Any:
        with xla_metadata.fuse_limit():
            return jnp.sin(x)

    assert dict(call_of(limited, 1.0).ctx.xla_metadata) == {"FUSE_LIMIT": True}


def test_values_of_attributes():
    with pytest.raises(TypeError, match=r"strings, booleans or numbers.*stage"):
        xla_metadata.xla_metadata_call(lambda x: x, stage=[1])


def test_caches_of_users_are_cleared_with_the_backends():
    calls: list[int] = []

    @functools.cache
    def cached(n: int) -> int:
        calls.append(n)
        return n

    backend.register_backend_cache(cached, "numbers")
    assert cached(1) == cached(1) == 1
    backend.clear_backends()
    assert cached(1) == 1 and calls == [1, 1]
    wrong: Any = {}
    with pytest.raises(TypeError, match="cache_clear"):
        backend.register_backend_cache(wrong, "nothing")


def test_what_a_client_says():
    client: Any = backend.get_backend()
    assert type(client).platform == "" and client.platform == "cpu"
    assert client.host_id() == client.task_id() == client.process_index() == 0
    assert client.device_from_local_hardware_id(0) == jax.local_devices()[0]
    assert client.is_c_api is False and backend.backend_xla_version() is None
    with pytest.raises(IndexError):
        client.device_from_local_hardware_id(1000)
