"""Executables take and return flat arrays, account for their memory, and refuse what is gone."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.diagnostics.errors import JaxRuntimeError
from jitney.runtime.execution import dispatch, executable
from jitney.runtime.execution.assignment import assign
from jitney.runtime.execution.executable import MemoryAnalysis


def executable_of(fun, *args, donated=()):
    closed = jax.make_jaxpr(fun)(*args)
    return dispatch.executable_of(closed, "f", assign(args, donated))


def test_the_peak_counts_results_in_donated_arguments_once():
    assert MemoryAnalysis(100, 40, 7, 30, 1000).peak_memory_in_bytes == 100 + 40 + 7 - 30


def test_memory_of_a_program_and_donation():
    x = jnp.arange(100.0)
    own = executable_of(lambda x: x * 2, x)
    kept, given = own.memory_analysis((False,)), own.memory_analysis((True,))
    assert kept.argument_size_in_bytes == kept.output_size_in_bytes == 400
    assert (kept.alias_size_in_bytes, given.alias_size_in_bytes) == (0, 400)
    assert (own.aliases((False,)), own.aliases((True,))) == ((-1,), (0,))


def test_donated_arrays_are_deleted():
    x, y = jnp.arange(3.0), jnp.ones(3)
    own = executable_of(lambda x, y: x + y, x, y, donated=(True, False))
    np.testing.assert_array_equal(own.run([x, y])[0], [1, 2, 3])
    assert x.is_deleted() and not y.is_deleted()
    with pytest.raises(JaxRuntimeError, match="flat argument 0 is also passed as another"):
        own.run([y, y])


def test_results_without_data():
    def f(n, x):
        return jax.jvp(lambda n: n, (n,), (np.zeros((2,), jax.dtypes.float0),))[1], x

    own = executable_of(f, np.arange(2), np.float32(3))
    none, x = own.run([np.arange(2), 3.0])
    assert not own.has_only_arrays and x == 3
    assert none.dtype == jax.dtypes.float0 and none.shape == (2,)


def test_data_of_operands():
    x = np.arange(6).reshape(2, 3).T
    data = executable.host_data(x, np.dtype(np.int32))
    assert data.dtype == np.int32 and data.flags.c_contiguous
    np.testing.assert_array_equal(data, x)
    same = np.arange(3, dtype=np.int32)
    assert executable.host_data(same, same.dtype) is same
    assert executable.host_data(2, np.dtype(np.float32)).shape == ()

    class Wrapped:
        def __jax_array__(self):
            return jnp.arange(3)

    np.testing.assert_array_equal(executable.host_data(Wrapped(), same.dtype), same)
    leaked = []
    jax.make_jaxpr(lambda x: leaked.append(x))(1.0)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        executable.host_data(leaked[0], same.dtype)


def test_constants_of_nested_programs_are_found():
    c, d = jnp.arange(3.0), jnp.arange(4.0)
    closed = jax.make_jaxpr(lambda x: jax.jit(lambda y: y + c)(x)[0] + d)(np.ones(3, np.float32))
    found = [id(x) for x in executable.constants_of(closed)]
    assert {id(c), id(d)} <= set(found)
    executable.refuse_windows(closed, "f")
