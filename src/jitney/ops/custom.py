"""Calls of programs that bring their own derivatives: `custom_jvp_call`, `custom_vjp_call`.

Evaluated and lowered they are their programs; the rules are parameters that differentiation calls. They
are flat: they take and return sequences of values (`api.custom_jvp` and `api.custom_vjp` make them of
users' functions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney.compiler import lower as lowering
from jitney.core import text
from jitney.core.avals import get_aval
from jitney.core.evaluate import eval_jaxpr
from jitney.core.jaxpr import ClosedJaxpr, JaxprEqn
from jitney.core.primitive import declare
from jitney.ops import rules
from jitney.transforms.batch import AxisData, batch_flat, batch_jaxpr, move_to
from jitney.transforms.jet import jet_flat
from jitney.transforms.transpose import UndefinedPrimal
from jitney.transforms.zero import SymbolicZero, Zero, instantiate


class FlatRule:
    """A rule on flat values; prints as the user's function does."""

    def __init__(self, call: Callable[..., Any], name: str) -> None:
        self.call = call
        self.__name__ = name

    def __call__(self, *args: Any) -> Any:
        return self.call(*args)

    def __repr__(self) -> str:
        return self.__name__


# --- custom_jvp ---------------------------------------------------------------------------------

custom_jvp_call_p = declare("custom_jvp_call", multiple_results=True)
custom_jvp_call_p.effectful = True


