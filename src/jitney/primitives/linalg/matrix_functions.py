"""Rules shared by functions of matrices: evaluation, lowering and batching."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler import lapack, library, lower as lowering
from jitney.compiler.library import LibraryFunction, Routine
from jitney.compiler.reference.linalg import wide, wide_dtype
from jitney.compiler.tensor_type import TensorType
from jitney.core.tracing.primitive import Primitive
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.primitives import rules
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.primitives.rule_types import Builder, Dims, Node, Primals, Tangent, Tangents, Value


def matrix_function(
    prim: Primitive,
    reference: Callable[..., Any],
    routine: Callable[..., Routine | None] | None = None,
    small: Callable[..., Any] | None = None,
    linear: bool = False,
) -> None:
    """Sets the rules of `prim`, a function of matrices in the last two axes, over batch axes.

    Args:
      prim: the primitive, which must have an `abstract` rule.
      reference: an implementation in NumPy and SciPy, for entire batches. If there is no other
        implementation, compiled programs call it as the library function with the primitive's name.
      routine: a function that returns the LAPACK routine for the operands' types and the
        parameters, or None.
      small: a function that lowers the operation on small matrices to inlined code, or returns
        None.
      linear: whether the function is linear in an operand, and therefore has a transpose rule.
    """
    several = prim.multiple_results
    _declare_library_function(prim, reference)
    assert prim.abstract_rule is not None
    prim.abstract_rule = prim.rules["abstract"] = _weak_as_operands(prim.abstract_rule)

    @prim.eager
    def eager_rule(*xs: np.ndarray, **params: object) -> np.ndarray | list[np.ndarray]:
        avals = [shaped_array(x.shape, x.dtype) for x in xs]
        call = _native_routine(routine, avals, params)
        if call is None:
            return reference(*xs, **params)
        outs = _results(prim, avals, params)
        results = lapack.run(call, list(map(wide, xs)))
        results = [x.astype(out.dtype, copy=False) for x, out in zip(results, outs, strict=True)]
        return results if several else results[0]

    @prim.lower_with_avals
    def lower_with_avals_rule(
        b: Builder, avals: Sequence[ShapedArray], *nodes: Node, **params: object
    ) -> Node | Sequence[Node]:
        built = None if small is None else small(b, *nodes, **params)
        if built is not None:
            return built
        call = _native_routine(routine, avals, params)
        if call is None:
            results = b.library_call(prim.name, _plain(params), nodes)
        else:
            operands = [b.convert(x, wide_dtype(x.dtype)) for x in nodes]
            results = b.library_call(call.name, call.params, operands)
            outs = _results(prim, avals, params)
            results = [b.convert(x, out.dtype) for x, out in zip(results, outs, strict=True)]
        return results if several else results[0]

    @prim.batch
    def batch_rule(
        args: Sequence[Value], dims: Dims, **params: object
    ) -> tuple[Value, int] | tuple[Sequence[Value], list[int]]:
        size = rules.batch_size(args, dims)
        moved = [rules.to_front(x, d, size) for x, d in zip(args, dims, strict=True)]
        out = prim.bind(*moved, **params)
        return (out, [0] * len(out)) if several else (out, 0)

    if not linear:
        prim.absent("transpose", why="not linear")


def _declare_library_function(prim: Primitive, reference: Callable[..., Any]) -> None:
    """Declares `reference` as the library function with the name of `prim`."""

    def on_arrays(*xs: np.ndarray, **params: object) -> list[np.ndarray]:
        results = reference(*xs, **params)
        return [np.asarray(x) for x in (results if prim.multiple_results else [results])]

    def result_types(*types: TensorType, **params: object) -> list[TensorType]:
        outs = _results(prim, [shaped_array(t.shape, t.dtype) for t in types], params)
        return [lowering.tensor_type(out) for out in outs]

    library.declare(LibraryFunction(prim.name, result_types, on_arrays, item_rank=2))


def _weak_as_operands(rule: Callable[..., Any]) -> Callable[..., ShapedArray | list[ShapedArray]]:
    """Wraps a type rule: all results, even pivots, become weakly typed if all operands are."""

    @functools.wraps(rule)
    def types(*avals: ShapedArray, **params: object) -> ShapedArray | list[ShapedArray]:
        out = rule(*avals, **params)
        if not all([aval.weak_type for aval in avals]):
            return out
        if isinstance(out, ShapedArray):
            return out.update(weak_type=True)
        return [aval.update(weak_type=True) for aval in out]

    return types


def _native_routine(
    routine: Callable[..., Routine | None] | None,
    avals: Sequence[ShapedArray],
    params: dict[str, Any],
) -> Routine | None:
    """Returns the LAPACK routine for these types, in their computation dtype, or None."""
    if routine is None:
        return None
    dtype = wide_dtype(avals[0].dtype)
    is_native = lapack.is_native(dtype, *[a.shape for a in avals])
    return routine(*avals, **params) if is_native else None


def _results(
    prim: Primitive, avals: Sequence[ShapedArray], params: dict[str, Any]
) -> Sequence[ShapedArray]:
    """Returns the result types as a list, even if there is a single result."""
    outs = prim.result_type(tuple(avals), params)[0]
    return outs if prim.multiple_results else [outs]


def _plain(params: dict[str, Any]) -> library.Params:
    """Converts equation parameters to those of library functions; enum members become names."""
    named = {k: v.name if isinstance(v, enum.Enum) else v for k, v in params.items()}
    strange = [k for k, v in named.items() if not library.is_plain(v)]
    assert not strange, f"{strange} of {params} are not parameters of library functions"
    return tuple(named.items())


def no_derivative(prim: Primitive) -> None:
    """Sets a JVP rule for `prim` that raises an error for nonzero tangents."""

    @prim.jvp
    def jvp_rule(
        primals: Primals, tangents: Tangents, **params: object
    ) -> tuple[Value, Tangent] | tuple[Sequence[Value], Sequence[Tangent]]:
        if any(type(t) is not Zero for t in tangents):
            raise NotImplementedError(
                f"{prim.name} has no derivative; define one with jax.custom_jvp, or apply "
                "lax.stop_gradient to the operand for a zero derivative"
            )
        out = prim.bind(*primals, **params)
        if prim.multiple_results:
            return out, [rules.zero_tangent(x) for x in out]
        return out, rules.zero_tangent(out)
