"""Differentiation: `jvp`, `linearize`, `vjp`, `linear_transpose`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from jitney.api.autodiff.argument_flags import mirrored, spread
from jitney.api.autodiff.differentiation import (
    array_values,
    check_callable,
    cotangent,
    debug_info,
    flat_function,
    instantiated,
)
from jitney.api.autodiff.pullback import make_vjp
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import Jaxpr
from jitney.core.program.shape_dtype import abstractify
from jitney.core.pytree import pytrees
from jitney.core.sharding_in_types.varying import how_to_vary, varies_otherwise
from jitney.core.source import source_info
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval, is_valid_operand
from jitney.primitives.elementwise.convert import as_value
from jitney.transforms.jvp import jvp_flat
from jitney.transforms.linearize import Linear, has_tangent, linearize_flat
from jitney.transforms.partial import trace_unknowns
from jitney.transforms.transpose import UndefinedPrimal, backward_pass
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.api.autodiff.argument_flags import Flags
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import ArrayLike, AxisName, PyTree, Value
    from jitney.transforms.zero import Tangent

P = ParamSpec("P")
R = TypeVar("R")


# --- forward ------------------------------------------------------------------------------------


@api_boundary
def jvp(
    fun: Callable[..., PyTree],
    primals: Sequence[PyTree],
    tangents: Sequence[PyTree],
    has_aux: bool = False,
) -> tuple[PyTree, ...]:
    """Computes the value of `fun` and its directional derivative (forward-mode differentiation).

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      primals: the point at which to differentiate: a tuple or list with the arguments of `fun`.
      tangents: the direction: a tuple or list with the structure, the shapes and the tangent dtypes
        of `primals`.
      has_aux: whether `fun` returns a pair (result, auxiliary data); the auxiliary data is not
        differentiated.

    Returns: a pair (value, tangent of the value); with `has_aux`, (value, tangent, auxiliary data).

    Raises:
      TypeError: if the structures or dtypes of primals and tangents do not match.
      ValueError: if their shapes do not match.

    Example:
      >>> jax.jvp(jnp.sin, (jnp.zeros(2),), (jnp.array([1.0, 5.0]),))
      (Array([0., 0.], dtype=float32), Array([1., 5.], dtype=float32))
    """
    check_callable(fun)
    if not isinstance(primals, list | tuple) or not isinstance(tangents, list | tuple):
        raise TypeError(
            "jax.jvp: `primals` and `tangents` must each be a tuple or list of arguments, but are "
            "of type "
            f"{type(primals).__name__} and {type(tangents).__name__}"
        )
    leaves: list[Value]
    leaves, tree = pytrees.tree_flatten(tuple(primals))
    dleaves, dtree = pytrees.tree_flatten(tuple(tangents))
    if tree != dtree or isinstance(primals, list) is not isinstance(tangents, list):
        of_primals, of_tangents = map(pytrees.tree_structure, (primals, tangents))
        raise TypeError(
            "jax.jvp: primals and tangents must have the same tree structure, but primals have "
            f"{of_primals} and tangents have {of_tangents}"
        )
    flat_tangents = [_checked_tangent(p, t) for p, t in zip(leaves, dleaves, strict=True)]
    flat = flat_function(fun, tree, has_aux)
    with source_info.transform_name_stack("jvp"):
        # NumPy scalars, and arrays that are not differentiated, stay as they are: a function may
        # branch on them, or return them.
        values = [
            x if type(t) is Zero or not isinstance(x, np.ndarray) else as_value(x)
            for x, t in zip(leaves, flat_tangents, strict=True)
        ]
        outs, douts = jvp_flat(flat, values, flat_tangents)
    value = flat.unflatten(outs)
    derivative = flat.unflatten([instantiated(t) for t in douts])
    return (value, derivative, flat.aux) if has_aux else (value, derivative)


def _checked_tangent(primal: ArrayLike, tangent: Tangent) -> Tangent:
    wanted: Any = get_aval(primal).to_tangent_aval()
    if getattr(tangent, "dtype", None) == dtypes.float0:
        return Zero(wanted)
    got: Any = get_aval(tangent)
    if wanted.is_high or got.is_high:
        if got != wanted:
            raise TypeError(
                f"jax.jvp: the tangent of a primal of type {get_aval(primal).str_short()} must be of "
                f"type {wanted.str_short()}, but is of type {got.str_short()}"
            )
        return tangent
    if got.dtype != wanted.dtype:
        raise TypeError(
            f"jax.jvp: the tangent of a primal of dtype {dtypes.long_name(get_aval(primal).dtype)} "
            f"must be of dtype {dtypes.long_name(wanted.dtype)}, but is of "
            f"{dtypes.long_name(got.dtype)}; tangents of integers and booleans are of dtype float0"
        )
    if got.shape != wanted.shape:
        raise ValueError(
            f"jax.jvp: a tangent must have the shape of its primal, {wanted.shape}, but has "
            f"{got.shape}"
        )
    return tangent if not isinstance(tangent, np.ndarray | np.generic) else as_value(tangent)


@api_boundary
def linearize(
    fun: Callable[..., PyTree],
    *primals: PyTree,
    has_aux: bool = False,
    in_nzs: Flags | None = None,
) -> tuple[PyTree, ...]:
    """Evaluates `fun` at `primals`, and returns its derivative there as a function of tangents.

    The derivative can be called many times without evaluating `fun` again. It is a pytree whose
    leaves are the residuals, so it can be passed to and returned from other functions.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      *primals: the arguments at which to linearize.
      has_aux: whether `fun` returns a pair (result, auxiliary data); the auxiliary data is not
        differentiated.
      in_nzs: a pytree prefix of the arguments with boolean leaves. Where it is False, the tangent
        is treated as zero, whatever is passed. The default is True for all arguments. Only the
        number of children of each node has to match the arguments, not the type of the node, so a
        tuple can stand for a list or dict.

    Returns: a pair (value, derivative); with `has_aux`, (value, derivative, auxiliary data). The
      derivative takes one tangent for each argument. Its attribute `out_nzs` states which results
      can have nonzero tangents.

    Raises:
      ValueError: if `in_nzs` is not a prefix of the arguments with boolean leaves.

    Example:
      >>> y, slope = jax.linearize(lambda x: x * x, 3.0)
      >>> [slope(t).item() for t in (1.0, 10.0)]
      [6.0, 60.0]
    """
    check_callable(fun)
    leaves: list[Value]
    leaves, tree = pytrees.tree_flatten(primals)
    flat = flat_function(fun, tree, has_aux)
    wanted = (
        None if in_nzs is None else spread("the in_nzs argument of jax.linearize", in_nzs, tree)
    )
    info = debug_info(fun, "linearize")
    # As in `jvp`, integer arrays stay NumPy arrays.
    values = [
        as_value(x) if isinstance(x, np.ndarray) and has_tangent(get_aval(x)) else x for x in leaves
    ]
    outs, linear = linearize_flat(flat, values, info, wanted)
    out_tree = flat.out_tree
    avals = [get_aval(x) for x in leaves]

    @api_boundary
    def fun_lin(jaxpr: Jaxpr, consts: Sequence[Any], *tangents: Any) -> object:
        flat_tangents, dtree = pytrees.tree_flatten(tangents)
        if dtree != tree:
            raise TypeError(
                "jax.linearize: the linear function takes tangents in the tree structure of the "
                f"primals, {tree}, but was called with {dtree}"
            )
        for aval, t in zip(avals, flat_tangents, strict=True):
            _check_linear_tangent(aval, get_aval(t))
        return pytrees.tree_unflatten(out_tree, apply_linear(linear, consts, flat_tangents))

    value = pytrees.tree_unflatten(out_tree, outs)
    consts, linear = linear.consts, linear.without_consts()
    partial: Any = pytrees.Partial(functools.partial(fun_lin, linear.jaxpr), consts)
    partial.out_nzs = mirrored(linear.nonzero_out, out_tree)
    return (value, partial, flat.aux) if has_aux else (value, partial)


def _check_linear_tangent(primal: AbstractValue, got: AbstractValue) -> None:
    """Raises ValueError unless a tangent of type `got` matches the type of `primal`."""
    wanted: Any = primal.to_tangent_aval()
    if _is_alike(got, wanted):
        return
    raise ValueError(
        f"jax.linearize: for a primal of type {primal.str_short()} the linear function takes a "
        f"tangent of type {wanted.str_short()}, but was called with {got.str_short()}"
        + how_to_vary(got, wanted, "the tangent")
        + how_to_vary(wanted, got, "the primal value passed to jax.linearize")
    )


def _is_alike(got: AbstractValue, wanted: AbstractValue) -> bool:
    """Returns whether two types are equal up to weak types and vary along the same axes."""
    is_same = got.shape == wanted.shape and got.dtype == wanted.dtype
    return is_same and got.is_ref == wanted.is_ref and not varies_otherwise(got, wanted)


def apply_linear(linear: Linear, consts: Sequence[Any], tangents: Sequence[Any]) -> list[Value]:
    """Applies the derivative, with residuals `consts`, to flat tangents."""
    nonzero_tangents = [t for t, nz in zip(tangents, linear.nonzero_in, strict=True) if nz]
    outs = iter(eval_jaxpr(linear.jaxpr, consts, *nonzero_tangents))
    return [
        as_value(next(outs)) if nz else instantiated(Zero(a))
        for nz, a in zip(linear.nonzero_out, linear.out_avals, strict=True)
    ]


# --- reverse ------------------------------------------------------------------------------------


@api_boundary
def vjp(
    fun: Callable[..., PyTree],
    *primals: PyTree,
    has_aux: bool = False,
    reduce_axes: Sequence[AxisName] = (),
    saveable_args: Flags = True,
    in_nzs: Flags | None = None,
) -> tuple[PyTree, ...]:
    """Evaluates `fun` at `primals`, and returns its pullback (reverse-mode differentiation).

    The pullback maps a cotangent of the result to the cotangents of `primals`.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      *primals: the arguments at which to differentiate.
      has_aux: whether `fun` returns a pair (result, auxiliary data); the auxiliary data is not
        differentiated.
      reduce_axes: must be empty; JAX no longer supports it.
      saveable_args: a pytree prefix of the arguments with boolean leaves. Where it is False, the
        pullback does not hold the argument. If the backward pass needs its value, `args_res`
        contains `NotSaveable()` in its place, which must be replaced by the value before the
        pullback is called. Only the number of children of each node has to match the arguments, not
        the type of the node, so a tuple can stand for a list or dict.
      in_nzs: a pytree like `saveable_args`. Where it is False, tangents and cotangents are zero.
        The default is True for all arguments.

    Returns: a pair (value, pullback); with `has_aux`, (value, pullback, auxiliary data). The
      pullback takes a cotangent with the structure of the value, and returns a tuple with one
      cotangent per argument. It is a pytree whose leaves are the residuals. Its attribute `out_nzs`
      states which results can have nonzero tangents.

    Raises:
      TypeError: if an argument is not a pytree of arrays.
      ValueError: if `saveable_args` or `in_nzs` is not a prefix of the arguments with boolean
        leaves.

    Example:
      >>> y, pullback = jax.vjp(jnp.dot, jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]))
      >>> pullback(10.0)
      (Array([30., 40.], dtype=float32), Array([10., 20.], dtype=float32))
    """
    check_callable(fun)
    refuse_reduce_axes("vjp", reduce_axes)
    leaves, tree = pytrees.tree_flatten(primals)
    check_operands(leaves, "vjp")
    flat = flat_function(fun, tree, has_aux)
    values = array_values(leaves)
    wanted = None if in_nzs is None else spread("the in_nzs argument of jax.vjp", in_nzs, tree)
    kept = None
    if saveable_args is not True:
        kept = spread("the saveable_args argument of jax.vjp", saveable_args, tree)
    outs, linear = linearize_flat(flat, values, debug_info(fun, "vjp"), wanted)
    out_avals = [get_aval(x) for x in outs]
    pullback = make_vjp(fun, linear, values, tree, out_avals, flat.out_tree, kept)
    value = flat.unflatten(outs)
    return (value, pullback, flat.aux) if has_aux else (value, pullback)


def check_operands(leaves: Sequence[Any], name: str) -> None:
    """Raises TypeError unless the operands of `vjp` are arrays."""
    for x in leaves:
        if not is_valid_operand(x):
            raise TypeError(
                f"{name}: arguments must be arrays or scalars, but '{x}' is of type {type(x)}"
            )


def refuse_reduce_axes(name: str, reduce_axes: Sequence[AxisName]) -> None:
    """Raises NotImplementedError if `reduce_axes`, which JAX no longer supports, is not empty."""
    if tuple(reduce_axes):
        raise NotImplementedError(
            f"{name}: the argument reduce_axes is deprecated, and must be empty"
        )


def _check_can_be_linear(
    avals: Sequence[AbstractValue], out_avals: Sequence[AbstractValue]
) -> None:
    """Raises TypeError unless operands and results are all inexact, or all integers."""
    for kind in (np.inexact, np.integer):
        if all(dtypes.issubdtype(a.dtype, kind) for a in (*avals, *out_avals)):
            return
    raise TypeError(
        "linear_transpose: the arguments and the results must all be of inexact dtypes, or all "
        f"of integer dtypes, but the function maps {[a.str_short() for a in avals]} -> "
        f"{[a.str_short() for a in out_avals]}"
    )


def _check_linear_cotangent(output: AbstractValue, got: AbstractValue) -> None:
    """Raises TypeError unless a cotangent of type `got` matches the type of `output`."""
    assert isinstance(output, ShapedArray)
    if _is_alike(got, output):
        return
    raise TypeError(
        "jax.linear_transpose: a cotangent must be of the type of its output, "
        f"{output.str_short()}, but is {got.str_short()}"
        + how_to_vary(got, output, "the cotangent")
        + how_to_vary(output, got, "the operand passed to jax.linear_transpose")
    )


def linear_transpose(
    fun: Callable[..., PyTree], *primals: PyTree, reduce_axes: Sequence[AxisName] = ()
) -> Callable[..., PyTree]:
    """Returns the transpose of the linear function `fun`, which maps cotangents to cotangents.

    Args:
      fun: a linear function of pytrees of arrays that returns a pytree of arrays.
      *primals: example arguments, or their types (`ShapeDtypeStruct`); only their types are used.
      reduce_axes: must be empty; JAX no longer supports it.

    Returns: a function that takes a cotangent of the result and returns a tuple of cotangents of
      the arguments.

    Raises:
      TypeError: if arguments and results are neither all inexact nor all integers.

    Example:
      >>> transposed = jax.linear_transpose(lambda x: x[1:] - x[:-1], jnp.zeros(3))
      >>> transposed(jnp.array([1.0, 10.0]))
      (Array([-1., -9., 10.], dtype=float32),)
    """
    check_callable(fun)
    refuse_reduce_axes("linear_transpose", reduce_axes)
    leaves, tree = pytrees.tree_flatten(primals)
    avals = [abstractify(x) for x in leaves]
    flat = flat_function(fun, tree)
    # Operations that do not depend on the arguments need not be linear; they are performed during
    # tracing.
    jaxpr, out_avals, consts = trace_unknowns(flat, avals, debug_info(fun, "linear_transpose"))
    out_tree = flat.out_tree
    _check_can_be_linear(avals, out_avals)

    @api_boundary
    def transposed(consts: Sequence[PyTree], ct: PyTree) -> object:
        cts, ct_tree = pytrees.tree_flatten(ct)
        if ct_tree != out_tree:
            raise TypeError(
                "jax.linear_transpose: the cotangent must have the tree structure of the "
                "function's "
                f"output, {out_tree}, but has {ct_tree}"
            )
        for c, a in zip(cts, out_avals, strict=True):
            _check_linear_cotangent(a, get_aval(c))
        operands = [UndefinedPrimal(a) for a in avals]
        with source_info.transform_name_stack("transpose"):
            operand_cts = backward_pass(jaxpr, consts, operands, cts)
        return pytrees.tree_unflatten(
            tree, [cotangent(c, a) for c, a in zip(operand_cts, avals, strict=True)]
        )

    return pytrees.Partial(transposed, consts)
