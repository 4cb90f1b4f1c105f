"""Other ways to define derivatives: `custom_gradient`, `closure_convert`, `linear_call`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar, overload

from jitney.api.autodiff.custom_vjp import custom_vjp
from jitney.api.jit.jit_call import fun_name, trace_closed
from jitney.api.rules.traced_rules import (
    AccumulatingRule,
    TracedRule,
    accumulating_rule,
    flat_cotangents,
    pulled_back,
    traced_rule,
)
from jitney.api.rules.user_results import is_sequence
from jitney.compiler import lower as lowering
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.pytree import pytrees
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.source import source_info
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.trace import Tracer
from jitney.core.types.avals import get_aval
from jitney.core.util.wraps import wraps
from jitney.primitives.elementwise.convert import as_value
from jitney.transforms.batch import AxisData, batch_jaxpr_at
from jitney.transforms.linearize import has_tangent
from jitney.transforms.logs import checked_log
from jitney.transforms.transpose import UndefinedPrimal
from jitney.transforms.zero import SymbolicZero, Zero, instantiate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import ArrayLike, PyTree, Value
    from jitney.primitives.rule_types import BatchDim, Builder, Cotangent, Node
    from jitney.transforms.logs import Log

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

# --- custom_gradient ------------------------------------------------------------------------------


@overload
def custom_gradient(
    fun: Callable[P, tuple[R, Callable[..., object]]],
    *,
    with_logs: bool = False,
    remat: bool = False,
    with_accums: PyTree = None,
) -> Callable[P, R]: ...


@overload
def custom_gradient(
    fun: None = None,
    *,
    with_logs: bool = False,
    remat: bool = False,
    with_accums: PyTree = None,
) -> Callable[[Callable[P, tuple[R, Callable[..., object]]]], Callable[P, R]]: ...


def custom_gradient(
    fun: Callable[..., Any] | None = None,
    *,
    with_logs: bool = False,
    remat: bool = False,
    with_accums: PyTree = None,
) -> object:
    """Decorates a function that returns its result together with its backward rule.

    Args:
      fun: a function that returns (result, rule). `rule` takes the cotangent of the result and
        returns a tuple of the cotangents of the arguments, or for a single argument the cotangent
        itself. If `fun` is omitted, a decorator is returned.
      with_logs: whether `rule` returns a pair (cotangents, log entries of the backward pass), where
        the entries are a dict or None, as for `custom_vjp.defvjp_with_logs`.
      remat: whether `fun` returns, in place of `rule`, a function that takes the arguments of `fun`
        and returns (result, rule), as for `custom_vjp.defremat`.
      with_accums: the kinds of the accumulators, as a pytree prefix of the tuple of arguments with
        leaves `ValAccum` or `RefAccum` of `jax.experimental.hijax`. If given, `rule` takes
        accumulators after the cotangent, one for each leaf of the arguments and in their structure,
        and returns None or log entries, as for `custom_vjp.defvjp_with_accums`. The accumulator of
        an argument that is not differentiated is a `NullAccum`.

    Returns: a function of the arguments of `fun` that returns its result without the rule.

    Raises:
      NotImplementedError: if both `remat` and `with_accums` are given.

    Example:
      >>> @jax.custom_gradient
      ... def clipped(x):
      ...     return x**2, lambda ct: (jnp.clip(ct * 2 * x, -1.0, 1.0),)
      >>> jax.grad(clipped)(3.0)
      Array(1., dtype=float32, weak_type=True)
      >>> @jax.custom_gradient(with_logs=True)
      ... def logged(x):
      ...     return x**2, lambda ct: ((ct * 2 * x,), {"ct": ct})
      >>> jax.vjp(logged, 3.0)[1].with_logs(1.0)[1]
      {'ct': Array(1., dtype=float32, weak_type=True)}
    """
    if remat and with_accums is not None:
        raise NotImplementedError("custom_gradient: with_accums cannot be combined with remat")
    if fun is None:
        return functools.partial(
            custom_gradient, with_logs=with_logs, remat=remat, with_accums=with_accums
        )
    given = fun

    @wraps(fun)
    def wrapped_fun(*args: PyTree, **kwargs: PyTree) -> object:
        ans, _ = given(*args, **kwargs)
        return ans

    wrapped_fun.__name__ = wrapped_fun.__qualname__ = "wrapped_fun"
    function = custom_vjp(wrapped_fun)
    if with_accums is not None:
        _set_accumulating(function, fun, with_accums)
    elif remat:
        _set_rematerializing(function, fun, with_logs)
    elif with_logs:
        function.defvjp_with_logs(_forward(_logging(fun)), _logged_cotangents)
    else:
        function.defvjp(_forward(fun), _cotangents)

    @wraps(fun)
    def function_with_gradient(*args: PyTree, **kwargs: PyTree) -> object:
        return function(*args, **kwargs)

    return function_with_gradient


def _forward(fun: Callable[..., Any]) -> Callable[..., tuple[object, TracedRule]]:
    def fwd(*args: PyTree, **kwargs: PyTree) -> tuple[object, TracedRule]:
        ans, rule = fun(*args, **kwargs)
        return ans, pulled_back(rule, ans)

    return fwd


def _cotangents(rule: TracedRule, cts: PyTree) -> Sequence[object]:
    return _as_sequence(rule(*flat_cotangents(cts)))


def _logged_cotangents(rule: TracedRule, cts: PyTree) -> tuple[Sequence[object], Log]:
    out, log = rule(*flat_cotangents(cts))
    return _as_sequence(out), pytrees.tree_map(as_value, log)


def _as_sequence(x: object) -> Sequence[object]:
    return x if is_sequence(x) else (x,)


def _logging(
    fun: Callable[..., Any],
) -> Callable[..., tuple[object, Callable[..., tuple[object, Log]]]]:
    """Wraps `fun`, which returns (result, rule), so that the results of the rule are checked."""
    name = fun_name(fun)

    def checked(
        *args: PyTree, **kwargs: PyTree
    ) -> tuple[object, Callable[..., tuple[object, Log]]]:
        ans, rule = fun(*args, **kwargs)

        def checked_rule(*cts: PyTree) -> tuple[object, Log]:
            out = rule(*cts)
            if not is_sequence(out) or len(out) != 2:
                raise TypeError(
                    f"custom_gradient of {name} has with_logs=True, so its rule must return a pair "
                    f"(cotangents, logs), but returned {out!r}"
                )
            return out[0], checked_log(out[1], f"the rule of custom_gradient of {name}")

        return ans, checked_rule

    return checked


def _set_rematerializing(
    function: custom_vjp[..., Any], fun: Callable[..., Any], with_logs: bool
) -> None:
    """Sets the rules for `fun`, which returns (result, function that returns (result, rule))."""

    def fwd(*args: PyTree) -> tuple[object, TracedRule]:
        ans, rem = fun(*args)
        again = _forward(_logging(rem) if with_logs else rem)
        leaves, in_tree = pytrees.tree_flatten(args)
        return ans, traced_rule(again, in_tree, [*map(get_aval, leaves)])

    def rem(again: TracedRule, *args: PyTree) -> object:
        return again(*pytrees.tree_leaves(args))

    if with_logs:
        function.defremat_with_logs(fwd, rem, _logged_cotangents)
    else:
        function.defremat(fwd, rem, _cotangents)


def _set_accumulating(
    function: custom_vjp[..., Any], fun: Callable[..., Any], declared: PyTree
) -> None:
    """Sets the rules for `fun`, which returns (result, rule that takes accumulators)."""
    name = fun_name(fun)

    def fwd(*args: PyTree) -> tuple[object, AccumulatingRule]:
        leaves = pytrees.tree_leaves(args)
        values: tuple[PyTree, ...] = custom_vjp_primal_tree_values(args)
        ans, rule = fun(*values)
        perturbed = [x.perturbed for x in leaves]
        return ans, accumulating_rule(name, rule, ans, values, perturbed, declared)

    def bwd(rule: AccumulatingRule, cts: PyTree, *accums: PyTree) -> Log:
        return rule(name, flat_cotangents(cts), pytrees.tree_leaves(accums))

    function.defvjp_with_accums(fwd, bwd, symbolic_zeros=True)


# --- closure_convert ------------------------------------------------------------------------------


def closure_convert(
    fun: Callable[..., R], *example_args: PyTree
) -> tuple[Callable[..., R], list[Value]]:
    """Converts traced values that `fun` captures into explicit arguments.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      *example_args: example arguments; only their types are used, and nothing is computed.

    Returns: a pair (function of the arguments and the captured values, list of the captured
      values). Captured values that cannot be differentiated, such as integers, stay captured.

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
    hoisted = [isinstance(c, Tracer) and not c.aval.is_ref and has_tangent(c.aval) for c in consts]
    n = sum(hoisted)
    out_tree = flat.out_tree

    def converted_fun(*args_and_values: PyTree) -> R:
        count = len(args_and_values) - n
        args, values = args_and_values[:count], iter(args_and_values[count:])
        xs, tree = pytrees.tree_flatten(tuple(args))
        if tree != in_tree:
            raise TypeError(
                f"The function that closure_convert returned takes arguments of structure {in_tree}, "
                f"followed by the {n} captured values; got {tree}"
            )
        all_consts = [next(values) if h else c for h, c in zip(hoisted, consts, strict=True)]
        return pytrees.tree_unflatten(out_tree, eval_jaxpr(jaxpr, all_consts, *xs))

    return converted_fun, [c for h, c in zip(hoisted, consts, strict=True) if h]


