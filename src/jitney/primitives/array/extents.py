"""`dim_as_value`: converts a symbolic dimension to an integer array.

The operation occurs only in programs with symbolic shapes. Before such a program is compiled,
`jax.export` replaces the operation by the actual size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from jitney.core.program import text
from jitney.core.symbolic.expressions import DimExpr
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, pytype_aval_mappings, shaped_array

if TYPE_CHECKING:
    import numpy as np

    from jitney.core.program.jaxpr import JaxprEqn
    from jitney.core.typing import Array

dim_as_value_p = declare("dim_as_value")


def _dtype() -> np.dtype:
    return dtypes.canonicalize_dtype(dtypes.python_scalar_dtype(int))


def _aval(_x: object) -> ShapedArray:
    return shaped_array((), _dtype(), True)


pytype_aval_mappings[DimExpr] = _aval


@dim_as_value_p.abstract
def _dim_as_value_abstract(*, dim: DimExpr, dtype: np.dtype) -> ShapedArray:
    return shaped_array((), dtype, True)


@dim_as_value_p.eager
def _dim_as_value_eager(*, dim: DimExpr, dtype: np.dtype) -> NoReturn:
    raise NotImplementedError(
        f"dim_as_value: the symbolic dimension '{dim}' has no value outside of a trace. Use it "
        "within functions that are passed to jax.export.export, jax.eval_shape or jax.make_jaxpr."
    )


_WHY = "jax.export has replaced symbolic dimensions by sizes"
dim_as_value_p.absent("lower", why=_WHY)
for _slot in ("jvp", "transpose", "batch"):
    dim_as_value_p.absent(_slot, why="it has no operand")


def _print(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    return text.eqn_with_params(eqn, [("dim", eqn.params["dim"])], context, settings)


text.printing_rules["dim_as_value"] = _print


def dim_as_value(dim: DimExpr) -> Array:
    """Returns a symbolic dimension as a scalar integer array of the current trace.

    Raises:
      NotImplementedError: if no function is being traced.
    """
    return dim_as_value_p.bind(dim=dim, dtype=_dtype())
