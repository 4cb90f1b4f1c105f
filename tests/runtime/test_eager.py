"""Eager mode computes operations by their reference implementation, or as programs."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.lax import add_p, sin_p
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.execution import eager


def test_results_share_no_memory_with_what_callers_lend():
    lent = np.arange(4.0)
    for x in (lent, lent[1:], lent.reshape(2, 2)):
        out = eager.unshared(x, [lent])
        np.testing.assert_array_equal(out, x)
        assert not np.may_share_memory(out, lent)
    own = lent + 1
    assert eager.unshared(own, [lent]) is own and eager.unshared(own, []) is own


@pytest.mark.parametrize(
    "x, dtype, weak",
    [
        (2, "int32", True), (2.5, "float32", True), (True, "bool", False), (1j, "complex64", True),
        (np.float16(3), "float16", False), (np.arange(3.0), "float32", False),
    ],
)  # fmt: skip
def test_operands_have_the_types_of_arrays(x, dtype, weak):
    value, aval = eager.host_operand(x)
    assert value.dtype == aval.dtype == dtype and aval.weak_type == weak
    np.testing.assert_array_equal(value, x)


def test_what_is_no_operand_is_refused():
    leaked = []
    jax.make_jaxpr(lambda x: leaked.append(x))(1.0)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        eager.host_operand(leaked[0])
    with pytest.raises(TypeError):
        eager.host_operand("text")
    with pytest.raises(OverflowError):
        eager.host_operand(2**40)


def test_owned_operands_are_copies():
    x = np.float32([1, 2])
    own = eager.owned(x)
    x[...] = 0
    np.testing.assert_array_equal(own, [1, 2])
    assert isinstance(eager.owned(3.5), ArrayImpl) and eager.owned(3.5).weak_type


def test_operations_are_computed_eagerly_and_by_compiled_code_alike():
    trace, x = eager.EvalTrace(), jnp.float32([0.5, -0.0, np.inf])
    now = trace.process_primitive(add_p, [x, x], {})
    compiled = eager.run_compiled(add_p, [x, x], {})
    assert np.asarray(now).tobytes() == np.asarray(compiled).tobytes()
    np.testing.assert_array_equal(now, [1.0, 0.0, np.inf])


def test_equal_operations_share_one_program():
    avals = (jnp.ones(2).aval,)
    first = eager._program_of(sin_p, avals, {"accuracy": None}, avals[0])
    assert eager._program_of(sin_p, avals, {"accuracy": None}, avals[0]) is first
    other = (jnp.ones(3).aval,)
    assert eager._program_of(sin_p, other, {"accuracy": None}, other[0]) is not first
    (eqn,) = first.eqns
    assert eqn.primitive is sin_p and first.out_avals == list(avals)


def test_references_have_an_evaluator_of_their_own():
    ref = jax.new_ref(jnp.ones(2))
    assert eager.evaluator_for(ref) is not None and eager.evaluator_for(jnp.ones(2)) is None
