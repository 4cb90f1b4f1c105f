"""Derivatives: `jvp`, `linearize`, `vjp`, `grad`, `value_and_grad`, `linear_transpose`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from jitney.api.jit_call import fun_name
from jitney.core import dtypes, source_info
from jitney.core.avals import ShapedArray, get_aval, is_valid_operand
from jitney.core.errors import api_boundary
from jitney.core.evaluate import eval_jaxpr
from jitney.core.jaxpr import DebugInfo, Jaxpr
from jitney.core.jaxpr_trace import trace_to_jaxpr
from jitney.core.pytree import pytrees
from jitney.core.pytree.errors import equality_errors_pytreedef
from jitney.core.shape_dtype import abstractify
from jitney.core.trace import Tracer, state
from jitney.primitives.elementwise.convert import as_value
from jitney.transforms.jvp import JVPTrace, jvp_flat
from jitney.transforms.linearize import Linear, linearize_flat
from jitney.transforms.transpose import UndefinedPrimal, backward_pass
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from jitney.core.avals import AbstractValue
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import ArrayLike, AxisName, PyTree

P = ParamSpec("P")
R = TypeVar("R")


class FlatFunction:
    """A function of pytrees as one of flat values; remembers the structure of its result.

    Attributes:
      out_tree: structure of the result of the last call.
      aux: what the function returned besides, with `has_aux`.
    """

    def __init__(self, fun: Callable[..., Any], in_tree: PyTreeDef, has_aux: bool = False) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.has_aux = has_aux
        self.out_tree: Any = None
        self.aux: Any = None

    def __call__(self, *leaves: ArrayLike) -> list[Any]:
        out = self.fun(*pytrees.tree_unflatten(self.in_tree, leaves))
        if self.has_aux:
            if not isinstance(out, list | tuple) or len(out) != 2:
                raise TypeError(
                    "expected function with aux output to return a two-element tuple, but got type "
                    f"{type(out)} with value {out!r}"
                )
            out, aux = out
            self.aux = pytrees.tree_map(_value_below, aux)
        leaves_out, self.out_tree = pytrees.tree_flatten(out)
        for x in leaves_out:
            if not is_valid_operand(x):
                raise TypeError(
                    f"function {fun_name(self.fun)} returned a value of type {type(x)}, which is not "
                    "a valid JAX type and cannot be differentiated"
                )
        return leaves_out


def debug_info(fun: Callable[..., Any], traced_for: str) -> DebugInfo:
    """Where `fun` comes from, for messages."""
    return DebugInfo(traced_for, source_info.fun_sourceinfo(fun))


def check_callable(fun: object) -> None:
    """Raises TypeError unless `fun` can be called."""
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")


def _value_below(x: PyTree) -> Any:
    """A value that is returned aside, without its derivative: what the current trace's parent knows."""
    trace = state.trace
    return trace.to_pair(x)[0] if isinstance(x, Tracer) and isinstance(trace, JVPTrace) else x


def _values(leaves: Sequence[Any]) -> list[Any]:
    return [x if not isinstance(x, np.ndarray | np.generic) else as_value(x) for x in leaves]


# --- forward ------------------------------------------------------------------------------------


