"""Derivatives given in other ways: `custom_gradient`, `closure_convert`, `linear_call`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from jitney.api.custom_vjp import custom_vjp
from jitney.api.jit_call import fun_name, trace_closed
from jitney.compiler import lower as lowering
from jitney.core import source_info
from jitney.core.avals import get_aval
from jitney.core.evaluate import eval_jaxpr
from jitney.core.flat_function import FlatFunction
from jitney.core.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.jaxpr_trace import trace_to_jaxpr
from jitney.core.primitive import declare
from jitney.core.pytree import pytrees
from jitney.core.trace import Tracer
from jitney.core.wraps import wraps
from jitney.transforms.batch import AxisData, batch_jaxpr_at
from jitney.transforms.linearize import has_tangent
from jitney.transforms.transpose import UndefinedPrimal
from jitney.transforms.zero import SymbolicZero, Zero, instantiate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.jaxpr import Jaxpr
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import ArrayLike, PyTree

P = ParamSpec("P")
R = TypeVar("R")

# --- custom_gradient ------------------------------------------------------------------------------


class _Residuals:
    """A traced rule: a program and the values of its constants, which are the residuals."""

    def __init__(self, jaxpr: Jaxpr, out_tree: PyTreeDef, consts: PyTree) -> None:
        self.jaxpr = jaxpr
        self.out_tree = out_tree
        self.consts = consts


pytrees.register_pytree_node(
    _Residuals,
    lambda r: (r.consts, (r.jaxpr, r.out_tree)),
    lambda aux, consts: _Residuals(aux[0], aux[1], consts),
)


def custom_gradient(fun: Callable[P, tuple[R, Callable[..., PyTree]]]) -> Callable[P, R]:
    """A function that comes with its reverse derivative.

    Args:
      fun: returns (result, rule); `rule` takes the cotangent of the result and returns those of the
        arguments: a tuple, or the cotangent itself of a single argument.

    Returns: a function of the same arguments that returns the result.

    Example:
      >>> @jax.custom_gradient
      ... def clipped(x):
      ...     return x**2, lambda ct: (jnp.clip(ct * 2 * x, -1.0, 1.0),)
      >>> jax.grad(clipped)(3.0)
      Array(1., dtype=float32, weak_type=True)
    """

    @wraps(fun)
    def wrapped_fun(*args: PyTree, **kwargs: PyTree) -> Any:
        ans, _ = fun(*args, **kwargs)
        return ans

    wrapped_fun.__name__ = wrapped_fun.__qualname__ = "wrapped_fun"

    def fwd(*args: PyTree, **kwargs: PyTree) -> Any:
        ans, rule = fun(*args, **kwargs)
        leaves, ans_tree = pytrees.tree_flatten(ans)
        flat = FlatFunction(rule, pytrees.treedef_tuple((ans_tree,)))
        info = DebugInfo("custom_gradient fwd", source_info.fun_sourceinfo(rule))
        avals = [get_aval(x).to_cotangent_aval() for x in leaves]
        jaxpr, _, consts = trace_to_jaxpr(flat, avals, info)
        return ans, _Residuals(jaxpr, flat.out_tree, consts)

    def bwd(residuals: _Residuals, cts: PyTree) -> Any:
        flat = [
            instantiate(ct)
            for ct in pytrees.tree_leaves(cts, is_leaf=lambda x: isinstance(x, Zero))
        ]
        outs = eval_jaxpr(residuals.jaxpr, residuals.consts, *flat)
        out = pytrees.tree_unflatten(residuals.out_tree, outs)
        return out if isinstance(out, tuple | list) else (out,)

    function = custom_vjp(wrapped_fun)
    function.defvjp(fwd, bwd)
    function_with_gradient: Any = lambda *args, **kwargs: function(*args, **kwargs)  # noqa: E731
    return wraps(fun)(function_with_gradient)


# --- closure_convert ------------------------------------------------------------------------------


def closure_convert(
    fun: Callable[..., PyTree], *example_args: PyTree
) -> tuple[Callable[..., PyTree], list[Any]]:
    """`fun` with the traced values that it closes over as arguments.

    Args:
      fun: takes and returns pytrees of arrays.
      *example_args: arguments that say for which types; nothing is computed.

    Returns: (a function of the arguments and the values; the values). Values that nothing can be
      differentiated by stay closed over.

    Example:
      >>> def f(a):
      ...   g, values = jax.closure_convert(lambda x: a * x, 1.0)
      ...   return g(3.0, *values), len(values)
      >>> slope, n_values = jax.grad(f, has_aux=True)(2.0)
      >>> slope.item(), n_values
      (3.0, 1)
    """
    leaves, in_tree = pytrees.tree_flatten(example_args)
    flat = FlatFunction(fun, in_tree)
    info = DebugInfo("closure_convert", source_info.fun_sourceinfo(fun))
    jaxpr, _, consts = trace_to_jaxpr(flat, [get_aval(x) for x in leaves], info)
    hoisted = [isinstance(c, Tracer) and has_tangent(c.aval) for c in consts]
    n = sum(hoisted)
    out_tree = flat.out_tree

    def converted_fun(*args_and_values: PyTree) -> Any:
        count = len(args_and_values) - n
        args, values = args_and_values[:count], iter(args_and_values[count:])
        xs, tree = pytrees.tree_flatten(tuple(args))
        if tree != in_tree:
            raise TypeError(
                f"The function made by closure_convert takes arguments of structure {in_tree}, and {n} "
                f"values that were closed over; got {tree}"
            )
        all_consts = [next(values) if h else c for h, c in zip(hoisted, consts, strict=True)]
        return pytrees.tree_unflatten(out_tree, eval_jaxpr(jaxpr, all_consts, *xs))

    return converted_fun, [c for h, c in zip(hoisted, consts, strict=True) if h]


# --- linear_call ----------------------------------------------------------------------------------

linear_call_p = declare("linear_call", multiple_results=True)


@linear_call_p.abstract
def _linear_call_abstract(*avals: Any, callee: ClosedJaxpr, **_: Any) -> Any:
    return callee.out_avals


@linear_call_p.lower
def _linear_call_lower(b: Any, *nodes: Any, callee: ClosedJaxpr, **_: Any) -> Any:
    return lowering.inline(b, callee, nodes)


@linear_call_p.jvp
def _linear_call_jvp(
    primals: Sequence[PyTree],
    tangents: Sequence[PyTree],
    *,
    num_callee_consts: int,
    num_res: int,
    **params: Any,
) -> Any:
    n = num_callee_consts + num_res
    if any(not isinstance(t, Zero) for t in tangents[:n]):
        raise NotImplementedError(
            "linear_call has no derivative by its residuals: only by its linear arguments"
        )
    params |= {"num_callee_consts": num_callee_consts, "num_res": num_res}
    linear_tangents = [instantiate(t) for t in tangents[n:]]
    return linear_call_p.bind(*primals, **params), linear_call_p.bind(
        *primals[:n], *linear_tangents, **params
    )


@linear_call_p.transpose
def _linear_call_transpose(
    cts: PyTree, *args: PyTree, callee: ClosedJaxpr, num_callee_consts: int, num_res: int,
    transpose_thunk: Callable[[], Any],
) -> list[Any]:  # fmt: skip
    n = num_callee_consts + num_res
    transposed, extra = transpose_thunk()
    instantiated_cts = [instantiate(ct) for ct in cts]
    residuals = args[num_callee_consts:n]
    outs = linear_call_p.bind(
        *extra, *residuals, *instantiated_cts, callee=transposed, num_callee_consts=len(extra),
        num_res=num_res, transpose_thunk=lambda: (callee, list(args[:num_callee_consts])),
    )  # fmt: skip
    return [None] * n + [
        ct if type(x) is UndefinedPrimal else None for ct, x in zip(outs, args[n:], strict=True)
    ]


linear_call_p.absent(
    "eager", why="evaluated whole, as a compiled program (runtime.eager), not on NumPy arrays"
)


@linear_call_p.batch
def _linear_call_batch(args: Sequence[PyTree], dims: Sequence[int | None], **params: Any) -> Any:
    raise NotImplementedError(
        "'linear_call' has no batching rule, which vmap needs: not implemented, as in JAX"
    )


@linear_call_p.over_devices
def _linear_call_over_devices(
    axis_data: AxisData, args: Sequence[PyTree], dims: Sequence[int | None], *, callee: ClosedJaxpr,
    **_: Any,
) -> Any:  # fmt: skip
    program, out_dims = batch_jaxpr_at(callee, axis_data, tuple(dims))
    return eval_jaxpr(program.jaxpr, program.consts, *args), list(out_dims)


def linear_call(
    fun: Callable[[PyTree, PyTree], PyTree],
    fun_transpose: Callable[[PyTree, PyTree], PyTree],
    residual_args: PyTree,
    linear_args: PyTree,
) -> PyTree:
    """fun(residual_args, linear_args), where `fun_transpose` is its transpose.

    Args:
      fun: linear in its second argument.
      fun_transpose: (residual_args, cotangent of the result) -> cotangent of `linear_args`.
      residual_args: pytree of what both functions need.
      linear_args: pytree of arrays.

    Returns: a pytree of arrays, the result of `fun`.
    """
    residuals, res_tree = pytrees.tree_flatten(residual_args)
    linear, lin_tree = pytrees.tree_flatten(linear_args)
    res_avals = [get_aval(x) for x in residuals]
    lin_avals = [get_aval(x) for x in linear]
    n = len(residuals)
    flat = FlatFunction(fun, pytrees.treedef_tuple((res_tree, lin_tree)))
    info = DebugInfo("linear_call", source_info.fun_sourceinfo(fun))
    callee, outer = trace_closed(flat, [*res_avals, *lin_avals], info)
    out_tree = flat.out_tree
    out_avals = callee.out_avals

    @functools.cache
    def transpose_thunk() -> Any:
        flat = FlatFunction(fun_transpose, pytrees.treedef_tuple((res_tree, out_tree)))
        tinfo = DebugInfo("linear_call", source_info.fun_sourceinfo(fun_transpose))
        avals = [*res_avals, *(a.to_cotangent_aval() for a in out_avals)]
        transposed = trace_closed(flat, avals, tinfo)
        if flat.out_tree != lin_tree:
            raise TypeError(
                f"the transpose function of linear_call {fun_name(fun_transpose)} must return a "
                f"pytree like the linear arguments: got {flat.out_tree}, expected {lin_tree}"
            )
        return transposed

    outs = linear_call_p.bind(
        *outer, *residuals, *linear, callee=callee, num_callee_consts=len(outer), num_res=n,
        transpose_thunk=transpose_thunk,
    )  # fmt: skip
    return pytrees.tree_unflatten(out_tree, outs)


# --- small helpers of rules -----------------------------------------------------------------------


def zero_from_primal(val: PyTree, symbolic_zeros: bool = False) -> PyTree:
    """The zero cotangent of each leaf of a pytree of values: an array, or a symbolic zero."""

    def zero(x: ArrayLike) -> Any:
        aval = get_aval(x).to_cotangent_aval()
        return SymbolicZero(aval) if symbolic_zeros else Zero(aval).instantiate()

    return pytrees.tree_map(zero, val)


def custom_vjp_primal_tree_values(tree: PyTree) -> PyTree:
    """A pytree of `CustomVJPPrimal`s as the pytree of their values."""
    from jitney.api.custom_vjp import CustomVJPPrimal

    def value(leaf: PyTree) -> Any:
        if not isinstance(leaf, CustomVJPPrimal):
            raise TypeError(f"unexpected leaf of type {type(leaf)}: not a CustomVJPPrimal")
        return leaf.value

    return pytrees.tree_map(value, tree, is_leaf=lambda x: isinstance(x, CustomVJPPrimal))
