"""All compilation passes through one function, which others may wrap."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney._src import compiler


class ForbiddenError(RuntimeError):
    pass


def test_compilation_can_be_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    known = jax.jit(lambda x: x * 3 - 1)
    x = jnp.arange(5.0)
    known(x)
    platforms = []

    def forbid(backend, *args):
        platforms.append(backend.platform)
        raise ForbiddenError

    with monkeypatch.context() as patch:
        patch.setattr(compiler, "backend_compile_and_load", forbid)
        with pytest.raises(ForbiddenError):
            jax.jit(lambda x: x * 5 + 2)(x)
        np.testing.assert_array_equal(known(x), np.arange(5.0) * 3 - 1)
    assert platforms == ["cpu"]
    np.testing.assert_array_equal(jax.jit(lambda x: x * 5 + 2)(x), np.arange(5.0) * 5 + 2)
