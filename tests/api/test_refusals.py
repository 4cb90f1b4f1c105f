"""What transformations say of options and arguments that do not fit."""

import functools

import numpy as np
import pytest
from tests.helpers.both import check_claim

import jitney
import jitney.numpy as jnp


def first(a, b):
    """Returns its first argument."""
    return a


class NoEquality:
    def __hash__(self):
        return 1

    def __eq__(self, other):
        raise NotImplementedError("never equal")


class NoSignature:
    @property
    def __signature__(self):
        raise TypeError("no signature")

    def __call__(self, *args):
        return args[0]


def pulled_back_twice():
    return jitney.vjp(first, 1.0, 2.0)[1](1.0, 1.0)


X, Y = np.ones((10, 4)), np.ones((10, 2))
SIZES = "mapped axes must have the same size, but the sizes are\n"
CASES = {
    "axes that are arrays": (
        lambda: jitney.vmap(first, in_axes=(X, 0)),
        (TypeError, r"`in_axes` must be an integer, None, or a pytree"),
    ),
    "axes that are truth values": (
        lambda: jitney.vmap(first, out_axes=True),
        (TypeError, r"`out_axes` must be an integer, None, .* has True"),
    ),
    "no axis": (
        lambda: jitney.vmap(first)({}, b={}),
        (ValueError, r"or axis_size, but got neither: \*args=\(\{\},\) and \*\*kwargs"),
    ),
    "two sizes": (
        lambda: jitney.vmap(first, in_axes=(0, 1))(X, Y),
        (ValueError, SIZES + r"  size 10: axis 0 of argument a .*\n  size 2: axis 1 of argument b"),
    ),
    "one size is rare": (
        lambda: jitney.vmap(first, in_axes=(0, 1))(X, [Y, Y]),
        (ValueError, SIZES + r"  size 2: axis 1 of argument b\[0\] .*, and 1 more\n  size 10: "),
    ),
    "a size of its own": (
        lambda: jitney.vmap(lambda x: x, axis_size=2)(X),
        (ValueError, SIZES + r"  size 2: axis_size\n  size 10: axis 0 of argument x"),
    ),
    "sizes of keyword arguments": (
        lambda: jitney.vmap(first)(X, b=X[1:]),
        (ValueError, r"size 9: axis 0 of kwargs\['b'\]"),
    ),
    "axes of another structure": (
        lambda: jitney.vmap(lambda x: x, in_axes=([0],))(X),
        (ValueError, r"(?s)tree prefix .*\(1 difference\):.*different types"),
    ),
    "a result that depends on the index": (
        lambda: jitney.vmap(lambda x: {"a": x}, out_axes=None, axis_name="i")(X),
        (ValueError, r"axis_name=i: out_axes\['a'\] is None"),
    ),
    "cotangents apart": (pulled_back_twice, (TypeError, "applied to first .* with 2 arguments")),
    "tangents in a list": (
        lambda: jitney.jvp(jnp.sin, (1.0,), [1.0]),
        (TypeError, "must have the same tree structure"),
    ),
    "static and donated": (
        lambda: jitney.jit(first, static_argnames="a", donate_argnames="a"),
        (ValueError, r"static_argnames and donate_argnames cannot intersect"),
    ),
    "donated by name, without signature": (
        lambda: jitney.jit(NoSignature(), donate_argnames="a"),
        (ValueError, "has no signature; pass positions as donate_argnums"),
    ),
    "static and not hashable": (
        lambda: jitney.jit(first, static_argnums=0)(X, 1),
        (ValueError, "static argument .* must be hashable, but is of type <class 'numpy.ndarray'>"),
    ),
    "no array": (
        lambda: jitney.jit(first)(1, b="text"),
        (TypeError, "arguments must be arrays .*, but b is of type <class 'str'>"),
    ),
    "too large": (
        lambda: jitney.jit(first)(2**40, 1),
        (OverflowError, r"jit\(first\)\(2\*\*40, 1\): argument a is out of the range"),
    ),
    "an integer leaf": (
        lambda: jitney.grad(lambda scale, params: scale, 1)(1.0, {"n": 3, "w": X}),
        (TypeError, r"floating-point dtype, but params\['n'\] is of int32"),
    ),
    "an integer argument, of two": (
        lambda: jitney.jacfwd(first, (-1, 0))(1.0, 3),
        (TypeError, r"floating-point dtype, but argument b is of int32"),
    ),
    "compiled for another type": (
        lambda: jitney.jit(first).lower(1.0, 1).compile()(1, 1),
        (TypeError, r"first: .*\n    'a': compiled for float32\[\], called with int32\[\]"),
    ),
    "compiled, within vmap": (
        lambda: jitney.vmap(jitney.jit(jnp.sin).lower(1.0).compile())(X[0]),
        (TypeError, "argument 'x' is a BatchTracer"),
    ),
    "memory shared and given away": (
        lambda: jitney.device_put(X, may_alias=True, donate=True),
        (ValueError, r"donated \(`donate`\) or shared with the result \(`may_alias`\), but both"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refusals(name):
    call, (kind, text) = CASES[name]
    with pytest.raises(kind, match=text):
        call()


def test_static_arguments_that_cannot_be_compared():
    f = jitney.jit(first, static_argnums=1)
    f(1, NoEquality())
    with pytest.raises(ValueError, match="static arguments should be comparable using __eq__"):
        f(1, NoEquality())


def test_mapped_functions_are_documented():
    doc = jitney.vmap(first).__doc__
    assert doc.startswith("Vectorized version of first")
    assert doc.endswith("Original documentation:\n\nReturns its first argument.")
    assert jitney.vmap(lambda x: x).__doc__ is None


def test_partials_of_partials_show_their_parts():
    def claim(lib):
        inner = functools.partial(first, 1, b=2)
        outer = lib.tree_util.Partial(inner, 3)
        assert outer.func.func is first
        assert outer.func.args == (1,)
        assert outer.func.keywords == {"b": 2}
        assert outer.args == (3,)

    check_claim(claim)
