"""Random calls of public functions, mostly wrong ones."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any

import numpy as np

import jitney.numpy as jnp
from jitney import lax

# What a wrong call may raise. An AssertionError, AttributeError or KeyError would be a defect.
SENSIBLE = (
    TypeError, ValueError, IndexError, OverflowError, NotImplementedError, ZeroDivisionError,
    BufferError,
    NameError,  # of the name of a mapped axis
)  # fmt: skip

# Functions that write files, print, wait for devices, or take functions of their own.
LEFT_OUT = frozenset(
    "save savez load fromfile fromfunction printoptions set_printoptions get_printoptions "
    "attach apply_along_axis apply_over_axes piecewise vectorize frompyfunc from_dlpack".split()
)
SHAPES = (
    (),
    (0,),
    (1,),
    (3,),
    (4,),
    (2, 3),
    (3, 2),
    (3, 3),
    (1, 3),
    (2, 0),
    (2, 1, 3),
    (2, 2, 2, 2),
)
DTYPES = (
    "float32",
    "float32",
    "int32",
    "int8",
    "uint32",
    "bool",
    "complex64",
    "float16",
    "bfloat16",
)


def functions() -> dict[str, Callable[..., Any]]:
    """Public functions by name."""
    found: dict[str, Callable[..., Any]] = {}
    for prefix, namespace in (("jnp", jnp), ("lax", lax)):
        for name in dir(namespace):
            value = getattr(namespace, name)
            is_ours = (getattr(value, "__module__", None) or "jax").startswith(("jitney", "jax"))
            if name.startswith("_") or name in LEFT_OUT or not is_ours:
                continue
            if callable(value) and not isinstance(value, type):
                found[f"{prefix}.{name}"] = value
    return found


def array(r: random.Random, dtype: str | None = None) -> Any:
    """A small array."""
    dtype = dtype or r.choice(DTYPES)
    values = np.random.default_rng(r.randrange(1000)).integers(-3, 4, r.choice(SHAPES))
    return jnp.asarray(
        values.astype(bool) if dtype == "bool" else values,
        getattr(jnp, dtype if dtype != "bool" else "bool_"),
    )


def value(r: random.Random) -> Any:
    """An argument of any kind."""
    kind = r.randrange(20)
    if kind < 9:
        return array(r)
    if kind < 12:
        return r.randint(-3, 4)
    if kind == 12:
        return tuple(r.randint(-2, 3) for _ in range(r.randrange(4)))
    if kind == 13:
        return [array(r) for _ in range(r.randrange(3))]
    if kind == 14:
        return r.choice((0.5, float("nan"), 2j, True))
    if kind == 15:
        return r.choice(("add", "float32", "", "ij,jk", None))
    if kind == 16:
        return r.choice((jnp.float32, np.int8, "int32", np.dtype(bool), object(), {"a": 1}))
    if kind == 17:
        return np.random.default_rng(r.randrange(99)).normal(size=r.choice(SHAPES))
    if kind == 18:
        return slice(r.randint(-3, 3), None, r.choice((1, 2, -1, 0, None)))
    return None


def call(r: random.Random, function: Callable[..., Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments for `function`: about as many as it takes, some by keyword, some of them wrong."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = sum(p.default is p.empty for p in positional)
    count = needed + r.choice((0, 0, 0, 1, -1, 2)) if positional else r.randrange(1, 4)
    args = [array(r) if i == 0 and r.random() < 0.7 else value(r) for i in range(max(count, 0))]
    keywords = {
        p.name: value(r) for p in parameters if p.kind == p.KEYWORD_ONLY and r.random() < 0.3
    }
    keywords |= {p.name: value(r) for p in positional[len(args) :] if r.random() < 0.2}
    if r.random() < 0.02:
        keywords["no_such_keyword"] = 1
    return tuple(args), keywords


def text(name: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    """The call, as one would write it."""

    def one(x: Any) -> str:
        if hasattr(x, "shape") and hasattr(x, "dtype") and not isinstance(x, type):
            return f"{x.dtype}{list(x.shape)}"
        return repr([one(y) for y in x]) if isinstance(x, list) else repr(x)

    parts = [one(a) for a in args] + [f"{k}={one(v)}" for k, v in keywords.items()]
    return f"{name}({', '.join(parts)})"
