"""Jacobians and Hessians: `jacfwd`, `jacrev`, `jacobian`, `hessian`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from jitney.api.autodiff.autodiff import jvp, vjp
from jitney.api.autodiff.differentiation import check_callable
from jitney.api.autodiff.gradient import (
    Describe,
    argnums_partial,
    check_input_dtype,
    check_output_dtype,
    checked_argnums,
    name_of_leaf,
)
from jitney.api.batching.vmap import vmap
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.pytree import pytrees
from jitney.core.sharding_in_types import varying
from jitney.core.tracing.pvary import as_type
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.core.util.wraps import wraps
from jitney.primitives.array.concatenation import split
from jitney.primitives.array.creation import broadcasted_iota
from jitney.primitives.array.shape import reshape, shape_of
from jitney.primitives.elementwise.binary import add
from jitney.primitives.elementwise.compare import eq
from jitney.primitives.elementwise.convert import convert

if TYPE_CHECKING:
    from jitney.core.sharding.manual_axes import ManualAxisType
    from jitney.core.typing import Array, ArrayLike, PyTree

P = ParamSpec("P")


def standard_basis(tree: PyTree, *, of_tangents: bool) -> object:
    """Returns the standard basis of `tree`: a pytree like it with a new leading axis.

    Entry i has 1 at flat position i and 0 elsewhere. Within a `shard_map`, the entries vary along
    the same mesh axes as the tangents of `tree`, or as its cotangents if `of_tangents` is False.
    """
    leaves, structure = pytrees.tree_flatten(tree)
    sizes = [int(np.prod(shape_of(x))) for x in leaves]
    n = int(np.sum(sizes))
    dtype = dtypes.result_type(*leaves)
    eye = _eye(n, dtype)
    parts = split(eye, tuple(np.int64(s) for s in sizes), 1)
    shaped = [
        convert(reshape(part, (n, *shape_of(x))), get_aval(x).dtype, get_aval(x).weak_type)
        for part, x in zip(parts, leaves, strict=True)
    ]
    typed = [
        as_type(rows, varying.type_of(get_aval(x)) if of_tangents else _cotangent_type(x))
        for rows, x in zip(shaped, leaves, strict=True)
    ]
    return pytrees.tree_unflatten(structure, typed)


def _cotangent_type(x: ArrayLike) -> ManualAxisType:
    return varying.type_of(get_aval(x).to_cotangent_aval())


def _eye(n: int, dtype: np.dtype) -> Array:
    rows = broadcasted_iota(np.int32, (n, n), 0)
    columns = broadcasted_iota(np.int32, (n, n), 1)
    return convert(eq(add(rows, np.int32(0)), columns), dtype)


def divided(tree: PyTree, axis: int, matrix: Array) -> object:
    """Splits `matrix` along `axis` into blocks of the shapes of the leaves of `tree`."""
    leaves, structure = pytrees.tree_flatten(tree)
    sizes = tuple(np.int64(np.prod(shape_of(x))) for x in leaves)
    axis = axis % len(shape_of(matrix))
    parts = split(matrix, sizes, axis)
    shape = shape_of(matrix)
    shaped = [
        reshape(part, (*shape[:axis], *shape_of(x), *shape[axis + 1 :]))
        for part, x in zip(parts, leaves, strict=True)
    ]
    return pytrees.tree_unflatten(structure, shaped)


def jacfwd(
    fun: Callable[P, PyTree],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, PyTree]:
    """Returns a function that computes the Jacobian of `fun`, column by column, in forward mode.

    This is cheaper than `jacrev` if the argument has fewer elements than the result.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      argnums: the position or positions of the arguments with respect to which to differentiate.
      has_aux: whether `fun` returns a pair (result, auxiliary data); the auxiliary data is not
        differentiated.
      holomorphic: whether `fun` is holomorphic; its arguments and its result must then be complex.

    Returns: a function of `fun`'s arguments that returns the Jacobian, or with `has_aux` (Jacobian,
      auxiliary data). Entry [i, j] (axes of the result, then axes of the argument) is d result[i] /
      d argument[j]. For pytrees, the Jacobian has the structure of the result, and each of its
      leaves is replaced by a pytree of the structure of the argument.

    Raises:
      TypeError: when the function is called, if a differentiated argument does not have a
        floating-point dtype.

    Example:
      >>> jax.jacfwd(lambda x: jnp.array([x[0] * x[1], x[1] ** 2]))(jnp.array([3.0, 5.0]))
      Array([[ 5.,  3.],
             [ 0., 10.]], dtype=float32)
    """
    check_callable(fun)
    argnums = checked_argnums(argnums)

    @wraps(fun, "Jacobian")
    @api_boundary
    def jacobian_f(*args: PyTree, **kwargs: PyTree) -> object:
        partial, chosen = argnums_partial(fun, argnums, args, kwargs)
        describe = functools.partial(name_of_leaf, fun, argnums, args, chosen)
        for k, x in enumerate(pytrees.tree_leaves(chosen)):
            check_input("jacfwd", holomorphic, x, describe, k)
        aux: list[Any] = []

        def push(tangents: PyTree) -> tuple[object, object]:
            out = jvp(partial, chosen, tangents, has_aux=has_aux)
            if has_aux:
                aux.append(out[2])
            if holomorphic:
                for x in pytrees.tree_leaves(out[0]):
                    check_output_dtype("jacfwd", True, x)
            return (out[0], out[1])

        values, columns = vmap(push, out_axes=(None, -1))(standard_basis(chosen, of_tangents=True))
        del values
        example = chosen if not isinstance(argnums, int) else chosen[0]

        def blocks(matrix: Array) -> object:
            return divided(example, -1, matrix)

        result = pytrees.tree_map(blocks, columns)
        return (result, aux[0]) if has_aux else result

    return jacobian_f


def check_input(
    name: str, holomorphic: bool, x: ArrayLike, describe: Describe | None = None, number: int = 0
) -> None:  # fmt: skip
    """Raises TypeError if `name` cannot propagate tangents of `x` in forward mode."""
    aval: Any = get_aval(x)
    if not holomorphic and not dtypes.issubdtype(aval.dtype, np.floating):
        advice = (
            "pass holomorphic=True if the function is holomorphic; for other functions of "
            "complex arguments, and for functions of integers, use jax.jvp"
        )
        raise TypeError(
            f"{name}: arguments must be of a real floating-point dtype, but "
            f"{describe(number) if describe else 'one'} is of {dtypes.long_name(aval.dtype)}; {advice}"
        )
    check_input_dtype(name, holomorphic, False, x, describe, number)


def jacrev(
    fun: Callable[P, PyTree],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, PyTree]:
    """Returns a function that computes the Jacobian of `fun`, row by row, in reverse mode.

    This is cheaper than `jacfwd` if the result has fewer elements than the argument.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      argnums: the position or positions of the arguments with respect to which to differentiate.
      has_aux: whether `fun` returns a pair (result, auxiliary data); the auxiliary data is not
        differentiated.
      holomorphic: whether `fun` is holomorphic; its arguments and its result must then be complex.
      allow_int: whether the differentiated arguments may be integers; their derivatives have dtype
        float0.

    Returns: as for `jacfwd`.

    Raises:
      TypeError: when the function is called, if a result does not have a floating-point dtype.

    Example:
      >>> jax.jacrev(lambda x: jnp.array([x[0] * x[1], x[1] ** 2]))(jnp.array([3.0, 5.0]))
      Array([[ 5.,  3.],
             [ 0., 10.]], dtype=float32)
    """
    check_callable(fun)
    argnums = checked_argnums(argnums)

    @wraps(fun, "Jacobian")
    @api_boundary
    def jacobian_f(*args: PyTree, **kwargs: PyTree) -> object:
        partial, chosen = argnums_partial(fun, argnums, args, kwargs)
        describe = functools.partial(name_of_leaf, fun, argnums, args, chosen)
        for k, x in enumerate(pytrees.tree_leaves(chosen)):
            check_input_dtype("jacrev", holomorphic, allow_int, x, describe, k)
        out = vjp(partial, *chosen, has_aux=has_aux)
        value, pullback = out[0], out[1]
        for x in pytrees.tree_leaves(value):
            check_output_dtype("jacrev", holomorphic, x)
        rows = vmap(pullback)(standard_basis(value, of_tangents=False))
        rows = rows[0] if isinstance(argnums, int) else rows
        example = chosen[0] if isinstance(argnums, int) else chosen

        def blocks(matrix: Array) -> object:
            return divided(value, 0, matrix)

        by_argument = pytrees.tree_map(blocks, rows)
        result = pytrees.tree_transpose(
            pytrees.tree_structure(example), pytrees.tree_structure(value), by_argument
        )
        return (result, out[2]) if has_aux else result

    return jacobian_f


jacobian = jacrev


def hessian(
    fun: Callable[P, PyTree],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, PyTree]:
    """Returns a function that computes the Hessian of `fun`, in forward over reverse mode.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      argnums: the position or positions of the arguments with respect to which to differentiate.
      has_aux: whether `fun` returns a pair (result, auxiliary data); the auxiliary data is not
        differentiated.
      holomorphic: whether `fun` is holomorphic; its arguments and its result must then be complex.

    Returns: a function of `fun`'s arguments that returns the second derivatives: the Jacobian of
      the Jacobian.

    Example:
      >>> jax.hessian(lambda x: x[0] ** 2 * x[1])(jnp.array([2.0, 3.0]))
      Array([[6., 4.],
             [4., 0.]], dtype=float32)
    """
    return jacfwd(
        jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic),
        argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
    )
