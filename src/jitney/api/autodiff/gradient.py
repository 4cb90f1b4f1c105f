"""`grad` and `value_and_grad`: gradients of scalar functions with respect to selected arguments."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from jitney.api.autodiff.autodiff import check_operands, refuse_reduce_axes, vjp
from jitney.api.autodiff.differentiation import (
    array_values,
    check_callable,
    cotangent,
    debug_info,
    flat_function,
    pull_back,
)
from jitney.api.jit.signature import name_at
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.pytree import pytrees
from jitney.core.source.call_arguments import signature_of
from jitney.core.tracing.trace import Tracer, state
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval
from jitney.core.util.wraps import wraps
from jitney.primitives.rules import shape_of
from jitney.runtime.arrays.array import array_from_numpy
from jitney.transforms.linearize import linearize_flat

if TYPE_CHECKING:
    from jitney.core.typing import AxisName, PyTree


def _check_scalar(out: PyTree, holomorphic: bool, name: str) -> ShapedArray:
    """Returns the type of `out`, the result of a function to be differentiated.

    Raises:
      TypeError: if `out` is not a scalar that the transformation `name` can differentiate.
    """
    try:
        aval: Any = get_aval(out)
    except TypeError:
        raise TypeError(
            f"{name}: the function must return a scalar, but returned {out}, of type "
            f"{type(out).__name__}.\nInstead: for auxiliary results, pass has_aux=True, and return "
            "(scalar, auxiliary)"
        ) from None
    if aval.is_ref:
        raise TypeError(
            f"{name}: the function must return a scalar, but returned the reference {aval}"
        )
    if aval.shape != ():
        raise TypeError(
            f"{name}: the function must return a scalar, but its output has shape {aval.shape}; "
            "sum its elements, or use jax.jacobian, or jax.vjp with a cotangent of that shape"
        )
    check_output_dtype(name, holomorphic, out)
    return aval


P = ParamSpec("P")
R = TypeVar("R")

Describe = Callable[[int], str]
"""A function from the number of a leaf of the arguments to the leaf's name in messages."""


def name_of_leaf(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    args: Sequence[PyTree],
    chosen: Sequence[PyTree],
    number: int,
) -> str:
    """Returns the name of a leaf of the arguments at `argnums` for messages.

    Examples are "argument x" and "params['n']".
    """
    path = pytrees.tree_flatten_with_path(tuple(chosen))[0][number][0]
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    index: int = path[0].idx
    place = numbers[index] % len(args)
    signature = signature_of(fun)
    parameters = [] if signature is None else [*signature.parameters.values()]
    name = name_at(parameters, place) if parameters else f"args[{place}]"
    inner = pytrees.keystr(path[1:])
    return f"{name}{inner}" if inner else f"argument {name}"


def check_output_dtype(name: str, holomorphic: bool, out: PyTree) -> None:
    """Raises TypeError if `name` cannot differentiate a result like `out`."""
    aval: Any = get_aval(out)
    if aval.is_ref:
        raise TypeError(
            f"{name} requires arrays as outputs, but got {aval}; return jax.freeze(ref)"
        )
    kind = np.complexfloating if holomorphic else np.floating
    if dtypes.issubdtype(aval.dtype, kind):
        return
    got = dtypes.long_name(aval.dtype)
    if holomorphic:
        raise TypeError(
            f"{name} with holomorphic=True: the output must be of a complex dtype, but is of {got}"
        )
    advice = (
        "pass holomorphic=True if the function is holomorphic; otherwise call jax.vjp with a "
        "cotangent of your choice"
        if dtypes.issubdtype(aval.dtype, np.complexfloating)
        else "use jax.vjp, which differentiates functions with results of any dtype"
    )
    raise TypeError(
        f"{name}: the output must be of a real floating-point dtype, but is of {got}; {advice}"
    )


def check_input_dtype(
    name: str,
    holomorphic: bool,
    allow_int: bool,
    x: PyTree,
    describe: Describe | None = None,
    number: int = 0,
) -> None:
    """Raises TypeError if `name` cannot differentiate with respect to `x`.

    Args:
      name: the name of the transformation.
      holomorphic: whether the function is holomorphic; its arguments must then be complex.
      allow_int: whether integer arguments are allowed.
      x: an argument, or a leaf of one.
      describe: returns the name of leaf `number`, for messages.
      number: the number of the leaf among those with respect to which the function is
        differentiated.
    """
    aval: Any = get_aval(x)
    if aval.is_ref:
        raise TypeError(
            f"{name} cannot differentiate with respect to a reference, {aval}; pass its array, "
            "ref[...], and create a reference within the function; or use jax.vjp, whose "
            "pullback has a method with_refs that accumulates cotangents into references"
        )
    if aval.is_high:
        return
    if holomorphic:
        if not dtypes.issubdtype(aval.dtype, np.complexfloating):
            raise TypeError(
                f"{name} with holomorphic=True: arguments must be of a complex dtype, but "
                f"{describe(number) if describe else 'one'} is of {dtypes.long_name(aval.dtype)}"
            )
        return
    if not dtypes.issubdtype(aval.dtype, np.inexact) and not allow_int:
        raise TypeError(
            f"{name}: arguments must be of a real or complex floating-point dtype, but "
            f"{describe(number) if describe else 'one'} is of {dtypes.long_name(aval.dtype)}."
            f"\nInstead: {_as_float(x)}, or pass it as an argument that is not in argnums; "
            "allow_int=True gives integers and booleans gradients of float0"
        )


