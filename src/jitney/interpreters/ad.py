"""`jax.interpreters.ad`: differentiation rules of user-defined primitives.

Tangents and cotangents that are known to be zero are symbolic `Zero`s. A transposition rule
receives an `UndefinedPrimal` for each operand in which the operation is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.program.closed_programs import constants_as_operands
from jitney.core.program.jaxpr import DebugInfo, Var
from jitney.core.pytree import pytrees
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.source.source_info import fun_sourceinfo
from jitney.core.tracing.primitive import Primitive
from jitney.core.types.avals import AbstractValue, FlatValues, get_aval
from jitney.core.util.lazy import listing, refusing
from jitney.interpreters.tables import RuleTable, clear, set_rule
from jitney.primitives import rules
from jitney.primitives.elementwise.binary import add_any_p as add_jaxvals_p
from jitney.transforms import jvp as forward
from jitney.transforms.jvp import JVPTrace as JVPTrace, JVPTracer as JVPTracer, jvp_flat
from jitney.transforms.linearize import linearize_flat
from jitney.transforms.transpose import (
    UndefinedPrimal as UndefinedPrimal,
    is_undefined_primal as is_undefined_primal,
)
from jitney.transforms.zero import (
    Zero as Zero,
    add_tangents as add_tangents,
    instantiate as instantiate_zeros,
)

if TYPE_CHECKING:
    from jitney.core.array import Array
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.recording.linear_util import WrappedFun
    from jitney.core.typing import Value
    from jitney.transforms.zero import Tangent

__all__ = [
    "JVPTrace", "JVPTracer", "UndefinedPrimal", "Zero", "add_jaxvals", "add_jaxvals_p",
    "add_tangents", "defbilinear", "defjvp", "defjvp2", "deflinear", "deflinear2",
    "get_primitive_transpose", "instantiate_zeros", "is_undefined_primal", "jvp", "jvp_jaxpr",
    "linearize", "primitive_jvps", "primitive_transposes", "zeros_like_aval",
]  # fmt: skip

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)


def jvp_jaxpr(
    jaxpr: ClosedJaxpr, nonzeros: Sequence[bool], instantiate: bool | Sequence[bool]
) -> tuple[ClosedJaxpr, list[bool]]:
    """Returns the program that computes the results of `jaxpr` and their tangents.

    Args:
      jaxpr: a program.
      nonzeros: whether each argument has a nonzero tangent. Nonzero tangents follow the arguments.
      instantiate: whether the tangent of each result is returned even if it is zero.

    Returns: (program that maps arguments and nonzero tangents to results and tangents; flags of the
      results that have a tangent).
    """
    instantiated = instantiate if isinstance(instantiate, bool) else tuple(instantiate)
    closed, out_nonzeros = forward.jvp_jaxpr(jaxpr, tuple(nonzeros), instantiated)
    return closed, list(out_nonzeros)


primitive_jvps = RuleTable("jvp")
"""Maps a primitive to rule(primals, tangents, **params) -> (results, their tangents)."""

primitive_transposes = RuleTable("transpose")
"""Maps a primitive to rule(cotangents, *operands, **params) -> cotangents of the operands."""


def get_primitive_transpose(p: Primitive) -> Callable[..., Sequence[Tangent | None]]:
    """Returns the transposition rule of `p`.

    Raises:
      NotImplementedError: if the primitive has no such rule.
    """
    rule = p.rules.get("transpose")
    if rule is None:
        raise NotImplementedError(
            f"primitive '{p}' has no transpose rule, which reverse-mode differentiation requires"
        )
    return rule


def zeros_like_aval(aval: AbstractValue) -> Array:
    """Returns zeros of the type `aval`."""
    return Zero(aval).instantiate()


def add_jaxvals(x: Value, y: Value) -> Value:
    """Returns the sum of two values of the same type."""
    return add_jaxvals_p.bind(x, y)


def jvp(
    fun: WrappedFun | Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    instantiate: bool = True,
    transform_stack: bool = True,
) -> tuple[Sequence[Value], Sequence[Tangent]] | tuple[Sequence[Value], Sequence[Tangent], object]:
    """Computes the results of `fun` and their tangents.

    Args:
      fun: a function of flat values that returns a sequence of values; it can be wrapped by
        `linear_util.wrap_init`.
      primals: point at which to differentiate.
      tangents: direction; elements can be symbolic `Zero`s.
      has_aux: whether `fun` returns (results, auxiliary data).
      instantiate: whether to return zero tangents of results as arrays instead of `Zero`s.
      transform_stack: accepted for compatibility.

    Returns: (results, tangents), followed by the auxiliary data if `has_aux`.
    """
    call: Any = getattr(fun, "call_wrapped", fun)
    aside: list[Any] = []

    def flat(*xs: Value) -> Sequence[Value]:
        out = call(*xs)
        if has_aux:
            out, aux = out
            aside.append(aux)
        return out

    outs, douts = jvp_flat(flat, primals, tangents)
    if instantiate:
        douts = [instantiate_zeros(t) for t in douts]
    return (outs, douts, aside[0]) if has_aux else (outs, douts)


def linearize(
    traceable: Callable[..., Any],
    primals_ft: Sequence[Any] | FlatValues,
    has_aux: bool = False,
    is_vjp: bool = False,
    in_nzs: Sequence[bool] | None = None,
) -> tuple[Any, ...]:
    """Computes the results of a function, and its derivative as a linear program.

    Args:
      traceable: a function of pytrees of arrays; it can be wrapped by `linear_util.wrap_init`.
      primals_ft: arguments at which to differentiate: a sequence, or the leaves of a tuple together
        with their structure.
      has_aux: whether `traceable` returns (results, auxiliary data).
      is_vjp: accepted for compatibility; the program is the same.
      in_nzs: whether each leaf of the arguments has a nonzero tangent; by default, all leaves that
        can have one do.

    Returns: (results, with attributes `vals` and `tree`; whether the tangent of each result is
      zero; program that maps residuals, and tangents of all leaves, to the nonzero tangents of
      results; residuals; entries of logs, which are empty), followed by the auxiliary data if
      `has_aux`.

    Example:
      >>> from jax.interpreters import ad
      >>> outs, _, jaxpr, residuals, _ = ad.linearize(lambda x: x * x, (3.0,))
      >>> jax.core.eval_jaxpr(jaxpr, (), *residuals, 1.0)
      [Array(6., dtype=float32, weak_type=True)]
    """
    if isinstance(primals_ft, FlatValues):
        leaves, in_tree = list(primals_ft.vals), primals_ft.tree
    else:
        leaves, in_tree = pytrees.tree_flatten(tuple(primals_ft))
    call: Any = getattr(traceable, "call_wrapped", traceable)
    flat = FlatFunction(call, in_tree, has_aux=has_aux)
    info = getattr(traceable, "debug_info", None)
    info = info or DebugInfo("linearize", fun_sourceinfo(traceable))
    outs, linear = linearize_flat(flat, leaves, info, in_nzs)
    remaining = iter(linear.jaxpr.invars)
    tangents = [
        next(remaining) if nonzero else Var(get_aval(x).to_tangent_aval())
        for x, nonzero in zip(leaves, linear.nonzero_in, strict=True)
    ]
    info = linear.jaxpr.debug_info._replace(arg_names=None)
    jaxpr = constants_as_operands(linear.jaxpr.replace(invars=tangents, debug_info=info))
    zeros = [not nonzero for nonzero in linear.nonzero_out]
    found = FlatValues(tuple(outs), flat.out_tree), zeros, jaxpr, list(linear.consts), []
    return (*found, flat.aux) if has_aux else found


def defjvp(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Sets the JVP rule from one rule(tangent, *primals, **params) for each operand."""
    clear(primitive, "jvp")
    rules.defjvp(primitive, *jvprules)


