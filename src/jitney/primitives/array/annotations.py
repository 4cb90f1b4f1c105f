"""Identity operations that carry information for transformations or for the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, overload

import numpy as np

from jitney.core.program.key_reuse import uses_keys
from jitney.core.pytree import pytrees
from jitney.core.sharding_in_types import varying
from jitney.core.tracing.primitive import Primitive, declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, is_valid_operand
from jitney.primitives import rules
from jitney.transforms import jet
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.rule_types import (
        BatchDim,
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

_Tree = TypeVar("_Tree")  # a pytree of arrays


def _identity(name: str, *, copies: bool = False) -> Primitive:
    """Declares a primitive that returns its only operand, in a new buffer if `copies` is true."""
    prim = declare(name, linear=True)

    @prim.abstract
    def abstract_rule(x: ShapedArray) -> ShapedArray:
        return x

    @prim.eager
    def eager_rule(x: np.ndarray) -> np.ndarray:
        return x.copy() if copies else x

    @prim.lower
    def lower_rule(b: Builder, x: Node) -> Node:
        return x

    return prim


copy_p = _identity("copy", copies=True)
stop_gradient_p = _identity("stop_gradient")
stage_p = _identity("stage")


@overload
def stop_gradient(x: ArrayLike) -> Array: ...
@overload
def stop_gradient(x: _Tree) -> _Tree: ...
def stop_gradient(x: _Tree) -> _Tree | Array:
    """Returns `x` unchanged; in differentiation the result is a constant, with derivative zero.

    Args:
      x: a pytree of arrays.

    Returns: a pytree of the same structure and values.

    Example:
      >>> jax.grad(lambda x: x * lax.stop_gradient(x))(3.0)
      Array(3., dtype=float32, weak_type=True)
    """
    return pytrees.tree_map(_stop_gradient_of, x)


def _stop_gradient_of(x: Value) -> Value:
    if not is_valid_operand(x):
        raise TypeError(
            f"stop_gradient: `x` must contain arrays and scalars only, but has {x!r} of type {type(x)}"
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
def _optimization_barrier_lower(b: Builder, *xs: Node) -> list[Node]:
    return b.optimization_barrier(xs)


@overload
def optimization_barrier(operand: ArrayLike, /) -> Array: ...
@overload
def optimization_barrier(operand: _Tree, /) -> _Tree: ...
def optimization_barrier(operand: _Tree, /) -> _Tree | Array:
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


def _fenced(tangents: Sequence[Tangent]) -> list[Tangent]:
    """Passes nonzero tangents or cotangents through a barrier; zeros stay unchanged."""
    kept = [
        (k, t)
        for k, t in enumerate(tangents)
        if not isinstance(t, Zero) and not rules.is_float0(rules.aval_of(t))
    ]
    filled = list(tangents)
    if kept:
        outs = optimization_barrier_p.bind(*[t for _, t in kept])
        for (k, _), out in zip(kept, outs, strict=True):
            filled[k] = out
    return filled


@optimization_barrier_p.jvp
def _optimization_barrier_jvp(
    primals: Primals, tangents: Tangents
) -> tuple[list[Value], list[Tangent]]:
    outs = optimization_barrier_p.bind(*primals)
    return outs, _fenced(tangents)


optimization_barrier_p.jet(jet.piecewise_linear(optimization_barrier_p))


@optimization_barrier_p.transpose
def _optimization_barrier_transpose(
    cts: Sequence[Cotangent], *operands: Operand
) -> list[Cotangent | None]:
    return [
        ct if rules.is_linear(x) else None for ct, x in zip(_fenced(cts), operands, strict=True)
    ]


@optimization_barrier_p.batch
def _optimization_barrier_batch(args: Primals, dims: Dims) -> tuple[list[Value], list[BatchDim]]:
    return optimization_barrier_p.bind(*args), list(dims)


uses_keys(copy_p, forwards=True)
uses_keys(stage_p, forwards=True)
