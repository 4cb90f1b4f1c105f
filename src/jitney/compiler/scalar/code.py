"""Code of scalar functions: what a row's `code` names.

Rules emit instructions for values of one kind, scalars or vectors alike: rule(e, *args) -> Value.
A plain function serves f32 and f64; 16-bit floats go by way of f32. Functions of other kinds, too,
are a `Code`, with a rule for each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value
from jitney.core.record import record

Rule: TypeAlias = Callable[..., Value]
Cast: TypeAlias = Callable[[Emitter, Value, "np.dtype", "np.dtype"], Value | None]


@record(frozen=True, eq=False)
class Code:
    """The rules of one scalar function; None for kinds that it has no code for.

    Attributes:
      floats: of f32 and f64.
      halves: of 16-bit floats, in their bits; if None they go by way of f32.
      integers: of integers, whatever their sign.
      by_sign: of integers: rule(e, *args, signed), instead of `integers`.
      booleans: of predicates.
      composed: made of other functions: rule(apply, *args), where apply(name, *args) emits those;
        instead of all others.
      cast: cast(e, x, from, to), instead of all others; None if native code lacks one of the dtypes.
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
    """Returns what "module.name" names in `compiler.scalar`."""
    module, name = path.split(".")
    return getattr(import_module(f"jitney.compiler.scalar.{module}"), name)
