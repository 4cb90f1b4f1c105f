"""Calls of programs with user-defined derivatives: `custom_jvp_call`, `custom_vjp_call`.

Evaluation and lowering use the program itself; differentiation calls the rules, which are
parameters of the equation. The rules are flat: they map sequences of values to sequences of values.
`api.custom_jvp` and `api.custom_vjp` build them from users' functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jitney.core.program import text
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr, JaxprEqn
from jitney.core.pytree import pytrees
from jitney.core.sharding_in_types import varying
from jitney.core.source import source_info
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.primitives import calculus, rules
from jitney.primitives.call.inlined import calls_program
from jitney.runtime.execution.eager import owned
from jitney.transforms.accumulators import ValAccum
from jitney.transforms.batch import AxisData, BatchTrace, batch_flat, batch_jaxpr, move_to
from jitney.transforms.jet import jet_flat
from jitney.transforms.jvp import jvp_flat
from jitney.transforms.logs import flat_log
from jitney.transforms.partial import dce_closed
from jitney.transforms.transpose import accumulator_of, logged_backward_pass
from jitney.transforms.zero import SymbolicZero, Zero, instantiate

if TYPE_CHECKING:
    from typing import NoReturn

    from jitney.core.tracing.trace import TraceTag
    from jitney.core.types.avals import AbstractValue
    from jitney.primitives.rule_types import (
        BatchDim,
        Cotangent,
        Dims,
        Operand,
        Param,
        Primals,
        Tangent,
        Tangents,
        Value,
    )
    from jitney.transforms import jet
    from jitney.transforms.accumulators import GradAccum
    from jitney.transforms.logs import Log

T = TypeVar("T")


class FlatRule:
    """A rule on flat values; its repr is the name of the user's function."""

    def __init__(self, call: Callable[..., Any], name: str) -> None:
        self.call = call
        self.__name__ = name

    def __call__(self, *args: Sequence[Any]) -> Any:
        return self.call(*args)

    def __repr__(self) -> str:
        return self.__name__


# --- custom_jvp ---------------------------------------------------------------------------------

custom_jvp_call_p = declare("custom_jvp_call", multiple_results=True)
calls_program(custom_jvp_call_p, "call_jaxpr")


def with_axis(zero: Zero, size: int) -> Zero:
    """Returns a symbolic zero with an extra leading axis."""
    aval: Any = zero.aval
    return type(zero)(aval.update(shape=(size, *aval.shape)))


def without_axis(zero: Zero) -> Zero:
    """Returns a symbolic zero without its leading axis."""
    aval: Any = zero.aval
    return type(zero)(aval.update(shape=aval.shape[1:]))


def visible_tangent(tangent: Tangent, symbolic: bool) -> Tangent:
    """Returns a tangent for a user's rule; a zero is dense, or a `SymbolicZero` if `symbolic`."""
    if not isinstance(tangent, Zero):
        return tangent
    return SymbolicZero(tangent.aval) if symbolic else tangent.instantiate()


@custom_jvp_call_p.jvp
def _custom_jvp_call_jvp(
    primals: Primals,
    tangents: Tangents,
    *,
    name: str,
    call_jaxpr: ClosedJaxpr,
    jvp: FlatRule,
    num_consts: int,
    symbolic_zeros: bool,
) -> tuple[Sequence[Value], Sequence[Tangent]]:
    rule_tangents = [visible_tangent(t, symbolic_zeros) for t in tangents]
    outs, douts = jvp([*map(with_shape, primals[num_consts:])], rule_tangents[num_consts:])
    _check_value("JVP rule", jvp, name, outs, call_jaxpr)
    return outs, douts


def with_shape(x: Value) -> Value:
    """Returns an operand for a user's rule, in which a Python scalar becomes an array."""
    return owned(x) if type(x) in (int, float, complex) else x


def _check_value(
    kind: str, rule: FlatRule, name: str, outs: Sequence[Any], program: ClosedJaxpr
) -> None:
    """Raises TypeError unless a rule's results have the shapes and dtypes of the function's."""
    avals: list[Any] = [*map(get_aval, outs)]
    wanted: list[Any] = program.out_avals
    if [(a.shape, a.dtype) for a in avals] == [(a.shape, a.dtype) for a in wanted]:
        return
    has, should = (
        ", ".join(a.str_short() for a in types) or "nothing" for types in (avals, wanted)
    )
    raise TypeError(
        f"{kind} {rule} of the function {name} must return a pair whose first element is the "
        f"value of the function, of type {should}, but it is of type {has}"
    )


