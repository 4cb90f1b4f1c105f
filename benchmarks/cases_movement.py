"""Movement of data: views with strides, reversals, transpositions, padding, over element types.

Each is compiled, on a million elements or so, with little arithmetic: the time is that of the loads and
stores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Call, Side, case

_SHAPE = (1000, 1000)
_SHORT = {"int8": "i8", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "complex64": "c64"}


def _array(side: Side, dtype: str, *shape: int) -> Any:
    x = np.random.default_rng(0).uniform(-40, 40, shape or _SHAPE)
    if dtype.startswith("complex"):
        x = x + 1j * x[::-1]
    return side.jnp.asarray(x.astype(np.float32) if dtype == "bfloat16" else x).astype(dtype)


def _movement(
    name: str, title: str, move: Callable[[Any, Any], Any], *dtypes: str, **options: Any
) -> None:
    """Registers a case for each of `dtypes`: `move(jnp, x)` for x of 1000x1000."""
    for dtype in dtypes:

        def setup(side: Side, dtype: str = dtype) -> Call:
            x = _array(side, dtype)
            f = side.jax.jit(lambda x: move(side.jnp, x))
            return lambda: f(x)

        setup.__module__ = __name__
        short = _SHORT.get(dtype, dtype)
        case(f"{name}_{short}", f"{title}, {dtype}", 1.0, **options)(setup)


_NARROW = ("int8", "float16", "bfloat16")

_movement("flip_columns", "flip(x, 1)", lambda jnp, x: jnp.flip(x, 1), *_NARROW, "complex64")
_movement("flip_both", "x[::-1, ::-1] + x", lambda _, x: x[::-1, ::-1] + x, *_NARROW, "complex64")
_movement("flip_rows", "flip(x, 0)", lambda jnp, x: jnp.flip(x, 0), "int8", "complex64")
_movement("roll_both", "roll(x, (3, 5), (0, 1))", lambda jnp, x: jnp.roll(x, (3, 5), (0, 1)),
          "int8", "float32", "complex64")  # fmt: skip
_movement(
    "strided", "x[::3, ::2] * 2", lambda _, x: x[::3, ::2] * 2, *_NARROW, "float32", "complex64"
)
_movement(
    "strided_columns", "x[:, ::3] + 1", lambda _, x: x[:, ::3] + 1, *_NARROW, "float32", "complex64"
)
_movement("take_rows_back", "x[arange(999, -1, -7)]", lambda jnp, x: x[jnp.arange(999, -1, -7)],
          "int8", "float32", "complex64")  # fmt: skip
_movement("transposed", "x.T + 1", lambda _, x: x.T + 1, *_NARROW, "float32", "complex64")
_movement("transpose", "x.T", lambda _, x: x.T, *_NARROW, "float32", "complex64")
_movement("swap_halves", "fftshift(x)", lambda jnp, x: jnp.fft.fftshift(x), "float16", "complex64")
_movement(
    "pad", "pad(x, 3)", lambda jnp, x: jnp.pad(x, 3), "int8", "float16", "float32", "complex64"
)
_movement("concatenate", "concatenate([x, x[::-1]], 1)",
          lambda jnp, x: jnp.concatenate([x, x[::-1]], 1), "int8", "complex64")  # fmt: skip
_movement("row_sums", "sum(x, 1)", lambda _, x: x.sum(1), "float32", rtol=1e-3, atol=1e-2)
_movement("column_sums", "sum(x, 0)", lambda _, x: x.sum(0), "float32", rtol=1e-3, atol=1e-2)


@case("pad_i64", "pad(x, 3), int64", 1.0)
def _pad_int64(side: Side) -> Call:
    with side.jax.enable_x64(True):
        x = side.jnp.arange(1_000_000, dtype="int64").reshape(_SHAPE)
    f = side.jax.jit(lambda x: side.jnp.pad(x, 3))

    def call() -> Any:
        with side.jax.enable_x64(True):
            return f(x)

    return call


@case("matvec_f32", "x @ v, 1000x1000", 1.0, rtol=1e-3, atol=0.1)
def _matvec(side: Side) -> Call:
    x, v = _array(side, "float32"), _array(side, "float32", 1000)
    f = side.jax.jit(lambda x, v: x @ v)
    return lambda: f(x, v)


@case("where_complex_eager", "where(m, x, y), eager, 1e6 of complex64", 1.0)
def _where(side: Side) -> Call:
    x = _array(side, "complex64")
    m, y = x.real > 0, -x
    return lambda: side.jnp.where(m, x, y)