# --- linear_call ----------------------------------------------------------------------------------

linear_call_p = declare("linear_call", multiple_results=True)


@linear_call_p.abstract
def _linear_call_abstract(*avals: Any, callee: ClosedJaxpr, **_: Any) -> list[AbstractValue]:
    return callee.out_avals


@linear_call_p.lower
def _linear_call_lower(b: Builder, *nodes: Any, callee: ClosedJaxpr, **_: Any) -> list[Node]:
    return lowering.inline(b, callee, nodes)


@linear_call_p.jvp
def _linear_call_jvp(
    primals: Sequence[PyTree],
    tangents: Sequence[PyTree],
    *,
    num_callee_consts: int,
    num_res: int,
    **params: Any,
) -> tuple[list[Value], list[Value]]:
    n = num_callee_consts + num_res
    if any(not isinstance(t, Zero) for t in tangents[:n]):
        raise NotImplementedError(
            "linear_call can be differentiated with respect to its linear arguments only, not "
            "with respect to its residual arguments"
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
) -> list[Cotangent | None]:  # fmt: skip
    n = num_callee_consts + num_res
    transposed, extra = transpose_thunk()
    instantiated_cts = [instantiate(ct) for ct in cts]
    residuals = args[num_callee_consts:n]
    outs = linear_call_p.bind(
        *extra, *residuals, *instantiated_cts, callee=transposed, num_callee_consts=len(extra),
        num_res=num_res, transpose_thunk=lambda: (callee, list(args[:num_callee_consts])),
    )  # fmt: skip
    out: list[Cotangent | None] = [None] * n
    return out + [
        ct if type(x) is UndefinedPrimal else None for ct, x in zip(outs, args[n:], strict=True)
    ]


