"""Features that look at values which become arrays, and at new arrays."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.runtime.arrays import array_interceptors
from jitney.runtime.arrays.array_interceptors import ArrayInterceptor


class Log(ArrayInterceptor):
    """Notes what it is asked about."""

    def __init__(self):
        self.seen = []

    def check_from_host(self, x, what):
        self.seen.append(("from host", type(x).__name__, what))

    def check_put(self, x, where):
        self.seen.append(("put", type(x).__name__, where is None))

    def new_array(self, x):
        self.seen.append(("new", x.shape))
        return x


@contextmanager
def logged():
    log = Log()
    array_interceptors.features.install(log)
    array_interceptors.features.install(log)  # once all the same
    try:
        yield log.seen
    finally:
        array_interceptors.features.remove(log)


def test_what_is_seen():
    x = jnp.ones(2)
    with logged() as seen:
        jnp.asarray(np.ones(3, np.float32))
        assert ("from host", "ndarray", "array") in seen
        del seen[:]
        jnp.array(2.5)
        assert seen[0] == ("from host", "float", "array")
        del seen[:]
        jax.device_put([x, 1])
        jax.device_put(x, jax.devices()[0])
        assert seen == [
            ("put", "ArrayImpl", True),
            ("put", "int", True),
            ("put", "ArrayImpl", False),
        ]
        del seen[:]
        jnp.zeros((0, 4))
        assert seen == [("new", (0, 4))]
        del seen[:]
        x + 1.0
        assert seen == []


def test_nothing_is_seen_afterwards():
    with logged() as seen:
        pass
    jnp.array(2.5), jnp.zeros(3), jax.device_put(1)
    assert seen == []


def test_new_arrays_may_be_replaced_and_refused():
    class Doubled(ArrayInterceptor):
        def new_array(self, x):
            return x * 2

        def check_put(self, x, where):
            raise ValueError("not here")

    feature = Doubled()
    array_interceptors.features.install(feature)
    try:
        assert jnp.ones(3).tolist() == [2.0, 2.0, 2.0]
        assert jnp.array([1.0, 3.0]).tolist() == [2.0, 6.0]
        with pytest.raises(ValueError, match="not here"):
            jax.device_put(1)
    finally:
        array_interceptors.features.remove(feature)
    assert jnp.ones(3).tolist() == [1.0, 1.0, 1.0]