@custom_jvp_call_p.dce
def _custom_jvp_call_dce(used: list[bool], eqn: JaxprEqn) -> JaxprEqn:
    """Drops unused results; keeps all operands, since the rule takes them."""
    program, _ = dce_closed(eqn.params["call_jaxpr"], tuple(used), True)
    rule: FlatRule = eqn.params["jvp"]

    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Value], list[Tangent]]:
        outs, douts = rule(primals, tangents)
        return _used(outs, used), _used(douts, used)

    changed = {"call_jaxpr": program, "jvp": FlatRule(jvp, rule.__name__)}
    return eqn.replace(params={**eqn.params, **changed}, outvars=_used(eqn.outvars, used))


def _used(values: Sequence[T], used: Sequence[bool]) -> list[T]:
    return [x for x, u in zip(values, used, strict=True) if u]


@custom_jvp_call_p.logged_transpose
def _custom_jvp_call_transpose(
    cts: Sequence[Cotangent], *args: Operand, call_jaxpr: ClosedJaxpr, **_: Any
) -> tuple[Sequence[Cotangent | None], Log]:
    """Transposes the operations of the program, for functions that are linear."""
    return logged_backward_pass(call_jaxpr.jaxpr, call_jaxpr.consts, args, cts)


def _batched_program(
    program: ClosedJaxpr, axis_data: AxisData, batched: tuple[bool, ...]
) -> tuple[ClosedJaxpr, bool]:
    """Batches a program; also returns whether its results are batched (all or none)."""
    some = any(batched) or any(batch_jaxpr(program, axis_data, batched, False)[1])
    return batch_jaxpr(program, axis_data, batched, some)[0], some


def _result(
    x: Tangent, dim: int | None, mapped: bool, axis_data: AxisData, rule: FlatRule
) -> Tangent:
    """Returns a result of a rule, with the batch axis in front if `mapped`.

    Raises:
      ValueError: if the rule's result is batched although the function's result is not.
    """
    if isinstance(x, Zero):
        return with_axis(x, axis_data.size) if mapped else x
    if not mapped and dim is not None:
        raise ValueError(
            f"the result of the rule {rule} depends on the index of a vmap, but the result of the "
            "function does not"
        )
    return move_to(x, dim, 0, axis_data.size, axis_data.along) if mapped else x


@custom_jvp_call_p.batch_with_trace
def _custom_jvp_call_batch_with_trace(
    trace: BatchTrace,
    args: Sequence[Value],
    dims: Dims,
    *,
    call_jaxpr: ClosedJaxpr,
    jvp: FlatRule,
    num_consts: int,
    **params: object,
) -> tuple[Sequence[Value], Sequence[BatchDim]]:
    axis_data, tag = trace.axis_data, trace.tag
    batched = tuple(d is not None for d in dims)
    program, mapped = _batched_program(call_jaxpr, axis_data, batched)
    moved = [x if d is None else rules.move_axis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    in_dims = [0 if b else None for b in batched[num_consts:]]

    def batched_jvp(
        primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Tangent], list[Tangent]]:
        n = len(primals)
        # Symbolic zeros stay symbolic, with the unbatched type.
        inner_tangents = [
            without_axis(t) if isinstance(t, Zero) and d is not None else t
            for t, d in zip(tangents, in_dims, strict=True)
        ]
        tangent_dims = [
            None if isinstance(t, Zero) else d for t, d in zip(inner_tangents, in_dims, strict=True)
        ]
        outs, out_dims = batch_flat(
            lambda *xs: [y for part in jvp(xs[:n], xs[n:]) for y in part],
            axis_data,
            [*primals, *inner_tangents],
            [*in_dims, *tangent_dims],
            tag,
        )
        whole = [_result(x, d, mapped, axis_data, jvp) for x, d in zip(outs, out_dims, strict=True)]
        half = len(whole) // 2
        return whole[:half], whole[half:]

    outs = custom_jvp_call_p.bind(
        *moved,
        call_jaxpr=program,
        jvp=FlatRule(batched_jvp, jvp.__name__),
        num_consts=num_consts,
        **params,
    )
    return outs, [0 if mapped else None] * len(outs)


custom_jvp_call_p.absent(
    "eager", why="evaluated whole, as a compiled program (runtime.eager), not on NumPy arrays"
)


