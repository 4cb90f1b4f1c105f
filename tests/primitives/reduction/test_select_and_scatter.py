"""`select_and_scatter` against real jax: any choice, any combination, windows that overlap, padding."""

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney

X = (np.random.default_rng(0).permutation(30).astype(np.float32) - 12).reshape(5, 6)
WINDOWS = [
    {"window_dimensions": (2, 2), "window_strides": (1, 2), "padding": ((0, 0), (0, 0))},
    {"window_dimensions": (3, 2), "window_strides": (1, 1), "padding": ((1, 2), (1, 0))},
    {"window_dimensions": (2, 3), "window_strides": (3, 2), "padding": ((0, 1), (2, 1))},
    {"window_dimensions": (5, 6), "window_strides": (1, 1), "padding": ((0, 0), (0, 0))},
    {"window_dimensions": (2, 3), "window_strides": (2, 3), "padding": ((-1, 0), (0, 0))},
]
PROGRAMS = {
    "sums at the largest": (lambda j: j.lax.ge, lambda j: j.lax.add),
    "sums at the least": (lambda j: j.lax.le, lambda j: j.lax.add),
    "products at the nearest to 3": (
        lambda j: lambda a, b: abs(a - 3) <= abs(b - 3),
        lambda j: lambda a, b: a * b,
    ),
    "last": (lambda j: j.lax.ge, lambda j: lambda a, b: b),
}


def scattered(j, window, program, x, source, init):
    choose, combine = (j.make_jaxpr(make(j))(x.dtype.type(0), x.dtype.type(0)) for make in program)
    return j.lax.select_and_scatter_p.bind(
        x, source, init, select_jaxpr=choose.jaxpr, select_consts=(), scatter_jaxpr=combine.jaxpr,
        scatter_consts=(), **window,
    )  # fmt: skip


def source_for(window, x):
    sizes, strides, padding = window.values()
    extents = [
        (n + sum(pads) - w) // s + 1
        for n, w, s, pads in zip(x.shape, sizes, strides, padding, strict=True)
    ]
    return np.random.default_rng(1).integers(1, 5, extents).astype(x.dtype)


@pytest.mark.parametrize("window", WINDOWS, ids=range(len(WINDOWS)))
@pytest.mark.parametrize("program", PROGRAMS)
def test_values(window, program):
    x = X if window is not WINDOWS[2] else X.astype(np.int32)
    args = (x, source_for(window, x), x.dtype.type(2))

    def use(j):
        return scattered(j, window, PROGRAMS[program], *map(j.numpy.asarray, args))

    np.testing.assert_array_equal(use(jitney), of_jax(use))


def test_programs_and_errors():
    window, program = WINDOWS[0], PROGRAMS["sums at the largest"]
    source = source_for(window, X)

    def text(j):
        made = j.make_jaxpr(lambda x, s: scattered(j, window, program, x, s, np.float32(0)))
        return str(made(X, source))

    assert text(jitney) == of_jax(text)
    with pytest.raises(ValueError, match="one element for each window"):
        scattered(jitney, window, program, X, source[1:], np.float32(0))
    with pytest.raises(TypeError, match="must have the operand's dtype"):
        scattered(jitney, window, program, X, source, np.int32(0))
