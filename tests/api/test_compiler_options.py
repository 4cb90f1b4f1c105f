"""Options for XLA are accepted, names that it does not have are not."""

import pytest

import jitney as jax
from jitney.experimental.pjit import pjit

KNOWN = {"xla_cpu_enable_fast_math": True, "exec_time_optimization_effort": 0.0}


def test_options_of_xla_change_nothing():
    assert jax.jit(lambda x: x + 1, compiler_options=KNOWN)(1) == 2
    assert jax.jit(lambda x: x + 1).lower(1).compile(compiler_options=KNOWN)(1) == 2


def test_other_names_are_refused():
    with pytest.raises(jax.errors.JaxRuntimeError, match="No such compile option: 'fast'"):
        jax.jit(lambda x: x, compiler_options={"fast": True})(1)
    lowered = jax.jit(lambda x: x).lower(1)
    with pytest.raises(jax.errors.JaxRuntimeError, match="'xlacpu'"):
        lowered.compile({"xla_cpu_enable_fast_math": True, "xlacpu": 1})


def test_they_are_for_whole_programs():
    inner = jax.jit(lambda x: x + 1, compiler_options=KNOWN)
    with pytest.raises(
        ValueError, match=r"compiler_options=.* called while another function is traced"
    ):
        jax.jit(lambda x: inner(x) * 2)(1)
    assert jax.vmap(inner)(jax.numpy.ones(2)).tolist() == [2, 2]
    assert jax.jit(compiler_options=KNOWN)(lambda x: x + 1)(1) == 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("options", [{}, {"device": jax.devices()[0]}])
def test_of_pjit(options):
    f = pjit(lambda x: x + 1, compiler_options={"fast": True}, **options)
    with pytest.raises(jax.errors.JaxRuntimeError, match="'fast'"):
        f(1)
