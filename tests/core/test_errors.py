"""Errors of the public API: their documentation, and tracers of users."""

import pickle

import numpy as np
import pytest

import jitney as jax
import jitney.extend.core
import jitney.numpy as jnp
from jitney.core.tracing.trace import Tracer
from jitney.core.types.avals import ShapedArray

CLASSES = [
    jax.errors.ConcretizationTypeError,
    jax.errors.JAXIndexError,
    jax.errors.JAXTypeError,
    jax.errors.KeyReuseError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerBoolConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.UnexpectedTracerError,
]


class UsersTracer(Tracer):
    """One whose type is not known, or what it is given."""


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_messages_point_to_the_documentation(cls):
    message = str(cls(UsersTracer(None, None)))
    code = getattr(cls, "code", None)
    assert message.count(f"`jitney explain {code}`") == (code is not None)
    assert message.count(f"errors.html#jax.errors.{cls.__name__}") == 1


def test_pickled_errors_have_the_same_message():
    error = jax.errors.UnexpectedTracerError("where?")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_tracers_of_users_may_be_given_their_type():
    aval = ShapedArray((2,), np.dtype("float32"))
    tracer = UsersTracer(None, aval)
    assert tracer.aval is aval and tracer.shape == (2,)
    with pytest.raises(NotImplementedError, match=r"UsersTracer\.aval"):
        _ = UsersTracer(None).aval


def test_rules_for_types_must_return_what_was_declared():
    one, many = jax.extend.core.Primitive("one"), jax.extend.core.Primitive("many")
    many.multiple_results = True
    one.def_abstract_eval(lambda x: [x])
    many.def_abstract_eval(lambda x: x)
    for primitive, wanted in ((one, "one type"), (many, "list or tuple")):
        with pytest.raises(ValueError, match=f"{primitive.name}: .*{wanted}"):
            jax.jit(primitive.bind)(1.0)


def test_what_may_be_an_operand():
    valid = jax.extend.core.valid_jaxtype
    assert all(map(valid, (1, 2.0, True, 1j, np.ones(2), np.float32(1), jnp.ones(2), 2**70)))
    assert not valid(np.array([1], object)) and not valid(np.zeros(1, [("i", "i4"), ("f", "f4")]))
    assert not valid("x") and not valid(None)


def test_representations_of_tracers():
    seen = []

    def f(x):
        seen.append(repr(x))
        return x.sum()

    jax.jacfwd(f)(jnp.arange(3.0))
    jax.grad(f)(jnp.float16(1.0))
    assert seen == [
        "JVPTracer(primal=[0. 1. 2.], tangent=VmapTracer(aval=float32[3], batched=float32[3,3]))",
        "GradTracer(primal=1.0, typeof(tangent)=f16[])",
    ]


def test_primitives_without_rules():
    mine = jax.extend.core.Primitive("mine")
    for use, wanted in (
        (mine.bind, "'mine' has no evaluation rule.*def_impl"),
        (jax.jit(mine.bind), "'mine' has no rule for result types.*def_abstract_eval"),
        (jax.grad(mine.bind), "'mine' has no derivative rule.*primitive_jvps"),
        (jax.vmap(mine.bind), "'mine' has no batching rule.*primitive_batchers"),
    ):
        with pytest.raises(NotImplementedError, match=wanted):
            use(jnp.ones(2))
    mine.def_abstract_eval(lambda x: x)
    with pytest.raises(
        NotImplementedError, match=r"'mine' has no rule for compilation.*register_lowering"
    ):
        jax.jit(mine.bind)(1.0)


def test_operations_on_float0():
    zero = jax.grad(lambda x: x + 0.0, allow_int=True)(1)
    for operation in (jnp.sin, jax.lax.neg, lambda x: x + jnp.zeros(()), lambda x: jnp.add(x, 1)):
        with pytest.raises(TypeError, match=r"got a float0 array.* tangents of integers"):
            operation(zero)
    with pytest.raises(TypeError, match=r"add: .* float0 array at position 1"):
        jax.lax.add(jnp.zeros(()), zero)
