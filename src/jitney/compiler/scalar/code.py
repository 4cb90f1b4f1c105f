"""The form of the code of scalar functions, to which the field `code` of a table row refers.

A rule, rule(e, *args) -> Value, emits instructions for operands of one kind, scalars or vectors.
Code that is a plain function is a rule for f32 and f64; 16-bit floats are computed in f32. A
function that supports other kinds as well has a `Code`, with one rule for each kind.
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
    """The rules of a scalar function; None for kinds without code.

    Attributes:
      floats: the rule for f32 and f64.
      halves: the rule for 16-bit floats, represented by their bits; if None, they are computed in
        f32.
      integers: the rule for integers, signed or unsigned.
      by_sign: a rule for integers that depends on signedness, rule(e, *args, signed), instead of
        `integers`.
      booleans: the rule for predicates.
      composed: for functions that are composed of others, rule(apply, *args), where apply(name,
        *args) emits another function; instead of all other rules.
      cast: for casts, cast(e, x, from, to), instead of all other rules; it returns None if native
        code does not support one of the dtypes.
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
