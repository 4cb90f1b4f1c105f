"""Backends are found by their platform, and users' caches are cleared with those of programs."""

import functools

import numpy as np
import pytest

import jitney as jax
from jitney.extend import backend
from jitney.runtime.devices.client import Client


@pytest.fixture
def users_caches(monkeypatch):
    monkeypatch.setattr(backend, "_users_caches", [])


def test_clients_by_platform():
    clients = backend.backends()
    assert clients["cpu"] is backend.get_backend() and clients["cpu"].devices() == jax.devices()
    clients.clear()
    assert backend.backends()
    assert backend.backend_xla_version("cpu") is None
    with pytest.raises(RuntimeError, match="no devices of the platform 'gpu'"):
        backend.backend_xla_version("gpu")


def test_the_default_device():
    other = Client("cpu", 0, (2,), 1).devices()[1]
    assert backend.get_default_device() == jax.devices()[0]
    with jax.default_device(other):
        assert backend.get_default_device() is other


def test_registered_caches_are_cleared(users_caches):
    cached = functools.cache(lambda n: [n])
    backend.register_backend_cache(cached, "numbers")
    first = cached(1)
    assert cached(1) is first
    x = jax.jit(lambda x: x + 1)(np.float32(1))
    backend.clear_backends()
    assert cached(1) is not first and x == 2
    assert backend.get_backend() is jax.devices()[0].client


def test_caches_have_to_be_clearable(users_caches):
    with pytest.raises(TypeError, match="the cache of numbers must have a method cache_clear"):
        backend.register_backend_cache({}, "numbers")
    backend.clear_in_memory_compilation_cache()
