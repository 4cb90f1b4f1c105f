"""Derivatives by references that a function takes as arguments, against JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney

X = np.array([1.0, 2.0, 3.0], np.float32)


def reads(j: Any, r: Any) -> Any:
    return r[1] * r[2] + (r[1:] ** 2).sum()


def writes(j: Any, r: Any) -> Any:
    r[0] = r[1] * 2.0
    r[1] += 3.0 * j.numpy.sin(r[0])
    return (r[...] * np.array([1.0, 10.0, 100.0], np.float32)).sum()


def loops(j: Any, r: Any) -> Any:
    def body(i: Any, c: Any) -> Any:
        r[i] = r[i] * c
        return c + r[i]

    return j.lax.fori_loop(0, 3, body, 1.0)


def scans(j: Any, r: Any) -> Any:
    return j.lax.scan(lambda c, i: (c + r[i] ** 2, r[i]), 0.0, np.arange(3))[0]


def branches(j: Any, r: Any) -> Any:
    def change() -> Any:
        r[1] = r[0] ** 2
        return r[1]

    return j.lax.cond(True, change, lambda: r[1]) + r[1]


def jits(j: Any, r: Any) -> Any:
    return j.jit(lambda r: writes(j, r))(r) * r[0]


FUNCTIONS = [reads, writes, loops, scans, branches, jits]


def gradient(j: Any, f: Any, x: Any, start: Any = 0.0) -> Any:
    """(value, cotangent) of `f`, a function of a reference; `start` is that of its last content."""
    ref = j.new_ref(j.numpy.full_like(x, start))
    value, pullback = j.vjp(lambda r: f(j, r), j.new_ref(x))
    (of_x,) = pullback.with_refs(ref)(2.0)
    assert of_x == j.ad.GradRef()
    return value, j.freeze(ref)


def tangent(j: Any, f: Any, x: Any, dx: Any) -> Any:
    """(value, tangent, tangent of what the reference holds in the end)."""
    dref = j.new_ref(dx)
    value, linear = j.linearize(lambda r: f(j, r), j.new_ref(x))
    dvalue = linear(dref)
    return value, dvalue, j.freeze(dref)


def close(got: Any, want: Any) -> None:
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(np.asarray(g), np.asarray(getattr(w, "array", w)), rtol=2e-6)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_cotangents_and_tangents(f: Any):
    def in_jax(j: Any) -> Any:
        return (*gradient(j, f, j.numpy.asarray(X)), *tangent(j, f, j.numpy.asarray(X), X + 1))

    want = of_jax(in_jax)
    close(in_jax(jitney), want)
    x = jitney.numpy.asarray(X)
    compiled = jitney.jit(lambda x: (*gradient(jitney, f, x), *tangent(jitney, f, x, x + 1)))
    close(compiled(x), want)
    mapped = jitney.vmap(lambda x: (*gradient(jitney, f, x), *tangent(jitney, f, x, x + 1)))
    close([y[1] for y in mapped(np.stack([0 * X, X]))], want)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_cotangent_of_what_a_reference_holds_in_the_end(f: Any):
    close(
        gradient(jitney, f, jitney.numpy.asarray(X), 5.0),
        of_jax(lambda j: gradient(j, f, j.numpy.asarray(X), 5.0)),
    )

    def as_value(x: Any) -> Any:
        r = jitney.new_ref(x)
        return 2.0 * f(jitney, r) + 5.0 * jitney.freeze(r).sum()

    close([gradient(jitney, f, X, 5.0)[1]], [jitney.grad(as_value)(X)])


def test_second_derivatives_and_remat():
    def slope(x: Any) -> Any:
        return gradient(jitney, jitney.checkpoint(writes, static_argnums=0), x)[1].sum()

    def as_value(x: Any) -> Any:
        return 2.0 * writes(jitney, jitney.new_ref(x))

    want = jitney.jacrev(jitney.jacrev(as_value))(X).sum(0)
    close([jitney.grad(slope)(X)], [want])
    close([jitney.jvp(slope, (X,), (X,))[1]], [want @ X])


def test_a_pullback_is_called_many_times():
    ref = jitney.new_ref(jitney.numpy.float32(5.0))
    _, pullback = jitney.vjp(lambda r: r[...] ** 2, jitney.new_ref(2.0))
    pullback.with_refs(ref)(1.0)
    pullback.with_refs(ref)(10.0)
    assert ref[...] == 5 + 4 + 40


def test_other_arguments_beside_references():
    def f(tree: Any, y: Any) -> Any:
        tree["a"][...] *= y
        return tree["a"][...] * tree["n"][...]

    point = {"a": jitney.new_ref(2.0), "n": jitney.new_ref(7)}
    value, pullback = jitney.vjp(f, point, 3.0)
    assert value == 42
    ref = jitney.new_ref(0.0)
    wanted = ({"a": ref, "n": jitney.ad.DontWant()}, jitney.ad.GradValue())
    cotangents = pullback.with_refs(*wanted)(1.0)
    assert cotangents == ({"a": jitney.ad.GradRef(), "n": jitney.ad.DidntWant()}, 14.0)
    assert ref[...] == 21
    assert pullback.with_refs(jitney.ad.DontWant(), jitney.ad.GradValue())(1.0)[1] == 14


def test_references_that_are_not_differentiated():
    assert jitney.grad(lambda r, y: r[...] * y, 1)(jitney.new_ref(14.0), 3.0) == 14
    with pytest.raises(ValueError, match="value with a tangent cannot be stored in Ref"):
        jitney.grad(lambda r, y: r.addupdate(y), 1)(jitney.new_ref(14.0), 3.0)


def test_cotangents_of_references_are_no_values():
    _, pullback = jitney.vjp(lambda d, y: d["a"][...] * y, {"a": jitney.new_ref(2.0)}, 3.0)
    message = r"args\[0\]\['a'\] is a reference, Ref\{float32\[\]\}.*with_refs.*DontWant"
    with pytest.raises(ValueError, match=message):
        pullback(1.0)
    with pytest.raises(ValueError, match=message):
        pullback.with_refs(jitney.ad.GradValue(), jitney.ad.GradValue())
    with pytest.raises(TypeError, match=r"grad cannot .* reference.*with_refs"):
        jitney.grad(lambda r: r[...])(jitney.new_ref(2.0))


@pytest.mark.parametrize("wrong", [np.zeros(4, np.float32), np.zeros(3, np.int32)])
def test_references_for_cotangents_have_their_type(wrong: Any):
    _, pullback = jitney.vjp(lambda x: x.sum(), X)
    got = f"{wrong.dtype}\\[{len(wrong)}\\]"
    with pytest.raises(ValueError, match=rf"args\[0\] is of type float32\[3\], .* holds {got}"):
        pullback.with_refs(jitney.new_ref(wrong))


def test_tangents_of_references_are_in_references():
    _, linear = jitney.linearize(lambda r: r[...] ** 2, jitney.new_ref(2.0))
    assert linear(jitney.new_ref(1.0)) == 4
    with pytest.raises(
        ValueError, match=r"tangent of type Ref\{float32\[\]\}, but was called with float32\[\]"
    ):
        linear(1.0)
