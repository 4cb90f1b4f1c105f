"""`check` raises at once, or is an operation with the error as its operands."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental.checkify.checks import (
    check,
    check_error,
    debug_check,
    make_error,
    one_error,
)
from jitney.experimental.checkify.error import (
    Check,
    Error,
    ErrorEffect,
    FailedCheckError,
    JaxRuntimeError,
)

KIND = ErrorEffect(FailedCheckError, ())
CHECKS = {k: Check(KIND, f"check {k}", None) for k in (3, 4)}


def test_failed_checks_raise_with_the_formatted_message():
    check(True, "never")
    with pytest.raises(JaxRuntimeError, match=r"^2 and \[1 2\] \(`check` failed\)$"):
        check(jnp.array(False), "{} and {x}", np.int32(2), x=np.array([1, 2]))
    debug_check(False, "ignored")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: check(1, "m"), TypeError, "check takes a scalar pred"),
        (lambda: debug_check(np.ones(2, bool), "m"), TypeError, "debug_check takes a scalar pred"),
        (lambda: check("true", "m"), TypeError, "boolean, but got true"),
        (lambda: check(True, "{}", 3), TypeError, "must be arrays.*3 of type int"),
        (lambda: check(True, "{}"), IndexError, "index 0 out of range"),
        (lambda: check(True, "{x}", y=np.ones(1)), KeyError, "x"),
        (lambda: check_error("no error"), TypeError, "but got str"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_check_is_an_equation_with_the_kind_as_its_effect():
    closed = jax.make_jaxpr(lambda x: check(x > 0, "{x}", x=x))(1.0)
    (eqn,) = [e for e in closed.eqns if e.primitive.name == "check"]
    (effect,) = closed.effects
    assert effect.error_type is FailedCheckError and not eqn.outvars
    with pytest.raises(ValueError, match="compiled programs cannot raise"):
        jax.jit(lambda x: check(x > 0, "m"))(1.0)
    jax.jit(lambda x: debug_check(x > 0, "m"))(-1.0)


def test_an_error_occurs_where_its_check_fails():
    for failed in True, False:
        error = make_error(KIND, Check(KIND, "it failed", None), jnp.array(failed), [])
        assert error.get() == ("it failed" if failed else None)


@pytest.mark.parametrize(
    ("codes", "first", "last"),
    [([0, 3, 4, 0], 3, 4), ([4, 0, 0, 3], 4, 3), ([0, 0, 0, 0], 0, 0)],
)
def test_one_error_of_several_is_the_first_or_the_last(codes, first, last):
    several = Error(jnp.array(codes, np.int32), {KIND: []}, CHECKS)
    assert one_error(several).code == first and one_error(several, last=True).code == last
    if first:
        with pytest.raises(JaxRuntimeError, match=f"check {first}"):
            check_error(several)
    else:
        check_error(several)


def test_mapped_checks_raise_once():
    with pytest.raises(JaxRuntimeError, match=r"3\.0 failed"):
        jax.vmap(lambda x: check(x < 2, "{x} failed", x=x))(jnp.arange(4.0))
