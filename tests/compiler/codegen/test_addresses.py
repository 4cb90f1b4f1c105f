"""Addresses of places that differ by a constant are computed once."""

import jitney
import jitney.numpy as jnp


def test_a_stencil_has_one_address_for_each_buffer():
    def f(u):
        return u[2:, 2:] + u[:-2, 2:] + u[2:, :-2] + u[:-2, :-2] - 4 * u[1:-1, 1:-1]

    text = jitney.jit(f).lower(jnp.ones((50, 66))).as_text("llvm")
    kernel = text[: text.index("define i32 @entry")]
    # A row of 64 has no rest after vectors. The rows of two buffers, the position in each, and offsets
    # of five loads.
    assert kernel.count(" = mul ") <= 2, kernel
    assert kernel.count(" = add ") <= 9, kernel