def _as_float(x: PyTree) -> str:
    """Returns an expression that passes the integer or boolean `x` as a float."""
    is_number = shape_of(x) == () and not isinstance(x, Tracer)
    return f"pass {float(x)}" if is_number else "convert it with x.astype(float)"


def checked_argnums(argnums: int | Sequence[int]) -> int | tuple[int, ...]:
    """Returns `argnums` as an int or a tuple of ints.

    Raises:
      TypeError: if it is neither an integer nor a sequence of integers.
    """
    untyped: Any = argnums
    if hasattr(untyped, "__index__") and not getattr(untyped, "ndim", 0):  # arrays have it, too
        return operator.index(untyped)
    return tuple(operator.index(n) for n in untyped)


def argnums_partial(
    fun: Callable[..., R],
    argnums: int | Sequence[int],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> tuple[Callable[..., R], tuple[object, ...]]:
    """Returns (function of the arguments at `argnums` alone, those arguments).

    Raises:
      TypeError: if a position exceeds the number of positional arguments.
      ValueError: if a negative position is out of range, or a position occurs twice.
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    low, high = min(numbers, default=0), max(numbers, default=-1)
    if -low > len(args):
        raise ValueError(
            f"argnums: positions must be in [{-len(args)}, {len(args)}) for {len(args)} positional "
            f"arguments, but got {low}"
        )
    least = max(high + 1, 0)
    if len(args) < least:
        raise TypeError(
            f"{argnums=} requires at least {least} positional arguments, but the call has "
            f"{len(args)}; arguments passed by keyword are not counted"
        )
    places = [n % len(args) for n in numbers]
    if len(set(places)) < len(places):
        raise ValueError(f"argnums: each argument may occur only once, but got {argnums}")

    def partial(*chosen: PyTree) -> R:
        merged = list(args)
        for place, x in zip(places, chosen, strict=True):
            merged[place] = x
        return fun(*merged, **kwargs)

    wraps(fun)(partial)
    return partial, tuple([args[p] for p in places])


def value_and_grad(
    fun: Callable[P, R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[AxisName] = (),
) -> Callable[P, tuple[R, PyTree]]:
    """Returns a function that computes the value and the gradient of `fun`.

    Args:
      fun: a function of pytrees of arrays that returns a scalar, or with `has_aux` a pair (scalar,
        auxiliary data).
      argnums: the position or positions of the arguments with respect to which to differentiate.
      has_aux: whether `fun` also returns auxiliary data, which is not differentiated.
      holomorphic: whether `fun` is holomorphic; its arguments and its result must then be complex.
      allow_int: whether the differentiated arguments may be integers; their gradients have dtype
        float0.
      reduce_axes: must be empty; JAX no longer supports it.

    Returns: a function of `fun`'s arguments that returns (value, gradient), or with `has_aux`
      ((value, auxiliary data), gradient). The gradient has the structure of the argument; if
      `argnums` is a sequence, it is a tuple with one gradient per argument.

    Raises:
      TypeError: if `fun` is not callable. When the function is called: if the result is not a real
        scalar, or a differentiated argument has an integer dtype.

    Example:
      >>> energy = lambda w, k: k * jnp.vdot(w, w)
      >>> jax.value_and_grad(energy)(jnp.array([1.0, 2.0]), 0.5)
      (Array(2.5, dtype=float32), Array([1., 2.], dtype=float32))
    """
    check_callable(fun)
    refuse_reduce_axes("grad", reduce_axes)
    argnums = checked_argnums(argnums)
    name = "value_and_grad"

    @wraps(fun, "value-and-gradient")
    @api_boundary
    def value_and_grad_f(*args: PyTree, **kwargs: PyTree) -> tuple[R, object]:
        return _value_and_grad(name, fun, argnums, has_aux, holomorphic, allow_int, args, kwargs)

    return value_and_grad_f


def _value_and_grad(
    name: str,
    fun: Callable[..., R],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    args: Sequence[PyTree],
    kwargs: dict[str, PyTree],
) -> tuple[R, object]:
    partial, chosen = argnums_partial(fun, argnums, args, kwargs)
    leaves, tree = pytrees.tree_flatten(chosen)
    check_operands(leaves, name)
    is_evaluated = state.trace is state.eval_trace
    values = array_values(leaves, is_evaluated)
    describe = functools.partial(name_of_leaf, fun, argnums, args, chosen)
    for k, x in enumerate(values):
        check_input_dtype(name, holomorphic, allow_int, x, describe, k)
    flat = flat_function(partial, tree, has_aux)
    outs, linear = linearize_flat(flat, values, debug_info(fun, name))
    value = flat.unflatten(outs)
    aval = _check_scalar(value, holomorphic, name)
    one = np.array(1, aval.dtype)
    ct: Any = one.item() if aval.weak_type else one[()]
    # A NumPy scalar would be converted to the enabled precision; an array keeps its own.
    if is_evaluated or (not aval.weak_type and dtypes.canonicalize_dtype(aval.dtype) != aval.dtype):
        ct = array_from_numpy(one, aval)
    input_cts, _ = pull_back(linear, linear.consts, [ct])
    gradients = [cotangent(g, get_aval(x)) for g, x in zip(input_cts, values, strict=True)]
    gradient = pytrees.tree_unflatten(tree, gradients)
    result = gradient[0] if isinstance(argnums, int) else gradient
    of_fun: Any = (value, flat.aux) if has_aux else value
    return of_fun, result


def grad(
    fun: Callable[P, PyTree],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[AxisName] = (),
) -> Callable[P, PyTree]:
    """Returns a function that computes the gradient of `fun`.

    Args:
      fun: a function of pytrees of arrays that returns a scalar, or with `has_aux` a pair (scalar,
        auxiliary data).
      argnums: the position or positions of the arguments with respect to which to differentiate.
      has_aux: whether `fun` also returns auxiliary data, which is not differentiated.
      holomorphic: whether `fun` is holomorphic; its arguments and its result must then be complex.
      allow_int: whether the differentiated arguments may be integers; their gradients have dtype
        float0.
      reduce_axes: must be empty; JAX no longer supports it.

    Returns: a function of `fun`'s arguments that returns the gradient, or with `has_aux` (gradient,
      auxiliary data). The gradient has the structure of the argument; if `argnums` is a sequence,
      it is a tuple with one gradient per argument.

    Raises:
      TypeError: as for `value_and_grad`.

    Example:
      >>> jax.grad(lambda w: jnp.sum(w**3))(jnp.array([1.0, 2.0]))
      Array([ 3., 12.], dtype=float32)
      >>> jax.grad(jnp.vdot, argnums=(0, 1))(jnp.ones(1), jnp.full(1, 5.0))
      (Array([5.], dtype=float32), Array([1.], dtype=float32))
    """
    check_callable(fun)
    refuse_reduce_axes("grad", reduce_axes)
    argnums = checked_argnums(argnums)

    @wraps(fun, "gradient")
    @api_boundary
    def grad_f(*args: PyTree, **kwargs: PyTree) -> object:
        value, gradient = _value_and_grad(
            "grad", fun, argnums, has_aux, holomorphic, allow_int, args, kwargs
        )
        return (gradient, value[1]) if has_aux else gradient

    return grad_f


def fwd_and_bwd(
    fun: Callable[..., PyTree],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    jitted: bool = True,
) -> tuple[Callable[..., PyTree], Callable[..., PyTree]]:
    """Returns separate functions for the forward and the backward pass of `fun`.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      argnums: the positions of the arguments whose cotangents are computed.
      has_aux: whether `fun` returns a pair (result, auxiliary data); the auxiliary data is not
        differentiated.
      jitted: accepted for compatibility.

    Returns: a pair (forward, backward). `forward` takes the arguments of `fun` and returns (value,
      residuals), or with `has_aux` (value, auxiliary data, residuals). `backward` takes the
      residuals and a cotangent of the value, and returns the cotangents of the arguments.

    Example:
      >>> forward, backward = jax.fwd_and_bwd(jnp.sin, argnums=0)
      >>> value, residuals = forward(0.0)
      >>> value.item(), backward(residuals, jnp.ones_like(value)).item()
      (0.0, 1.0)
    """

    def forward(*args: PyTree, **kwargs: PyTree) -> object:
        partial, chosen = argnums_partial(fun, argnums, args, kwargs)
        out = vjp(partial, *chosen, has_aux=has_aux)
        return (out[0], out[2], out[1]) if has_aux else out

    def backward(residuals: Callable[..., PyTree], ct: PyTree) -> object:
        out = residuals(ct)
        return out[0] if isinstance(argnums, int) else out

    return forward, backward