def _print_custom_jvp(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    params = eqn.params
    shown = [
        ("name", params["name"]),
        ("call_jaxpr", params["call_jaxpr"]),
        ("jvp", params["jvp"]),
        ("symbolic_zeros", params["symbolic_zeros"]),
    ]
    return text.eqn_with_params(eqn, shown, context, settings)


text.printing_rules["custom_jvp_call"] = _print_custom_jvp

# --- custom_vjp ---------------------------------------------------------------------------------

custom_vjp_call_p = declare("custom_vjp_call", multiple_results=True)
calls_program(custom_vjp_call_p, "call_jaxpr")


@custom_vjp_call_p.jvp
def _custom_vjp_call_jvp(
    primals: Primals, tangents: Tangents, **params: Param
) -> tuple[Sequence[Value], Sequence[Tangent]]:
    return differentiate_custom_vjp(primals, tangents, **params)


@custom_vjp_call_p.jet
def _custom_vjp_call_jet(
    primals: Primals, series: Sequence[jet.Terms], *, call_jaxpr: ClosedJaxpr, **_: Any
) -> tuple[Sequence[Value], Sequence[jet.Terms]]:
    # The custom rule is for reverse mode only; the series is computed from the function's operations.
    return jet_flat(
        lambda *xs: eval_jaxpr(call_jaxpr.jaxpr, call_jaxpr.consts, *xs),
        primals,
        series,
        len(series[0]),
    )


def differentiate_custom_vjp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    fwd: FlatRule,
    bwd: FlatRule,
    num_consts: int,
    symbolic_zeros: bool,
    name: str = "",
    call_jaxpr: ClosedJaxpr | None = None,
    **_: Any,
) -> tuple[list[Value], list[Tangent]]:
    """Runs the forward rule, and binds `custom_lin`, whose transpose is the backward rule.

    Returns: (results, tangents).
    """
    perturbed = [not isinstance(t, Zero) for t in tangents[num_consts:]]
    outs, residuals = fwd(primals[num_consts:], perturbed)
    if call_jaxpr is not None:
        _check_value("VJP fwd rule", fwd, name, outs, call_jaxpr)
    instantiated = [instantiate(t) for t in tangents[num_consts:]]
    avals = tuple(get_aval(x).to_tangent_aval() for x in outs)
    douts = custom_lin_p.bind(
        *residuals, *instantiated, num_res=len(residuals), bwd=bwd, out_avals=avals,
        symbolic_zeros=symbolic_zeros,
    )  # fmt: skip
    # Integer results have no tangents; values of dtype float0 must not enter linear computations.
    return outs, [
        Zero(a) if getattr(a, "dtype", None) == dtypes.float0 else dx
        for dx, a in zip(douts, avals, strict=True)
    ]


@custom_vjp_call_p.dce
def _custom_vjp_call_dce(used: list[bool], eqn: JaxprEqn) -> JaxprEqn:
    """Drops unused results; keeps all operands, since the rules take them."""
    params = eqn.params
    whole: ClosedJaxpr = params["call_jaxpr"]
    program, _ = dce_closed(whole, tuple(used), True)
    fwd: FlatRule = params["fwd"]
    bwd: FlatRule = params["bwd"]

    def forward(*args: Sequence[Any]) -> tuple[list[Value], Sequence[Value]]:
        outs, residuals = fwd(*args)
        return _used(outs, used), residuals

    def backward(residuals: Sequence[Any], cts: Sequence[Any], accums: Sequence[GradAccum]) -> Log:
        used_cts = iter(cts)
        zeros: list[Any] = [Zero(a.to_cotangent_aval()) for a in whole.out_avals]
        if not params["symbolic_zeros"]:
            zeros = [zero.instantiate() for zero in zeros]
        all_cts = [next(used_cts) if u else z for z, u in zip(zeros, used, strict=True)]
        return bwd(residuals, all_cts, accums)

    changed = {
        "call_jaxpr": program,
        "fwd": FlatRule(forward, fwd.__name__),
        "bwd": FlatRule(backward, bwd.__name__),
    }
    return eqn.replace(params={**params, **changed}, outvars=_used(eqn.outvars, used))


