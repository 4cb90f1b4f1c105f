"""The code of scalar functions, which the `code` of a row names.

Rules emit instructions for values of one kind, scalars or vectors alike: rule(e, *args) -> Value.
A plain function serves f32 and f64; 16-bit floats are computed in f32. Functions that support other
kinds, too, are a `Code`, with a rule for each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value
from jitney.core.util.record import record

Rule: TypeAlias = Callable[..., Value]
Cast: TypeAlias = Callable[[Emitter, Value, "np.dtype", "np.dtype"], Value | None]


@record(frozen=True, eq=False)
class Code:
    """The rules of one scalar function; None for kinds without code.

    Attributes:
      floats: for f32 and f64.
      halves: for 16-bit floats, as their bits; if None they are computed in f32.
      integers: for integers of either signedness.
      by_sign: for integers: rule(e, *args, signed), instead of `integers`.
      booleans: for predicates.
      composed: for functions made of others: rule(apply, *args), where apply(name, *args) emits
        those; instead of all others.
      cast: cast(e, x, from, to), instead of all others; None if native code lacks one of the
        dtypes.
    """

    floats: Rule | None = None
    halves: Rule | None = None
    integers: Rule | None = None
    by_sign: Rule | None = None
    booleans: Rule | None = None
    composed: Callable[..., Value | None] | None = None
    cast: Cast | None = None


@cache
def named(path: str) -> Callable[..., Any] | Code:
    """Returns the object "module.name" of `compiler.scalar`."""
    module, name = path.split(".")
    return getattr(import_module(f"jitney.compiler.scalar.{module}"), name)
