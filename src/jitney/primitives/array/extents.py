"""`dim_as_value`: a symbolic extent as a number that programs compute with.

It stands in programs of symbolic shapes alone. `jax.export` puts the number in its place before such
a program is compiled.
"""

from __future__ import annotations

from typing import Any

from jitney.core import dtypes
from jitney.core.avals import ShapedArray, pytype_aval_mappings, shaped_array
from jitney.core.primitive import declare
from jitney.core.symbolic.expressions import DimExpr

dim_as_value_p = declare("dim_as_value")


def _aval(_x: object = None) -> ShapedArray:
    return shaped_array((), dtypes.canonicalize_dtype(dtypes.python_scalar_dtype(int)), True)


pytype_aval_mappings[DimExpr] = _aval


@dim_as_value_p.abstract
def _(*, dim: DimExpr) -> ShapedArray:
    return _aval()


@dim_as_value_p.eager
def _(*, dim: DimExpr) -> Any:
    raise NotImplementedError(
        f"dim_as_value: the symbolic dimension '{dim}' has no value where nothing is traced. Use it "
        "within functions that are given to jax.export.export, jax.eval_shape or jax.make_jaxpr."
    )


_WHY = "jax.export puts numbers in place of symbolic dimensions before"
dim_as_value_p.absent("lower", why=_WHY)
for _slot in ("jvp", "transpose", "batch"):
    dim_as_value_p.absent(_slot, why="it has no operand")


def dim_as_value(dim: DimExpr) -> Any:
    """A symbolic extent as an array of an integer, in the program that is traced.

    Raises:
      NotImplementedError: if nothing is traced.
    """
    return dim_as_value_p.bind(dim=dim)