@api_boundary
def jvp(
    fun: Callable[..., PyTree],
    primals: Sequence[PyTree],
    tangents: Sequence[PyTree],
    has_aux: bool = False,
) -> tuple[PyTree, ...]:
    """Value and directional derivative of `fun`.

    Args:
      fun: takes and returns pytrees of arrays.
      primals: where: a tuple or list of its arguments.
      tangents: in which direction: of the same structure, shapes and tangent dtypes.
      has_aux: whether `fun` returns a pair of which the second part is not differentiated.

    Returns: (value, derivative), and what is not differentiated with `has_aux`.

    Raises:
      TypeError: if structures or dtypes of primals and tangents differ.
      ValueError: if their shapes do.

    Example:
      >>> jax.jvp(lambda x: x**3, (2.0,), (1.0,))
      (Array(8., dtype=float32, weak_type=True), Array(12., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    if not isinstance(primals, list | tuple) or not isinstance(tangents, list | tuple):
        raise TypeError(
            "primal and tangent arguments to jax.jvp must be tuples or lists; found "
            f"{type(primals).__name__} and {type(tangents).__name__}."
        )
    leaves, tree = pytrees.tree_flatten(tuple(primals))
    dleaves, dtree = pytrees.tree_flatten(tuple(tangents))
    if tree != dtree:
        raise TypeError(
            "primal and tangent arguments to jax.jvp must have the same tree structure; primals have "
            f"tree structure {tree} whereas tangents have tree structure {dtree}."
        )
    given = [_checked_tangent(p, t) for p, t in zip(leaves, dleaves, strict=True)]
    flat = FlatFunction(fun, tree, has_aux)
    outs, douts = jvp_flat(flat, _values(leaves), given)
    value = pytrees.tree_unflatten(flat.out_tree, outs)
    derivative = pytrees.tree_unflatten(flat.out_tree, [_instantiated(t) for t in douts])
    return (value, derivative, flat.aux) if has_aux else (value, derivative)


def _instantiated(t: PyTree) -> Any:
    t = instantiate(t)
    return t if dtypes.dtype(t) == dtypes.float0 else as_value(t)


def _checked_tangent(primal: ArrayLike, tangent: PyTree) -> Any:
    wanted: Any = get_aval(primal).to_tangent_aval()
    if getattr(tangent, "dtype", None) == dtypes.float0:
        return Zero(wanted)
    got: Any = get_aval(tangent)
    if got.dtype != wanted.dtype:
        raise TypeError(
            "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in case of "
            "int/bool primal dtype the tangent dtype must be float0. Got primal dtype "
            f"{dtypes.long_name(get_aval(primal).dtype)} and so expected tangent dtype "
            f"{dtypes.long_name(wanted.dtype)}, but got tangent dtype {dtypes.long_name(got.dtype)} "
            "instead."
        )
    if got.shape != wanted.shape:
        raise ValueError(
            "jvp called with different primal and tangent shapes; Got primal shape "
            f"{wanted.shape} and tangent shape as {got.shape}"
        )
    return tangent if not isinstance(tangent, np.ndarray | np.generic) else as_value(tangent)


@api_boundary
def linearize(
    fun: Callable[..., PyTree], *primals: PyTree, has_aux: bool = False
) -> tuple[PyTree, ...]:
    """Value of `fun` at `primals`, and its derivative there as a function of tangents.

    The derivative can be called many times; nothing of `fun` is computed again. It is a pytree, whose
    leaves are the values that it needs: it can be passed to other functions, and returned by them.

    Args:
      fun: takes and returns pytrees of arrays.
      *primals: its arguments.
      has_aux: whether `fun` returns a pair of which the second part is not differentiated.

    Returns: (value, derivative), and what is not differentiated with `has_aux`. The derivative takes
      as many tangents as there are arguments.

    Example:
      >>> y, slope = jax.linearize(lambda x: x**3, 2.0)
      >>> slope(1.0), slope(10.0)
      (Array(12., dtype=float32, weak_type=True), Array(120., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    leaves, tree = pytrees.tree_flatten(primals)
    flat = FlatFunction(fun, tree, has_aux)
    outs, linear = linearize_flat(flat, _values(leaves), debug_info(fun, "linearize"))
    out_tree = flat.out_tree
    avals = [get_aval(x) for x in leaves]

    @api_boundary
    def fun_lin(jaxpr: Jaxpr, consts: Sequence[Any], *tangents: Any) -> Any:
        given, dtree = pytrees.tree_flatten(tangents)
        if dtree != tree:
            raise TypeError(
                "linearized function called on tangent values of another structure than the primal "
                f"values: expected {tree}, got {dtree}"
            )
        for aval, t in zip(avals, given, strict=True):
            wanted: Any = aval.to_tangent_aval()
            got: Any = get_aval(t)
            if got.shape != wanted.shape or got.dtype != wanted.dtype:
                raise ValueError(
                    "linearized function called on tangent values inconsistent with the original "
                    f"primal values. Got tangent aval {got} for primal aval {aval}"
                )
        return pytrees.tree_unflatten(out_tree, apply_linear(linear, consts, given))

    value = pytrees.tree_unflatten(out_tree, outs)
    consts, linear = linear.consts, linear.without_consts()
    partial = pytrees.Partial(functools.partial(fun_lin, linear.jaxpr), consts)
    return (value, partial, flat.aux) if has_aux else (value, partial)


def apply_linear(linear: Linear, consts: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """The derivative, with the values `consts` of its residuals, applied to flat tangents."""
    given = [t for t, nz in zip(tangents, linear.nonzero_in, strict=True) if nz]
    outs = iter(eval_jaxpr(linear.jaxpr, consts, *given))
    return [
        as_value(next(outs)) if nz else _instantiated(Zero(a))
        for nz, a in zip(linear.nonzero_out, linear.out_avals, strict=True)
    ]


# --- reverse ------------------------------------------------------------------------------------


def pull_back(linear: Linear, consts: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """Cotangents of the arguments for flat cotangents of the results; `Zero` where there is none.

    `consts` are the values of the derivative's residuals.
    """
    given = [ct for ct, nz in zip(cts, linear.nonzero_out, strict=True) if nz]
    operands = [UndefinedPrimal(v.aval) for v in linear.jaxpr.invars]
    found = iter(backward_pass(linear.jaxpr, consts, operands, given))
    return [next(found) if nz else None for nz in linear.nonzero_in]


@api_boundary
def vjp(
    fun: Callable[..., PyTree],
    *primals: PyTree,
    has_aux: bool = False,
    reduce_axes: Sequence[AxisName] = (),
) -> tuple[PyTree, ...]:
    """Value of `fun` at `primals`, and the function from cotangents of it to cotangents of `primals`.

    Args:
      fun: takes and returns pytrees of arrays.
      *primals: its arguments.
      has_aux: whether `fun` returns a pair of which the second part is not differentiated.
      reduce_axes: must be empty; JAX has given it up.

    Returns: (value, pullback), and what is not differentiated with `has_aux`. The pullback takes a
      cotangent of the structure of the value and returns a tuple, one entry per argument. It is a
      pytree, whose leaves are the values that it needs.

    Raises:
      TypeError: if an argument is no pytree of arrays.

    Example:
      >>> y, pullback = jax.vjp(lambda a, b: a * b, 3.0, 4.0)
      >>> pullback(1.0)
      (Array(4., dtype=float32, weak_type=True), Array(3., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    _refuse_reduce_axes("vjp", reduce_axes)
    leaves, tree = pytrees.tree_flatten(primals)
    _check_operands(leaves, "vjp")
    flat = FlatFunction(fun, tree, has_aux)
    outs, linear = linearize_flat(flat, _values(leaves), debug_info(fun, "vjp"))
    out_tree = flat.out_tree
    out_avals = [get_aval(x) for x in outs]
    in_avals = [get_aval(x) for x in leaves]

    @api_boundary
    def pullback(consts: Sequence[Any], ct: PyTree) -> Any:
        cts, ct_tree = pytrees.tree_flatten(ct)
        if ct_tree != out_tree:
            where = debug_info(fun, "vjp").func_src_info
            differences = equality_errors_pytreedef(out_tree, ct_tree)
            raise ValueError(
                f"unexpected tree structure: the argument to the VJP function of {where} must be of "
                f"the structure of its result, {out_tree}, but is of {ct_tree}"
                + "".join(
                    f"\n  * {'out' + pytrees.keystr(path)} was a {before}, now {after}: {reason}"
                    for path, before, after, reason in differences
                )
            )
        given = [_checked_cotangent(c, a, fun) for c, a in zip(cts, out_avals, strict=True)]
        found = pull_back(linear, consts, given)
        result = [_cotangent(ct, aval) for ct, aval in zip(found, in_avals, strict=True)]
        return pytrees.tree_unflatten(tree, result)

    value = pytrees.tree_unflatten(out_tree, outs)
    consts, linear = linear.consts, linear.without_consts()
    partial = pytrees.Partial(pullback, consts)
    return (value, partial, flat.aux) if has_aux else (value, partial)


def _check_operands(leaves: Sequence[Any], name: str) -> None:
    for x in leaves:
        if not is_valid_operand(x):
            raise TypeError(
                f"Argument '{x}' of type {type(x)} is not a valid JAX type, and {name} cannot "
                "differentiate with respect to it"
            )


def _cotangent(ct: PyTree, aval: AbstractValue) -> Any:
    """A cotangent as users get it: zeros of the argument's cotangent type where there is none."""
    wanted = aval.to_cotangent_aval()
    if ct is None or isinstance(ct, Zero):
        return _instantiated(Zero(wanted))
    return as_value(ct)


def _checked_cotangent(ct: PyTree, aval: AbstractValue, fun: Callable[..., Any]) -> Any:
    wanted: Any = aval.to_cotangent_aval()
    if wanted.dtype == dtypes.float0:
        return Zero(wanted)
    got: Any = get_aval(ct)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        raise ValueError(
            "unexpected JAX type (e.g. shape/dtype) for argument to vjp function: got "
            f"{got.str_short()}, but expected {wanted.str_short()} because the corresponding output "
            f"of the differentiated function {fun_name(fun)} had JAX type {aval.str_short()}"
        )
    return ct if not isinstance(ct, np.ndarray | np.generic) else as_value(ct)


def _check_scalar(out: PyTree, holomorphic: bool, name: str) -> None:
    try:
        aval: Any = get_aval(out)
    except TypeError:
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output was {out}."
        ) from None
    if aval.shape != ():
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output had shape: {aval.shape}."
        )
    check_output_dtype(name, holomorphic, out)


def check_output_dtype(name: str, holomorphic: bool, out: PyTree) -> None:
    """Raises TypeError if `name` cannot differentiate a result like `out`."""
    aval: Any = get_aval(out)
    kind = np.complexfloating if holomorphic else np.floating
    if dtypes.issubdtype(aval.dtype, kind):
        return
    got = dtypes.long_name(aval.dtype)
    if holomorphic:
        raise TypeError(
            f"{name} with holomorphic=True requires outputs with a dtype that is a sub-dtype of "
            f"np.complexfloating, but got {got}."
        )
    advice = (
        "For holomorphic differentiation, pass holomorphic=True. For differentiation of "
        "non-holomorphic functions involving complex outputs, use jax.vjp directly."
        if dtypes.issubdtype(aval.dtype, np.complexfloating)
        else "For differentiation of functions with integer outputs, use jax.vjp directly."
    )
    raise TypeError(
        f"{name} requires real-valued outputs (output dtype that is a sub-dtype of np.floating), "
        f"but got {got}. {advice}"
    )


def check_input_dtype(name: str, holomorphic: bool, allow_int: bool, x: PyTree) -> None:
    """Raises TypeError if `name` cannot differentiate with respect to `x`."""
    aval: Any = get_aval(x)
    if dtypes.is_extended(aval.dtype):
        raise TypeError(f"{name} requires numeric inputs, but got {aval.str_short()}.")
    if holomorphic:
        if not dtypes.issubdtype(aval.dtype, np.complexfloating):
            raise TypeError(
                f"{name} with holomorphic=True requires inputs with complex dtype, but got "
                f"{dtypes.long_name(aval.dtype)}."
            )
        return
    if not dtypes.issubdtype(aval.dtype, np.inexact) and not allow_int:
        raise TypeError(
            f"{name} requires real- or complex-valued inputs (input dtype that is a sub-dtype of "
            f"np.inexact), but got {dtypes.long_name(aval.dtype)}. If you want to use Boolean- or "
            "integer-valued inputs, use vjp or set allow_int to True."
        )


def checked_argnums(argnums: int | Sequence[int]) -> int | tuple[int, ...]:
    """`argnums` as an int or a tuple of ints.

    Raises:
      TypeError: if it is neither an integer nor a sequence of integers.
    """
    given: Any = argnums
    if hasattr(given, "__index__"):
        return operator.index(given)
    return tuple(operator.index(n) for n in given)


def argnums_partial(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """(function of the arguments at `argnums` alone, those arguments).

    Raises:
      TypeError: if there are not so many positional arguments.
      ValueError: if a negative position lies before the first argument, or one is named twice.
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    low = min(numbers, default=0)
    if -low > len(args):
        raise ValueError(
            f"argnums: positions must be in [{-len(args)}, {len(args)}) for {len(args)} positional "
            f"arguments, but got {low}"
        )
    least = max([n + 1 for n in numbers], default=0)
    if len(args) < least:
        raise TypeError(
            f"differentiating with respect to {argnums=} requires at least {least} positional "
            f"arguments to be passed by the caller, but got only {len(args)} positional arguments."
        )
    places = [n % len(args) for n in numbers]
    if len(set(places)) < len(places):
        raise ValueError(f"argnums: each argument may be named once, but got {argnums}")

    def partial(*chosen: PyTree) -> Any:
        merged = list(args)
        for place, x in zip(places, chosen, strict=True):
            merged[place] = x
        return fun(*merged, **kwargs)

    functools.update_wrapper(partial, fun, updated=())
    return partial, tuple(args[p] for p in places)


def value_and_grad(
    fun: Callable[P, R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[AxisName] = (),
) -> Callable[P, tuple[R, PyTree]]:
    """A function that computes `fun` and its gradient.

    Args:
      fun: takes pytrees of arrays, returns a scalar (a pair with `has_aux`).
      argnums: which positional arguments to differentiate with respect to: one, or several.
      has_aux: whether `fun` returns (scalar, more).
      holomorphic: whether `fun` is holomorphic: inputs and output are complex.
      allow_int: whether inputs may be integers; their gradients are float0.
      reduce_axes: must be empty; JAX has given it up.

    Returns: a function of `fun`'s arguments that returns (value, gradient), or ((value, more),
      gradient); the gradient has the structure of the arguments at `argnums`.

    Raises:
      TypeError: if `fun` is not callable; when the function is called, if the result is no real scalar,
        or an argument is of an integer dtype.

    Example:
      >>> loss = lambda w, x: jnp.sum(w * x) ** 2
      >>> jax.value_and_grad(loss)(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]))
      (Array(121., dtype=float32), Array([66., 88.], dtype=float32))
    """
    check_callable(fun)
    _refuse_reduce_axes("grad", reduce_axes)
    argnums = checked_argnums(argnums)
    name = "value_and_grad"

    @functools.wraps(fun, updated=())
    @api_boundary
    def value_and_grad_f(*args: PyTree, **kwargs: PyTree) -> Any:
        return _value_and_grad(name, fun, argnums, has_aux, holomorphic, allow_int, args, kwargs)

    return value_and_grad_f


def _refuse_reduce_axes(name: str, reduce_axes: Sequence[AxisName]) -> None:
    if tuple(reduce_axes):
        raise NotImplementedError(
            f"{name}: the argument reduce_axes is deprecated, and must be empty"
        )


def _value_and_grad(
    name: str,
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    args: Sequence[PyTree],
    kwargs: dict[str, PyTree],
) -> Any:
    partial, chosen = argnums_partial(fun, argnums, args, kwargs)
    leaves, tree = pytrees.tree_flatten(chosen)
    _check_operands(leaves, name)
    for x in leaves:
        check_input_dtype("grad", holomorphic, allow_int, x)
    flat = FlatFunction(partial, tree, has_aux)
    values = _values(leaves)
    outs, linear = linearize_flat(flat, values, debug_info(fun, name))
    value = pytrees.tree_unflatten(flat.out_tree, outs)
    _check_scalar(value, holomorphic, "grad")
    aval: Any = get_aval(outs[0])
    one = np.ones((), aval.dtype)
    ct = one.item() if aval.weak_type else one[()]
    found = pull_back(linear, linear.consts, [ct])
    gradients = [_cotangent(g, get_aval(x)) for g, x in zip(found, leaves, strict=True)]
    gradient = pytrees.tree_unflatten(tree, gradients)
    result = gradient[0] if isinstance(argnums, int) else gradient
    if has_aux:
        return (value, flat.aux), result
    return value, result


def grad(
    fun: Callable[P, PyTree],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[AxisName] = (),
) -> Callable[P, PyTree]:
    """A function that computes the gradient of `fun`.

    Args:
      fun: takes pytrees of arrays, returns a scalar (a pair with `has_aux`).
      argnums: which positional arguments to differentiate with respect to: one, or several.
      has_aux: whether `fun` returns (scalar, more).
      holomorphic: whether `fun` is holomorphic: inputs and output are complex.
      allow_int: whether inputs may be integers; their gradients are float0.
      reduce_axes: must be empty; JAX has given it up.

    Returns: a function of `fun`'s arguments that returns the gradient, or (gradient, more). It has the
      structure of the argument; it is a tuple if `argnums` is one.

    Raises:
      TypeError: as for `value_and_grad`.

    Example:
      >>> jax.grad(lambda x: x**3)(2.0)
      Array(12., dtype=float32, weak_type=True)
      >>> jax.grad(lambda x, y: x * y, argnums=(0, 1))(2.0, 5.0)
      (Array(5., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    _refuse_reduce_axes("grad", reduce_axes)
    argnums = checked_argnums(argnums)

    @functools.wraps(fun, updated=())
    @api_boundary
    def grad_f(*args: PyTree, **kwargs: PyTree) -> Any:
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
    """(forward, backward): values and residuals, and cotangents from residuals.

    Args:
      fun: takes and returns pytrees of arrays.
      argnums: which positional arguments to differentiate with respect to.
      has_aux: whether `fun` returns a pair of which the second part is not differentiated.
      jitted: accepted for compatibility.

    Returns: two functions: forward takes the arguments of `fun` and returns (value, residuals), with
      the rest between them if `has_aux`; backward takes residuals and a cotangent of the value.
    """

    def forward(*args: PyTree, **kwargs: PyTree) -> Any:
        partial, chosen = argnums_partial(fun, argnums, args, kwargs)
        out = vjp(partial, *chosen, has_aux=has_aux)
        return (out[0], out[2], out[1]) if has_aux else out

    def backward(residuals: Callable[..., PyTree], ct: PyTree) -> Any:
        out = residuals(ct)
        return out[0] if isinstance(argnums, int) else out

    return forward, backward


def linear_transpose(
    fun: Callable[..., PyTree], *primals: PyTree, reduce_axes: Sequence[AxisName] = ()
) -> Callable[..., PyTree]:
    """The transpose of `fun`, which is linear, as a function of cotangents.

    Args:
      fun: takes and returns pytrees of arrays.
      *primals: its arguments, or their types (`ShapeDtypeStruct`).
      reduce_axes: must be empty; JAX has given it up.

    Returns: a function of a cotangent of the result that returns a tuple of cotangents of arguments.

    Raises:
      TypeError: if arguments and results are neither all inexact nor all integers.

    Example:
      >>> transposed = jax.linear_transpose(lambda x: x[1:] - x[:-1], jnp.zeros(3))
      >>> transposed(jnp.array([1.0, 10.0]))
      (Array([-1., -9., 10.], dtype=float32),)
    """
    check_callable(fun)
    _refuse_reduce_axes("linear_transpose", reduce_axes)
    leaves, tree = pytrees.tree_flatten(primals)
    avals = [abstractify(x) for x in leaves]
    flat = FlatFunction(fun, tree)
    jaxpr, out_avals, consts = trace_to_jaxpr(flat, avals, debug_info(fun, "linear_transpose"))
    out_tree = flat.out_tree
    for kind in (np.inexact, np.integer):
        if all(dtypes.issubdtype(a.dtype, kind) for a in (*avals, *out_avals)):
            break
    else:
        raise TypeError(
            "linear_transpose only supports functions of inexact numbers that return such, or of "
            f"integers that return integers, got {[a.str_short() for a in avals]} -> "
            f"{[a.str_short() for a in out_avals]}"
        )

    @api_boundary
    def transposed(consts: Sequence[PyTree], ct: PyTree) -> Any:
        cts, ct_tree = pytrees.tree_flatten(ct)
        if ct_tree != out_tree:
            raise TypeError(
                f"cotangent tree does not match function output, expected {out_tree} "
                f"but got {ct_tree}"
            )
        for c, a in zip(cts, out_avals, strict=True):
            got: Any = get_aval(c)
            assert isinstance(a, ShapedArray)
            if got.shape != a.shape or got.dtype != a.dtype:
                raise TypeError(
                    "cotangent type does not match function output, expected "
                    f"{a.str_short()} but got {got.str_short()}"
                )
        operands = [UndefinedPrimal(a) for a in avals]
        found = backward_pass(jaxpr, consts, operands, cts)
        return pytrees.tree_unflatten(
            tree, [_cotangent(c, a) for c, a in zip(found, avals, strict=True)]
        )

    return pytrees.Partial(transposed, consts)