@custom_jvp_call_p.abstract
def _(*avals: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> Any:
    return call_jaxpr.out_avals, call_jaxpr.effects


@custom_jvp_call_p.lower
def _(b: Any, *nodes: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> Any:
    return lowering.inline(b, call_jaxpr, nodes)


def visible_tangent(tangent: Any, symbolic: bool) -> Any:
    """A tangent as users' rules see it."""
    if not isinstance(tangent, Zero):
        return tangent
    return SymbolicZero(tangent.aval) if symbolic else tangent.instantiate()


@custom_jvp_call_p.jvp
def _(
    primals: Any, tangents: Any, *, jvp: FlatRule, num_consts: int, symbolic_zeros: bool, **_: Any
) -> Any:
    given = [visible_tangent(t, symbolic_zeros) for t in tangents]
    return jvp(primals[num_consts:], given[num_consts:])


def _is_untouched(program: ClosedJaxpr, axis_data: AxisData, batched: tuple[bool, ...]) -> bool:
    """Whether neither operands nor results of a program have the axis."""
    return not any(batched) and not any(batch_jaxpr(program, axis_data, batched, False)[1])


@custom_jvp_call_p.batch_with_axis
def _(
    axis_data: AxisData,
    args: Any,
    dims: Any,
    *,
    call_jaxpr: ClosedJaxpr,
    jvp: FlatRule,
    num_consts: int,
    **params: Any,
) -> Any:
    batched = tuple(d is not None for d in dims)
    if _is_untouched(call_jaxpr, axis_data, batched):
        params |= {"call_jaxpr": call_jaxpr, "num_consts": num_consts, "jvp": jvp}
        return custom_jvp_call_p.bind(*args, **params), None
    program, out_batched = batch_jaxpr(call_jaxpr, axis_data, batched, True)
    moved = [x if d is None else rules.move_axis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    inner = batched[num_consts:]

    def batched_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        n = len(primals)
        in_dims = [0 if b else None for b in inner]
        outs, out_dims = batch_flat(
            lambda *xs: [y for part in jvp(xs[:n], xs[n:]) for y in part],
            axis_data,
            [*primals, *tangents],
            [*in_dims, *in_dims],
        )
        whole = [
            x if isinstance(x, Zero) else move_to(x, d, 0, axis_data.size)
            for x, d in zip(outs, out_dims, strict=True)
        ]
        half = len(whole) // 2
        return whole[:half], whole[half:]

    outs = custom_jvp_call_p.bind(
        *moved,
        call_jaxpr=program,
        jvp=FlatRule(batched_jvp, jvp.__name__),
        num_consts=num_consts,
        **params,
    )
    return outs, [0] * len(out_batched)


custom_jvp_call_p.absent(
    "eager", why="evaluated whole, as a compiled program (runtime.eager), not on NumPy arrays"
)
custom_jvp_call_p.absent("transpose", why="its derivative is the rule's, which is transposed")


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
custom_vjp_call_p.effectful = True


@custom_vjp_call_p.abstract
def _(*avals: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> Any:
    return call_jaxpr.out_avals, call_jaxpr.effects


@custom_vjp_call_p.lower
def _(b: Any, *nodes: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> Any:
    return lowering.inline(b, call_jaxpr, nodes)


@custom_vjp_call_p.jvp
def _(primals: Any, tangents: Any, **params: Any) -> Any:
    return differentiate_custom_vjp(primals, tangents, **params)


@custom_vjp_call_p.jet
def _(primals: Any, series: Any, *, call_jaxpr: ClosedJaxpr, **_: Any) -> Any:
    # The rule goes backwards only: the series is that of the function's operations.
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
    **_: Any,
) -> Any:
    """(results, tangents): the forward function now, the backward function as a linear operation."""
    perturbed = [not isinstance(t, Zero) for t in tangents[num_consts:]]
    outs, residuals = fwd(primals[num_consts:], perturbed)
    given = [instantiate(t) for t in tangents[num_consts:]]
    avals = tuple(get_aval(x).to_tangent_aval() for x in outs)
    douts = custom_lin_p.bind(
        *residuals, *given, num_res=len(residuals), bwd=bwd, out_avals=avals,
        symbolic_zeros=symbolic_zeros,
    )  # fmt: skip
    return outs, douts


@custom_vjp_call_p.batch_with_axis
def _(
    axis_data: AxisData,
    args: Any,
    dims: Any,
    *,
    call_jaxpr: ClosedJaxpr,
    fwd: FlatRule,
    bwd: FlatRule,
    num_consts: int,
    **params: Any,
) -> Any:
    batched = tuple(d is not None for d in dims)
    if _is_untouched(call_jaxpr, axis_data, batched):
        params |= {"call_jaxpr": call_jaxpr, "num_consts": num_consts, "fwd": fwd, "bwd": bwd}
        return custom_vjp_call_p.bind(*args, **params), None
    program, out_batched = batch_jaxpr(call_jaxpr, axis_data, batched, True)
    moved = [x if d is None else rules.move_axis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    inner = [0 if b else None for b in batched[num_consts:]]
    residual_dims: list[Any] = []

    def batched_fwd(primals: Sequence[Any], perturbed: Sequence[bool]) -> Any:
        counts: list[int] = []

        def flat(*xs: Any) -> list[Any]:
            outs, residuals = fwd(xs, perturbed)
            counts.append(len(outs))
            return [*outs, *residuals]

        values, out_dims = batch_flat(flat, axis_data, primals, inner)
        n = counts[0]
        outs = [
            move_to(x, d, 0, axis_data.size) for x, d in zip(values[:n], out_dims[:n], strict=True)
        ]
        residual_dims[:] = out_dims[n:]
        return outs, values[n:]

    def batched_bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> Any:
        n = len(residuals)
        values, out_dims = batch_flat(
            lambda *xs: bwd(xs[:n], xs[n:]),
            axis_data,
            [*residuals, *cts],
            [*residual_dims, *(None if isinstance(ct, Zero) else 0 for ct in cts)],
        )
        out: list[Any] = []
        for x, d, mapped in zip(values, out_dims, inner, strict=True):
            if isinstance(x, Zero):
                aval = x.aval
                shape = (axis_data.size, *aval.shape) if mapped is not None else aval.shape  # type: ignore[attr-defined]
                out.append(Zero(aval.update(shape=shape)))  # type: ignore[attr-defined]
            elif mapped is None and d is not None:
                # One operand for all indices: their cotangents are summed.
                out.append(rules.op("reduce_sum")(x, axes=(d,), out_sharding=None))
            elif mapped is None:
                out.append(x)
            else:
                out.append(move_to(x, d, 0, axis_data.size))
        return out

    outs = custom_vjp_call_p.bind(
        *moved,
        call_jaxpr=program,
        fwd=FlatRule(batched_fwd, fwd.__name__),
        bwd=FlatRule(batched_bwd, bwd.__name__),
        num_consts=num_consts,
        **params,
    )
    return outs, [0] * len(out_batched)


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

# --- custom_lin -----------------------------------------------------------------------------------

# The derivative of a custom_vjp function: known only by its transpose.
custom_lin_p = declare("custom_lin", multiple_results=True)


@custom_lin_p.abstract
def _(*avals: Any, out_avals: Any, **_: Any) -> Any:
    return list(out_avals)


@custom_lin_p.transpose
def _(
    cts: Any, *args: Any, num_res: int, bwd: FlatRule, out_avals: Any, symbolic_zeros: bool
) -> list[Any]:
    residuals, linear = args[:num_res], args[num_res:]
    given = [visible_tangent(ct, symbolic_zeros) for ct in cts]
    out = bwd(residuals, given)
    return [None] * num_res + [
        ct if type(x) is UndefinedPrimal else None for ct, x in zip(out, linear, strict=True)
    ]


_FORWARD = "can't apply forward-mode differentiation (jvp) to a custom_vjp function."


def _no_forward_mode(*_: Any, **__: Any) -> Any:
    raise TypeError(_FORWARD)


custom_lin_p.def_impl(_no_forward_mode)
custom_lin_p.lower(_no_forward_mode)
custom_lin_p.absent("eager", why="a custom_vjp function has no forward derivative")
custom_lin_p.absent("jvp", why="a custom_vjp function has no forward derivative")
custom_lin_p.absent("batch", why="batched as part of custom_vjp_call")
