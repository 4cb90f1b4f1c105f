"""Runs one piece of user code with real jax and with jitney, and compares what comes out.

A case is a function of (jax, jnp). What it returns is described: arrays by type, weakness and
elements, pytrees by structure, errors by type. Cases say what they expect only by being run.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jitney
import jitney.numpy as jtnp

Case = Callable[[Any, Any], Any]


def describe(x: Any) -> Any:
    """`x` as something that compares by value, whichever library made it."""
    if isinstance(x, (jax.Array, jitney.Array)):
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) if isinstance(x, jax.Array) else (
            jitney.dtypes.issubdtype(x.dtype, jitney.dtypes.prng_key)
        ):  # fmt: skip
            library = jax if isinstance(x, jax.Array) else jitney
            return ("key", str(x.dtype), describe(library.random.key_data(x)))
        return ("array", str(x.dtype), x.shape, bool(x.aval.weak_type), _elements(x))
    if isinstance(x, (np.ndarray, np.generic)):
        return (type(x).__name__, str(x.dtype), x.shape, _elements(x))
    if isinstance(x, (jax.ShapeDtypeStruct, jitney.ShapeDtypeStruct)):
        return ("struct", x.shape, str(x.dtype), x.weak_type)
    if isinstance(x, dict):
        return {k: describe(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return (type(x).__name__, [describe(v) for v in x])
    if isinstance(x, type):
        return x.__name__
    if type(x) in (int, float, complex, str, bytes, bool, type(None)):
        return (type(x).__name__, repr(x))
    return type(x).__name__


def _elements(x: Any) -> Any:
    value = np.asarray(x)
    if value.dtype.kind in "fc":
        return [f"{v:.5g}" for v in value.ravel().tolist()]
    return [str(v) for v in value.ravel().tolist()]


def outcome(case: Case, library: Any, numpy: Any, messages: bool = False) -> Any:
    """The described result, or the type of the error (with its first line, if `messages`)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return describe(case(library, numpy))
        except Exception as error:
            text = str(error).splitlines() or [""]
            return ("raises", type(error).__name__, text[0] if messages else "")


def check(case: Case, messages: bool = False) -> None:
    """Asserts that the case comes out the same with both."""
    want = outcome(case, jax, jnp, messages)
    got = outcome(case, jitney, jtnp, messages)
    assert got == want


class Cases:
    """Collects cases: `@cases` above a function of (jax, jnp)."""

    def __init__(self) -> None:
        self.all: list[Case] = []
        self.ids: list[str] = []

    def __call__(self, case: Case) -> Case:
        self.all.append(case)
        self.ids.append(case.__name__)
        return case


def counted(fun):
    """`fun`, and a list that grows with each run of its Python code."""
    runs: list[int] = []

    @functools.wraps(fun)
    def wrapper(*args, **kwargs):
        runs.append(1)
        return fun(*args, **kwargs)

    return wrapper, runs
