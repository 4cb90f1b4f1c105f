"""Batched loops: which operands become batched, and effects that cannot be."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.experimental import io_callback
from jitney.primitives.control.while_batching import batched, parts_of
from jitney.transforms.batch import AxisData

LOOP = {"cond_nconsts": 1, "body_nconsts": 2}


def test_operands_of_a_loop():
    assert parts_of("abcde", LOOP) == (["a"], ["b", "c"], ["d", "e"])
    assert parts_of([], {"cond_nconsts": 0, "body_nconsts": 0}) == ([], [], [])


def parameters(f, *args):
    (eqn,) = [e for e in jitney.make_jaxpr(f)(*args).eqns if e.primitive.name == "while"]
    return eqn.params


def loop(limit, by, count, x):
    return lax.while_loop(lambda c: c[0] < limit, lambda c: (c[0] + 1, c[1] + by), (count, x))


@pytest.mark.parametrize(
    ("dims", "want"),
    [
        ((None, None, None, 0), (None, 0)),
        ((None, 1, None, None), (None, 0)),  # x becomes batched as `by` is
        ((0, None, None, None), (0, 0)),  # all carries, as instances end at different times
        ((None, None, 0, None), (0, 0)),
    ],
)
def test_carries_that_become_batched(dims, want):
    x = np.float32(1) * np.ones(2, np.float32)
    params = parameters(loop, np.int32(3), x, np.int32(0), x)
    operands = [np.int32(3), x, np.int32(0), x]
    operands = [
        a if d is None else np.stack([a, a, a], d) for a, d in zip(operands, dims, strict=True)
    ]
    args, changed, out_dims = batched(AxisData(None, 3), operands, dims, params)
    assert tuple(out_dims) == want
    shapes = [np.shape(a) for a in args[2:]]
    assert shapes == [(3, *s) if d == 0 else s for s, d in zip([(), (2,)], want, strict=True)]
    assert [a.shape for a in changed["body_jaxpr"].out_avals] == shapes


def test_effects_of_instances_that_have_ended_are_refused():
    def calling(limit):
        def body(i):
            io_callback(print, None, i)
            return i + 1

        return lax.while_loop(lambda i: i < limit, body, 0)

    def writing(limit):
        def body(i):
            ref[...] += 1
            return i + 1

        return lax.while_loop(lambda i: i < limit, body, 0)

    ref = jitney.new_ref(jnp.int32(0))
    limits = np.array([1, 2], np.int32)
    with pytest.raises(NotImplementedError, match="a callback with side effects would also run"):
        jitney.vmap(calling)(limits)
    with pytest.raises(NotImplementedError, match="changes a mutable array reference"):
        jitney.vmap(writing)(limits)
