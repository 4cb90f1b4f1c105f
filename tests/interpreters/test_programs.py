"""Programs made of programs; the texts are those of JAX 0.12.0.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.tracing.trace import Tracer
from jitney.core.types.avals import ShapedArray
from jitney.interpreters import ad, batching, partial_eval as pe
from jitney.transforms.batch import AxisData

CLOSED: Any = jax.make_jaxpr(lambda x, y: (jnp.sin(x), x * y))(1.0, 2.0)


def run(closed: Any, *args: Any) -> list[Any]:
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)


def test_binders_and_results_that_are_moved_and_dropped():
    assert str(pe.move_binders_to_back(CLOSED, [True, False])) == (
        "{ lambda ; a:f32[] b:f32[]. let c:f32[] = sin b; d:f32[] = mul b a in (c, d) }"
    )
    assert str(pe.prune_closed_jaxpr_outputs(CLOSED, [False, True])) == (
        "{ lambda ; a:f32[] b:f32[]. let _:f32[] = sin a; c:f32[] = mul a b in (c,) }"
    )
    with pytest.raises(ValueError):
        pe.move_binders_to_back(CLOSED, [True])
    with pytest.raises(ValueError):
        pe.prune_closed_jaxpr_outputs(CLOSED, [True])


def test_partial_evaluation():
    known, rest, unknown, residuals = pe.partial_eval_jaxpr_nounits(CLOSED, [False, True], False)
    assert unknown == [False, True]
    sine, *values = run(known, 1.0)
    np.testing.assert_allclose(sine, np.sin(1), rtol=1e-6)
    assert run(rest, *values, 2.0) == [2]
    assert [a.shape for a in residuals] == [()]
    assert pe.partial_eval_jaxpr_nounits(CLOSED, [False, True], True)[2] == [True, True]


def test_constants_as_arguments():
    x = np.arange(3.0, dtype="f4")
    inner = jax.jit(lambda v: v + 1)
    closed: Any = jax.make_jaxpr(lambda v: inner(v) * jnp.array(x))(1.0)
    converted = pe.convert_constvars_jaxpr(closed.jaxpr)
    assert converted.constvars == [] and len(converted.invars) == 1 + len(closed.consts)
    again = pe.close_jaxpr(converted)
    assert again is converted and pe.close_jaxpr(closed) is closed
    np.testing.assert_array_equal(run(again, *closed.consts, 1.0)[0], run(closed, 1.0)[0])


def test_types_of_results():
    info = CLOSED.jaxpr.debug_info
    (aval,) = pe.abstract_eval_fun(
        lambda x, n: [x[:n]], ShapedArray((3,), np.float32), debug_info=info, n=2
    )
    assert aval == ShapedArray((2,), np.float32)


def test_programs_of_tangents():
    closed, has_tangent = ad.jvp_jaxpr(CLOSED, [True, False], False)
    assert has_tangent == [True, True]
    assert str(closed) == (
        """{ lambda ; a:f32[] b:f32[] c:f32[]. let
    d:f32[] = sin a
    e:f32[] = cos a
    f:f32[] = mul c e
    g:f32[] = mul a b
    h:f32[] = mul c b
  in (d, g, f, h) }"""
    )
    assert ad.jvp_jaxpr(CLOSED, [False, True], False)[1] == [False, True]
    assert ad.jvp_jaxpr(CLOSED, [False, True], [True, False])[1] == [True, True]


def test_programs_of_batches():
    closed: Any = jax.make_jaxpr(lambda x, y: (jnp.sin(x), x * y, y * 2))(jnp.ones(3), jnp.ones(3))
    axis, zero = AxisData("i", 4, None, None), batching.zero_if_mapped
    for wanted, shapes, mapped in (
        ([zero] * 3, [(4, 3), (4, 3), (3,)], [True, True, False]),
        ([0, 1, None], [(4, 3), (3, 4), (3,)], [True, True, False]),
        ([0, 0, 0], [(4, 3), (4, 3), (4, 3)], [True, True, True]),
        ([zero, 1, 0], [(4, 3), (3, 4), (4, 3)], [True, True, True]),
    ):
        batched, found = batching.batch_jaxpr_axes(closed, axis, [1, None], wanted)
        types: Any = batched.out_avals
        assert [a.shape for a in types] == shapes and found == mapped
    with pytest.raises(ValueError, match="its entry in out_axes_dest is None"):
        batching.batch_jaxpr_axes(closed, axis, [1, None], [None, 0, 0])


def test_tracers_of_partial_evaluation_are_tracers():
    assert issubclass(pe.JaxprTracer, Tracer) and hasattr(pe.JaxprTracer, "astype")
