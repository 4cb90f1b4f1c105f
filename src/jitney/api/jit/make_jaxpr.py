"""Inspecting traced programs: `make_jaxpr`, `eval_shape`, `typeof`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, overload

from jitney.api.jit.jit_call import make_call
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.program.jaxpr import ClosedJaxpr
from jitney.core.program.shape_dtype import ShapeDtypeStruct, abstractify
from jitney.core.pytree import pytrees
from jitney.core.sharding_in_types import explicit, varying
from jitney.core.tracing.trace import extend_axis_env
from jitney.core.types.avals import AbstractValue, abstract_token, get_aval
from jitney.core.util.wraps import wraps

if TYPE_CHECKING:
    from jitney.core.typing import ArrayLike, AxisName, PyTree

P = ParamSpec("P")


@overload
def make_jaxpr(
    fun: Callable[P, PyTree],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[AxisName, int]] | None = None,
    return_shape: Literal[False] = False,
    abstracted_axes: None = None,
) -> Callable[P, ClosedJaxpr]: ...


@overload
def make_jaxpr(
    fun: Callable[P, PyTree],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[AxisName, int]] | None = None,
    *,
    return_shape: Literal[True],
    abstracted_axes: None = None,
) -> Callable[P, tuple[ClosedJaxpr, PyTree]]: ...


def make_jaxpr(
    fun: Callable[P, PyTree],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[AxisName, int]] | None = None,
    return_shape: bool = False,
    abstracted_axes: None = None,
) -> Callable[P, ClosedJaxpr | tuple[ClosedJaxpr, object]]:
    """Returns a function that traces `fun` and returns its jaxpr instead of its result.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      static_argnums: positions of arguments that are not traced.
      axis_env: pairs (name, size) of the named axes that are in scope during tracing.
      return_shape: whether to return also the type of the result, a pytree of `ShapeDtypeStruct`s.
      abstracted_axes: must be None; shapes are static.

    Returns: a function of `fun`'s arguments (arrays, or anything with a shape and a dtype) that
      returns a `ClosedJaxpr`, or with `return_shape` a pair (`ClosedJaxpr`, type of the result).

    Raises:
      ValueError: if `abstracted_axes` is given.

    Example:
      >>> print(jax.make_jaxpr(lambda x: 3 * x + 1)(1.0))
      { lambda ; a:f32[]. let
          b:f32[] = mul 3.0:f32[] a
          c:f32[] = add b 1.0:f32[]
        in (c,) }
    """
    if abstracted_axes is not None:
        raise ValueError("make_jaxpr: abstracted_axes must be None: shapes are static")
    call = make_call(fun, static_argnums, inline=True, api_name="make_jaxpr")

    @wraps(fun)
    @api_boundary
    def traced(*args: PyTree, **kwargs: PyTree) -> ClosedJaxpr | tuple[ClosedJaxpr, object]:
        with extend_axis_env(*(axis_env or ())):
            program, _ = call.trace(args, kwargs, abstract=True)
        closed = _with_outer_as_constants(program)
        if not return_shape:
            return closed
        return closed, result_structure(closed.out_avals, program.out_tree)

    if hasattr(fun, "__name__"):  # `partial` objects have no name
        traced.__name__ = f"make_jaxpr({traced.__name__})"
        traced.__qualname__ = f"make_jaxpr({traced.__qualname__})"
    traced.__module__ = "jax"
    return traced


def _with_outer_as_constants(program: Any) -> ClosedJaxpr:
    """Returns the program with the tracers that the function captures as additional constants."""
    closed: ClosedJaxpr = program.closed
    n = len(program.outer_tracers)
    if not n:
        return closed
    jaxpr = closed.jaxpr
    names = jaxpr.debug_info.safe_arg_names(len(jaxpr.invars))[n:]
    changed = jaxpr.replace(
        constvars=[*jaxpr.constvars, *jaxpr.invars[:n]],
        invars=jaxpr.invars[n:],
        debug_info=jaxpr.debug_info._replace(arg_names=names),
    )
    return ClosedJaxpr(changed, [*closed.consts, *program.outer_tracers])


def result_structure(avals: Sequence[AbstractValue], tree: pytrees.PyTreeDef) -> object:
    """Returns a pytree of `ShapeDtypeStruct`s, and of token types for tokens."""
    structs = [
        a
        if a is abstract_token or a.is_high
        else ShapeDtypeStruct(
            a.shape,
            a.dtype,
            weak_type=a.weak_type,
            sharding=explicit.sharding_of(a),
            manual_axis_type=varying.type_of(a),
        )
        for a in avals
    ]
    return pytrees.tree_unflatten(tree, structs)


@api_boundary
def eval_shape(fun: Callable[..., PyTree], *args: PyTree, **kwargs: PyTree) -> PyTree:
    """Returns the shapes and dtypes of `fun(*args, **kwargs)` without computing the result.

    The function is traced, but not compiled.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      *args: arrays, or anything with a shape and a dtype.
      **kwargs: keyword arguments, likewise.

    Returns: a pytree of `ShapeDtypeStruct`s.

    Example:
      >>> x = jax.ShapeDtypeStruct((1000, 1000), jnp.float32)
      >>> jax.eval_shape(lambda x: (x @ x).sum(axis=0), x)
      ShapeDtypeStruct(shape=(1000,), dtype=float32)
    """
    call = make_call(fun, inline=True, api_name="eval_shape")
    program, _ = call.trace(args, kwargs, abstract=True)
    return result_structure(program.closed.out_avals, program.out_tree)


def typeof(x: ArrayLike | ShapeDtypeStruct) -> AbstractValue:
    """Returns the type of an array, a tracer or a scalar: its abstract value.

    Args:
      x: an array, tracer or scalar, or a `ShapeDtypeStruct` that stands for an array.

    Returns: an abstract value, an object with the attributes `shape`, `dtype` and `weak_type`.

    Example:
      >>> jax.typeof(jnp.zeros((2, 3))).shape
      (2, 3)
    """
    return abstractify(x) if isinstance(x, ShapeDtypeStruct) else get_aval(x)


__all__ = ["eval_shape", "make_jaxpr", "result_structure", "typeof"]
