"""Objects that stand for arrays, functions with facts of their own, and what closures carry."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest
from tests.helpers.both import of_both

import jitney
from jitney import numpy as jnp
from jitney.runtime.devices import client

X = np.array([1.0, 2.0, 3.0], np.float32)


@functools.partial(jitney.tree_util.register_dataclass, data_fields=["values"], meta_fields=[])
class Wrapped:
    """A pytree that operations take for the array in it."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __jax_array__(self) -> Any:
        return self.values


TRANSFORMED = {
    "jit": lambda f: jitney.jit(f),
    "grad": lambda f: lambda x: jitney.grad(lambda y: f(y).sum())(x).values,
    "grad_of_jit": lambda f: lambda x: jitney.grad(jitney.jit(lambda y: f(y).sum()))(x).values,
    "jvp": lambda f: lambda x: jitney.jvp(f, (x,), (x,))[1],
    "vmap": lambda f: jitney.vmap(f),
    "scan": lambda f: lambda x: jitney.lax.map(f, x),
}


@pytest.mark.parametrize("transform", TRANSFORMED.values(), ids=TRANSFORMED)
@pytest.mark.parametrize("f", [jnp.sin, lambda x: jnp.multiply(x, x)], ids=["sin", "multiply"])
def test_objects_that_stand_for_arrays(transform, f):
    """Their values may be traced."""

    def plain(x):
        return f(x.values)

    got, want = transform(f)(Wrapped(jnp.asarray(X))), transform(plain)(Wrapped(jnp.asarray(X)))
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_programs_have_no_more_arguments_than_their_functions():
    program = jitney.make_jaxpr(jnp.sin)(Wrapped(jnp.asarray(X)))
    assert len(program.jaxpr.invars) == 1 and not program.consts


def test_programs_made_within_transformations_hold_what_they_close_over():
    def f(x):
        program = jitney.make_jaxpr(lambda y: x + y)(1.0)
        return jitney.core.eval_jaxpr(program.jaxpr, program.consts, 10.0)[0]

    for transform in (jitney.vmap, jitney.jit):
        np.testing.assert_allclose(transform(f)(jnp.asarray(X)), X + 10)


def test_names_of_programs():
    assert (
        jitney.make_jaxpr(test_names_of_programs).__qualname__
        == "make_jaxpr(test_names_of_programs)"
    )


def test_transposes_are_values():
    transpose = jitney.jit(lambda x: jitney.linear_transpose(lambda y: x * y, 1.0))(3.0)
    assert float(jitney.jit(lambda f, x: f(x))(transpose, 2.0)[0]) == 6.0
    with pytest.raises(TypeError, match="linear_transpose: the arguments and the results must"):
        jitney.linear_transpose(lambda x: 2.0 * x, 1)


def test_jitted_functions_keep_what_was_noted_on_theirs():
    def f(x):
        return x

    f.note = "a note"
    f.call = "not ours"
    assert jitney.jit(f).note == "a note" and float(jitney.jit(f)(2.0)) == 2.0


def test_functions_that_cannot_be_jitted():
    def generator(x):
        yield x

    class Unprintable:
        def __call__(self, x):
            return x + 1

        def __repr__(self):
            raise ValueError("no text")

    with pytest.raises(TypeError, match="generator"):
        jitney.jit(generator)
    with pytest.raises(TypeError, match="staticmethod"):
        jitney.jit(staticmethod(len))
    assert float(jitney.jit(Unprintable())(1.0)) == 2.0
    assert repr(jitney.jit(Unprintable())) == "<PjitFunction>"


@pytest.mark.parametrize("name", ["a", "args"])
@pytest.mark.parametrize("role", ["static_argnames", "donate_argnames"])
def test_names_that_are_not_for_keywords(name, role):
    def f(a, /, b, *args, **kwargs):
        return b

    with pytest.raises(ValueError, match="must name parameters that can be passed by keyword"):
        jitney.jit(f, **{role: (name, "b")})
    jitney.jit(f, **{role: ("b", "anything")})


def test_arrays_are_not_hashable():
    assert not isinstance(jnp.ones(2), Hashable)
    with pytest.raises(TypeError, match="unhashable"):
        hash(jnp.ones(2))


def test_tangents_of_integers_take_no_part_in_operations():
    nothing = np.zeros(3, jitney.dtypes.float0)
    for use in (lambda: jnp.add(X, nothing), lambda: jnp.sin(nothing)):
        with pytest.raises(TypeError, match="float0"):
            use()


@pytest.mark.parametrize("name", ["jacfwd", "jacrev"])
def test_jacobians_are_as_weakly_typed_as_their_arguments(name):
    for x in (1.0, X):
        for f in ("sin", "double"):

            def jacobian(j, f=f, x=x):
                double = lambda y: y * 2  # noqa: E731
                return getattr(j, name)(j.numpy.sin if f == "sin" else double)(x)

            got, want = of_both(jacobian)
            assert (got.dtype, got.weak_type) == (want.dtype, want.weak_type)


def test_placing_without_sharing():
    x = jnp.arange(3)
    assert jitney.device_put(x).unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    apart = jitney.device_put(x, may_alias=False)
    assert apart.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()


@pytest.mark.parametrize("strong", ["operand", "init", "both", "neither"])
def test_reductions_are_weakly_typed_if_both_operands_are(strong):
    def f(j, reduced):
        x = 3.0 if strong in ("init", "neither") else np.float32(3)
        init = reduced if strong in ("operand", "neither") else np.float32(reduced)
        return j.lax.reduce(x, init, j.lax.mul, ())

    for reduced in (1.0, 2.0):
        ours, theirs = of_both(lambda j, reduced=reduced: f(j, reduced))
        assert ours.weak_type == theirs.weak_type


def test_tangents_of_integers_are_equal():
    gradients = jitney.grad(lambda x, i: x[i], (0, 1), allow_int=True)
    nothing = np.zeros((), jitney.dtypes.float0)
    for f in (gradients, jitney.jit(gradients)):
        assert f(X, 1)[1] == nothing
        assert not bool(jnp.not_equal(f(X, 1)[1], nothing))


def test_constants_are_freed_with_the_function():
    gc.disable()
    try:
        for _ in range(3):
            x = jnp.ones(10)
            held = weakref.ref(x)
            f = jitney.jit((lambda closed_over: lambda: closed_over + 1)(x))
            del x
            f()
            f()
            assert held() is not None
            del f
            assert held() is None
    finally:
        gc.enable()


def test_executables_are_freed_with_the_function():
    devices = jitney.devices()
    gc.collect()
    gc.disable()
    try:
        before = len(client.live_executables)
        f = jitney.jit(lambda x: x + 1.2345)
        f(X)
        f(jitney.device_put(X, devices[0]))  # for another assignment
        assert len(client.live_executables) == before + 2
        del f
        assert len(client.live_executables) == before
    finally:
        gc.enable()


def test_types_have_the_placement_of_results():
    place = jitney.sharding.SingleDeviceSharding(jitney.devices()[0])
    f = jitney.jit(lambda x: (x * 2, x.sum()), out_shardings=(place, None))
    first, second = f.eval_shape(X)
    assert (first.shape, first.sharding, second.sharding) == ((3,), place, None)