@custom_vjp_call_p.batch_with_trace
def _custom_vjp_call_batch_with_trace(
    trace: BatchTrace,
    args: Sequence[Value],
    dims: Dims,
    *,
    call_jaxpr: ClosedJaxpr,
    fwd: FlatRule,
    bwd: FlatRule,
    num_consts: int,
    **params: object,
) -> tuple[Sequence[Value], Sequence[BatchDim]]:
    axis_data = trace.axis_data
    batched = tuple(d is not None for d in dims)
    program, mapped = _batched_program(call_jaxpr, axis_data, batched)
    moved = [x if d is None else rules.move_axis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    of_operands = [0 if b else None for b in batched[num_consts:]]
    both = _BatchedRules(fwd, bwd, axis_data, trace.tag, of_operands, mapped)
    outs = custom_vjp_call_p.bind(
        *moved,
        call_jaxpr=program,
        fwd=FlatRule(both.forward, fwd.__name__),
        bwd=FlatRule(both.backward, bwd.__name__),
        num_consts=num_consts,
        **params,
    )
    return outs, [0 if mapped else None] * len(outs)


class _BatchedRules:
    """Batched forward and backward rules of a custom_vjp function.

    Attributes:
      fwd, bwd: the unbatched rules.
      axis_data: the batch axis.
      tag: tag of the trace that batches the function.
      dims: batch dimension of each operand, or None if it is not batched.
      mapped: whether the results are batched; their batch axis is the leading axis.
      residual_dims: batch dimensions of the residuals, set by the forward rule.
    """

    def __init__(
        self,
        fwd: FlatRule,
        bwd: FlatRule,
        axis_data: AxisData,
        tag: TraceTag,
        dims: list[int | None],
        mapped: bool,
    ) -> None:
        self.fwd = fwd
        self.bwd = bwd
        self.axis_data = axis_data
        self.tag = tag
        self.dims = dims
        self.mapped = mapped
        self.residual_dims: list[int | None] = []

    def forward(
        self, primals: Sequence[Any], perturbed: Sequence[bool]
    ) -> tuple[Sequence[Tangent], Sequence[Value]]:
        counts: list[int] = []

        def flat(*xs: Value) -> list[Value]:
            outs, residuals = self.fwd(xs, perturbed)
            counts.append(len(outs))
            return [*outs, *residuals]

        values, out_dims = batch_flat(flat, self.axis_data, primals, self.dims, self.tag)
        n = counts[0]
        outs = [
            _result(x, d, self.mapped, self.axis_data, self.fwd)
            for x, d in zip(values[:n], out_dims[:n], strict=True)
        ]
        self.residual_dims[:] = out_dims[n:]
        return outs, values[n:]

    def backward(
        self, residuals: Sequence[Any], cts: Sequence[Any], accums: Sequence[GradAccum]
    ) -> Log:
        n, n_accums, mapped = len(residuals), len(accums), self.mapped
        log_tree: Any = None

        def flat(*xs: Value) -> list[Tangent]:
            nonlocal log_tree
            inner_accums = [
                ValAccum(without_axis(Zero(accum.aval)).aval if d is not None else accum.aval)
                for accum, d in zip(accums, self.dims, strict=True)
            ]
            entries, log_tree = flat_log(self.bwd(xs[:n], xs[n:], inner_accums))
            return [*(accum.freeze() for accum in inner_accums), *entries]

        inner_cts = [without_axis(ct) if isinstance(ct, Zero) and mapped else ct for ct in cts]
        ct_dims = [0 if mapped and not isinstance(ct, Zero) else None for ct in inner_cts]
        operands, dims = [*residuals, *inner_cts], [*self.residual_dims, *ct_dims]
        values, out_dims = batch_flat(flat, self.axis_data, operands, dims, self.tag)
        of_accums = zip(accums, values[:n_accums], out_dims[:n_accums], self.dims, strict=True)
        for accum, x, d, of_operand in of_accums:
            accum.accum(_gathered_cotangent(x, d, of_operand is not None, self.axis_data))
        entries = zip(values[n_accums:], out_dims[n_accums:], strict=True)
        size, along = self.axis_data.size, self.axis_data.along
        return pytrees.tree_unflatten(log_tree, [move_to(x, d, 0, size, along) for x, d in entries])


def _gathered_cotangent(
    ct: Cotangent, dim: int | None, mapped: bool, axis_data: AxisData
) -> Cotangent:
    """Returns the cotangent of an operand, with a leading batch axis if the operand is `mapped`."""
    if isinstance(ct, Zero):
        return with_axis(ct, axis_data.size) if mapped else ct
    if mapped:
        return move_to(ct, dim, 0, axis_data.size, axis_data.along)
    # An unbatched operand is used at all indices, so its cotangents are summed.
    return ct if dim is None else calculus.reduce_sum(ct, axes=(dim,))


custom_vjp_call_p.absent(
    "eager", why="evaluated whole, as a compiled program (runtime.eager), not on NumPy arrays"
)
custom_vjp_call_p.absent("transpose", why="its derivative is custom_lin, which is transposed")


def _print_custom_vjp(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    params = eqn.params
    shown = [
        (name, params[name]) for name in ("name", "bwd", "call_jaxpr", "fwd", "symbolic_zeros")
    ]
    return text.eqn_with_params(eqn, shown, context, settings)


text.printing_rules["custom_vjp_call"] = _print_custom_vjp

# --- remat_opt -----------------------------------------------------------------------------------

# The forward rule of a custom_vjp function in programs. If its residuals are not read, as in the
# known part of a checkpointed function, it is replaced by the function itself.
remat_opt_p = declare("remat_opt", multiple_results=True)
calls_program(remat_opt_p, "fwd_jaxpr")


@remat_opt_p.def_impl
def _remat_opt_def_impl(*args: Value, fwd_jaxpr: ClosedJaxpr, **_: Any) -> list[Value]:
    return eval_jaxpr(fwd_jaxpr.jaxpr, fwd_jaxpr.consts, *args)


@remat_opt_p.jvp
def _remat_opt_jvp(
    primals: Primals, tangents: Tangents, *, fwd_jaxpr: ClosedJaxpr, **_: Any
) -> tuple[Sequence[Value], Sequence[Tangent]]:
    return jvp_flat(
        lambda *xs: eval_jaxpr(fwd_jaxpr.jaxpr, fwd_jaxpr.consts, *xs), primals, tangents
    )


@remat_opt_p.batch_with_axis
def _remat_opt_batch_with_axis(
    axis_data: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    fwd_jaxpr: ClosedJaxpr,
    fun_jaxpr: ClosedJaxpr,
    num_res: int,
) -> tuple[Sequence[Value], Sequence[BatchDim]]:
    batched = tuple(d is not None for d in dims)
    moved = [x if d is None else rules.move_axis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    outs = remat_opt_p.bind(
        *moved,
        fwd_jaxpr=batch_jaxpr(fwd_jaxpr, axis_data, batched, True)[0],
        fun_jaxpr=batch_jaxpr(fun_jaxpr, axis_data, batched, True)[0],
        num_res=num_res,
    )
    return outs, [0] * len(outs)


@remat_opt_p.dce
def _remat_opt_dce(used: list[bool], eqn: JaxprEqn) -> JaxprEqn:
    fun_jaxpr, num_res = eqn.params["fun_jaxpr"], eqn.params["num_res"]
    n = len(used) - num_res
    if not num_res or any(used[n:]):
        return eqn
    params = {"fwd_jaxpr": fun_jaxpr, "fun_jaxpr": fun_jaxpr, "num_res": 0}
    return eqn.replace(params=params, outvars=eqn.outvars[:n])


remat_opt_p.absent("eager", why="evaluated equation by equation")
remat_opt_p.absent("transpose", why="a forward function is not linear")

# --- custom_lin -----------------------------------------------------------------------------------

# The derivative of a custom_vjp function, a linear operation of which only the transpose is defined.
custom_lin_p = declare("custom_lin", multiple_results=True)
custom_lin_p.passes_refs = True
custom_lin_p.varying(varying.as_declared)
custom_lin_p.declares_sharding = True


@custom_lin_p.abstract
def _custom_lin_abstract(
    *avals: AbstractValue, out_avals: Sequence[AbstractValue], **_: Any
) -> list[AbstractValue]:
    return list(out_avals)


@custom_lin_p.logged_transpose
def _custom_lin_transpose(
    cts: Sequence[Cotangent],
    *args: Operand,
    num_res: int,
    bwd: FlatRule,
    out_avals: Sequence[AbstractValue],
    symbolic_zeros: bool,
) -> tuple[Sequence[Cotangent | None], Log]:
    residuals = [*map(_flag, args[:num_res])]
    pairs = [accumulator_of(x) for x in args[num_res:]]
    accums = [accum for accum, _ in pairs]
    with source_info.code_of_users():
        log = bwd(residuals, [visible_tangent(ct, symbolic_zeros) for ct in cts], accums)
    return [None] * num_res + [a.freeze() if returned else None for a, returned in pairs], log


def _flag(x: Operand) -> Operand:
    """Converts boolean scalar residuals back to Python bools; programs hold them as literals."""
    if isinstance(x, np.ndarray) and not x.shape and x.dtype == np.bool_:
        return bool(x)
    return x


_FORWARD = (
    "jvp of a custom_vjp function: its rules define reverse mode only, but jvp, jacfwd and "
    "hessian use forward mode. Define a custom_jvp rule, which works for both modes."
)


def _no_forward_mode(*_: Any, **__: Any) -> NoReturn:
    raise TypeError(_FORWARD)


custom_lin_p.def_impl(_no_forward_mode)
custom_lin_p.lower(_no_forward_mode)
custom_lin_p.absent("eager", why="a custom_vjp function has no forward derivative")
custom_lin_p.absent("jvp", why="a custom_vjp function has no forward derivative")
custom_lin_p.batch(_no_forward_mode)
