"""Identity operations that carry information for transformations or for the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core import dtypes, varying
from jitney.core.avals import ShapedArray, is_valid_operand
from jitney.core.key_reuse import uses_keys
from jitney.core.primitive import Primitive, declare
from jitney.core.pytree import pytrees
from jitney.primitives import rules
from jitney.transforms import jet
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike, PyTree
    from jitney.primitives.rule_types import (
        Builder,
        Cotangent,
        Dims,
        Node,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )


def _identity(name: str, *, copies: bool = False) -> Primitive:
    """Declares a primitive that returns its only operand, in a new buffer if `copies`."""
    prim = declare(name, linear=True)

    @prim.abstract
    def abstract_rule(x: ShapedArray) -> ShapedArray:
        return x

    @prim.eager
    def eager_rule(x: np.ndarray) -> np.ndarray:
        return x.copy() if copies else x

    @prim.lower
    def lower_rule(b: Builder, x: Node) -> Any:
        return x

    return prim


copy_p = _identity("copy", copies=True)
stop_gradient_p = _identity("stop_gradient")
stage_p = _identity("stage")


def stop_gradient(x: PyTree) -> PyTree:
    """Returns `x` unchanged and treats it as a constant in differentiation: its derivative is zero.

    Args:
      x: a pytree of arrays.

    Returns: a pytree of the same structure and values.

    Example:
      >>> jax.grad(lambda x: x * lax.stop_gradient(x))(3.0)
      Array(3., dtype=float32, weak_type=True)
    """
    return pytrees.tree_map(_stop_gradient_of, x)


def _stop_gradient_of(x: Value) -> Any:
    if not is_valid_operand(x):
        raise TypeError(
            f"stop_gradient: `x` must hold arrays and scalars, but holds {x!r} of type {type(x)}"
        )
    if dtypes.is_extended(dtypes.dtype(x)):
        return x
    return stop_gradient_p.bind(x)


def stage(x: ArrayLike, /) -> Array:
    """Records `x` as a value of the current trace."""
    from jitney.primitives.elementwise.convert import as_value

    return as_value(x)


# --- barriers ---------------------------------------------------------------------------------

optimization_barrier_p = declare("optimization_barrier", multiple_results=True)
optimization_barrier_p.varying(varying.as_declared)
optimization_barrier_p.declares_sharding = True


@optimization_barrier_p.abstract
def _optimization_barrier_abstract(*avals: ShapedArray) -> list[ShapedArray]:
    return list(avals)


@optimization_barrier_p.eager
def _optimization_barrier_eager(*xs: np.ndarray) -> list[np.ndarray]:
    return list(xs)


@optimization_barrier_p.lower
def _optimization_barrier_lower(b: Builder, *xs: Node) -> list[Any]:
    return b.optimization_barrier(xs)


def optimization_barrier(operand: PyTree, /) -> PyTree:
    """Returns `operand` unchanged; the compiler does not move operations across this point.

    Args:
      operand: a pytree of arrays.

    Returns: a pytree of the same structure and values.

    Example:
      >>> x, y = lax.optimization_barrier((1, 2))
      >>> int(x), int(y)
      (1, 2)
    """
    leaves, tree = pytrees.tree_flatten(operand)
    return pytrees.tree_unflatten(tree, optimization_barrier_p.bind(*leaves))


# --- derivatives and batching -------------------------------------------------------------------

rules.deflinear(copy_p, lambda ct, x: copy_p.bind(ct))
rules.deflinear(stage_p, lambda ct, x: ct)
rules.def_zero_derivative(stop_gradient_p)
stop_gradient_p.absent("transpose", why="its derivative is zero")
rules.vectorized(copy_p, stage_p, stop_gradient_p)


def _fenced(tangents: Sequence[Tangent]) -> list[Any]:
    """Passes the nonzero tangents or cotangents through a barrier; zeros stay unchanged."""
    kept = [
        k
        for k, t in enumerate(tangents)
        if not isinstance(t, Zero) and not rules.is_float0(rules.aval_of(t))
    ]
    filled: list[Any] = list(tangents)
    if kept:
        outs = optimization_barrier_p.bind(*[filled[k] for k in kept])
        for k, out in zip(kept, outs, strict=True):
            filled[k] = out
    return filled


@optimization_barrier_p.jvp
def _optimization_barrier_jvp(primals: Primals, tangents: Tangents) -> tuple[list[Any], list[Any]]:
    outs = optimization_barrier_p.bind(*primals)
    return outs, _fenced(tangents)


optimization_barrier_p.jet(jet.piecewise_linear(optimization_barrier_p))


@optimization_barrier_p.transpose
def _optimization_barrier_transpose(cts: Sequence[Cotangent], *operands: Operand) -> list[Any]:
    return [
        ct if rules.is_linear(x) else None for ct, x in zip(_fenced(cts), operands, strict=True)
    ]


@optimization_barrier_p.batch
def _optimization_barrier_batch(args: Primals, dims: Dims) -> tuple[list[Any], list[Any]]:
    return optimization_barrier_p.bind(*args), list(dims)


uses_keys(copy_p, forwards=True)
uses_keys(stage_p, forwards=True)