linear_call_p.absent(
    "eager", why="evaluated whole, as a compiled program (runtime.eager), not on NumPy arrays"
)


@linear_call_p.batch
def _linear_call_batch(
    args: Sequence[PyTree], dims: Sequence[int | None], **params: Any
) -> NoReturn:
    raise NotImplementedError(
        "vmap of linear_call is not implemented: as in JAX, 'linear_call' has no batching rule"
    )


@linear_call_p.over_devices
def _linear_call_over_devices(
    axis_data: AxisData, args: Sequence[PyTree], dims: Sequence[int | None], *, callee: ClosedJaxpr,
    **_: Any,
) -> tuple[list[Value], list[BatchDim]]:  # fmt: skip
    program, out_dims = batch_jaxpr_at(callee, axis_data, tuple(dims))
    return eval_jaxpr(program.jaxpr, program.consts, *args), list(out_dims)


def linear_call(
    fun: Callable[[PyTree, PyTree], R],
    fun_transpose: Callable[[PyTree, PyTree], PyTree],
    residual_args: PyTree,
    linear_args: PyTree,
) -> R:
    """Computes fun(residual_args, linear_args), with `fun_transpose` as the transpose of `fun`.

    Args:
      fun: a function that is linear in its second argument.
      fun_transpose: maps (residual_args, cotangent of the result) to the cotangent of
        `linear_args`.
      residual_args: a pytree of arrays that is passed to both functions.
      linear_args: a pytree of arrays.

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
    def transpose_thunk() -> tuple[ClosedJaxpr, tuple[Value, ...]]:
        flat = FlatFunction(fun_transpose, pytrees.treedef_tuple((res_tree, out_tree)))
        tinfo = DebugInfo("linear_call", source_info.fun_sourceinfo(fun_transpose))
        avals = [*res_avals, *(a.to_cotangent_aval() for a in out_avals)]
        transposed = trace_closed(flat, avals, tinfo)
        if flat.out_tree != lin_tree:
            raise TypeError(
                f"linear_call: the transpose function {fun_name(fun_transpose)} must return a "
                f"pytree like the linear arguments: got {flat.out_tree}, expected {lin_tree}"
            )
        return transposed

    outs = linear_call_p.bind(
        *outer, *residuals, *linear, callee=callee, num_callee_consts=len(outer), num_res=n,
        transpose_thunk=transpose_thunk,
    )  # fmt: skip
    return pytrees.tree_unflatten(out_tree, outs)


# --- small helpers of rules -----------------------------------------------------------------------


def zero_from_primal(val: T, symbolic_zeros: bool = False) -> T:
    """Returns the zero cotangent, an array or a symbolic zero, of each leaf of a pytree."""

    def zero(x: ArrayLike) -> Value | Zero:
        aval = get_aval(x).to_cotangent_aval()
        return SymbolicZero(aval) if symbolic_zeros else Zero(aval).instantiate()

    return pytrees.tree_map(zero, val)


def custom_vjp_primal_tree_values(tree: PyTree) -> PyTree:
    """Replaces each `CustomVJPPrimal` in a pytree by its value."""
    from jitney.api.autodiff.custom_vjp import CustomVJPPrimal

    def value(leaf: PyTree) -> object:
        if not isinstance(leaf, CustomVJPPrimal):
            raise TypeError(f"unexpected leaf of type {type(leaf)}: not a CustomVJPPrimal")
        return leaf.value

    return pytrees.tree_map(value, tree, is_leaf=lambda x: isinstance(x, CustomVJPPrimal))