def defjvp2(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Sets the JVP rule from one rule(tangent, result, *primals, **params) for each operand."""
    clear(primitive, "jvp")
    rules.defjvp2(primitive, *jvprules)


def deflinear(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Sets the JVP and transposition rules of an operation that is linear in all operands jointly.

    Args:
      primitive: the primitive.
      transpose_rule: function (cotangent, **params) -> operand cotangents.
    """
    deflinear2(primitive, lambda ct, *operands, **params: transpose_rule(ct, **params))


def deflinear2(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Sets the JVP and transposition rules of an operation that is linear in all operands jointly.

    Args:
      primitive: the primitive.
      transpose_rule: function (cotangent, *operands, **params) -> operand cotangents.
    """
    clear(primitive, "jvp")
    rules.def_jointly_linear_jvp(primitive)

    def transpose(
        ct: Any, *operands: Value | UndefinedPrimal, **params: object
    ) -> Sequence[Tangent | None]:
        if type(ct) is Zero:
            return [
                Zero(x.aval.to_cotangent_aval()) if is_undefined_primal(x) else None
                for x in operands
            ]
        return transpose_rule(ct, *operands, **params)

    set_rule(primitive, "transpose", transpose)


def defbilinear(
    prim: Primitive, lhs_rule: Callable[..., Any], rhs_rule: Callable[..., Any]
) -> None:
    """Sets the JVP and transposition rules of a bilinear operation on `x` and `y`.

    Args:
      prim: the primitive.
      lhs_rule: function (cotangent, x, y, **params) -> cotangent of `x`.
      rhs_rule: function (cotangent, x, y, **params) -> cotangent of `y`.
    """
    clear(prim, "jvp", "transpose")
    rules.defbilinear(prim, lhs_rule, rhs_rule)
