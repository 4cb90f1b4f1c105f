"""Rematerialization: `remat2`, a program whose residuals are mostly recomputed, and `name`.

Evaluation and lowering use the program itself. Linearization splits it: the part that depends on
known operands only is evaluated immediately. The remainder becomes an equation whose program also
contains the known equations on which it depends, and thus recomputes their results. The operands of
this equation are those of the original program and the values that the policy saves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler import lower as lowering
from jitney.core.program import text
from jitney.core.program.closed_programs import closed_of, constants_as_operands
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import (
    Atom,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
)
from jitney.core.program.key_reuse import KeyUse, use_of_program
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.sharding_in_types import varying
from jitney.core.source.name_stack import new_name_stack
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.trace import set_current_trace
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray
from jitney.core.types.effects import no_effects, remat_allowed_effects
from jitney.primitives import rules
from jitney.primitives.call.inlined import of_own_dtypes, transposed_call
from jitney.primitives.call.remat_policies import Policy, divide, without_calls
from jitney.primitives.elementwise.convert import as_value, reduce_precision_p
from jitney.transforms import jet
from jitney.transforms.batch import AxisData, batch_jaxpr
from jitney.transforms.discharge import discharge, discharged, with_contents
from jitney.transforms.jvp import jvp_jaxpr
from jitney.transforms.logs import flat_log
from jitney.transforms.partial import PartialTrace, dce_jaxpr, trace_partially
from jitney.transforms.transpose import (
    TransposedProgram,
    UndefinedPrimal,
    logged_backward_pass,
)
from jitney.transforms.zero import Zero, with_zeros

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.core.types.effects import Effects
    from jitney.core.typing import Array
    from jitney.primitives.rule_types import (
        BatchDim,
        Builder,
        Cotangent,
        Dims,
        Node,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )
    from jitney.transforms.logs import Log

# --- name -----------------------------------------------------------------------------------------

name_p = declare("name")


@name_p.abstract
def _name_abstract(x: ShapedArray, *, name: str) -> ShapedArray:
    return x


@name_p.eager
def _name_eager(x: np.ndarray, *, name: str) -> np.ndarray:
    return x


@name_p.lower
def _name_lower(b: Builder, x: Node, *, name: str) -> Node:
    return x


@name_p.jvp
def _name_jvp(primals: Primals, tangents: Tangents, *, name: str) -> tuple[Value, Tangent]:
    return name_p.bind(*primals, name=name), tangents[0]


name_p.jet(jet.piecewise_linear(name_p))
name_p.absent("transpose", why="tangents have no name")
rules.vectorized(name_p)

# --- remat2 ---------------------------------------------------------------------------------------

remat_p = declare("remat2", multiple_results=True)
remat_p.varying(varying.as_declared)
remat_p.declares_sharding = True
remat_p.effectful = True


@remat_p.abstract
def _remat_abstract(
    *avals: AbstractValue, jaxpr: Jaxpr, **_: Any
) -> tuple[list[AbstractValue], Effects]:
    return jaxpr.out_avals, frozenset(jaxpr.effects)


@remat_p.discharge
def _remat_discharge(
    which: tuple[bool, ...], *values: Value, jaxpr: Jaxpr, **params: object
) -> tuple[Sequence[Value], Sequence[Value | None]]:
    program, changed = discharge(closed_of(jaxpr), which)
    return with_contents(changed, bind_program(program, values, params), len(jaxpr.outvars))


@remat_p.def_impl
def _remat_def_impl(*args: Value, jaxpr: Jaxpr, **_: Any) -> list[Array]:
    return [as_value(x) for x in eval_jaxpr(jaxpr, (), *args)]


@remat_p.lower
def _remat_lower(
    b: Builder,
    *nodes: Node,
    jaxpr: Jaxpr,
    prevent_cse: bool | Sequence[bool],
    differentiated: bool,
    **_: Any,
) -> list[Node]:
    # Common-subexpression elimination must not merge the recomputation with the original
    # computation.
    flags = _flags(prevent_cse, len(nodes)) if differentiated else [False] * len(nodes)
    held = [x for x, flag in zip(nodes, flags, strict=True) if flag]
    behind = iter(b.optimization_barrier(held) if held else ())
    operands = [next(behind) if flag else x for x, flag in zip(nodes, flags, strict=True)]
    return lowering.inline(b, closed_of(jaxpr), operands)


remat_p.absent("eager", why="evaluated equation by equation")


def bind_program(
    closed: ClosedJaxpr, operands: Sequence[Any], params: dict[str, Any]
) -> list[Value]:
    """Binds `remat2` to a program and its operands.

    The parameter `prevent_cse` states which operands pass through the optimization barrier. It is a
    flag for all operands, or a sequence of flags for the leading ones. In the latter case, all
    further operands pass through the barrier, and the constants of the program do not.
    """
    flags = params["prevent_cse"]
    if not isinstance(flags, bool):
        remaining = (True,) * (len(operands) - len(flags))
        flags = (*(False,) * len(closed.consts), *flags, *remaining)
    changed = {**params, "prevent_cse": flags, "jaxpr": constants_as_operands(closed.jaxpr)}
    return remat_p.bind(*closed.consts, *operands, **changed)


def _flags(prevent_cse: bool | Sequence[bool], n: int) -> list[bool]:
    """Returns, for each of `n` operands, whether it passes through the optimization barrier."""
    return [prevent_cse] * n if isinstance(prevent_cse, bool) else list(prevent_cse)


def _picked(params: dict[str, Any], flags: Sequence[bool]) -> dict[str, object]:
    """Replaces `prevent_cse` by `flags`, unless it is a single flag for all operands."""
    if isinstance(params["prevent_cse"], bool):
        return params
    return {**params, "prevent_cse": tuple(flags)}


@remat_p.jvp
def _remat_jvp(
    primals: Primals, tangents: Tangents, *, jaxpr: Jaxpr, **params: object
) -> tuple[Sequence[Value], Sequence[Tangent]]:
    nonzero = tuple(type(t) is not Zero for t in tangents)
    # Writes to references within the program are recomputed like values.
    program, nonzero_out = jvp_jaxpr(discharged(closed_of(jaxpr)), nonzero, False)
    nonzero_tangents = [t for t in tangents if type(t) is not Zero]
    outs = bind_program(program, [*primals, *nonzero_tangents], params)
    n = len(jaxpr.outvars)
    return outs[:n], with_zeros(
        outs[n:], nonzero_out, [a.to_tangent_aval() for a in jaxpr.out_avals]
    )


@remat_p.jet
def _remat_jet(
    primals: Primals, series: Sequence[jet.Terms], *, jaxpr: Jaxpr, **params: object
) -> tuple[Sequence[Value], Sequence[jet.Terms]]:
    program, out_terms = jet.jet_jaxpr(closed_of(jaxpr), jet.types_of(series), len(series[0]))
    outs = bind_program(program, [*primals, *jet.present(series)], params)
    n = len(jaxpr.outvars)
    return outs[:n], jet.unpacked(outs[n:], jaxpr.out_avals, out_terms)


@remat_p.batch_with_axis
def _remat_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, jaxpr: Jaxpr, **params: object
) -> tuple[Sequence[Value], Sequence[BatchDim]]:
    batched = tuple(d is not None for d in dims)
    program, out_batched = batch_jaxpr(closed_of(jaxpr), axis_data, batched, False)
    moved = [x if d is None else rules.move_axis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    return bind_program(program, moved, params), [0 if b else None for b in out_batched]


@remat_p.dce
def _remat_dce(used: list[bool], eqn: JaxprEqn) -> JaxprEqn:
    jaxpr, needed = _pruned(eqn.params["jaxpr"], tuple(used))
    flags = _flags(eqn.params["prevent_cse"], len(needed))
    params = _picked(eqn.params, [f for f, n in zip(flags, needed, strict=True) if n])
    return eqn.replace(
        params={**params, "jaxpr": jaxpr},
        invars=[a for a, n in zip(eqn.invars, needed, strict=True) if n],
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
    )


@memoize_by_identity
def _pruned(jaxpr: Jaxpr, used: tuple[bool, ...]) -> tuple[Jaxpr, list[bool]]:
    """Prunes `jaxpr` to the results in `used`, and returns the operands that it still needs."""
    kept, needed = dce_jaxpr(jaxpr, used)
    invars = [v for v, n in zip(kept.invars, needed, strict=True) if n]
    info = kept.debug_info._replace(arg_names=(None,) * len(invars), result_paths=None)
    return kept.replace(invars=invars, debug_info=info), needed


# --- linearization --------------------------------------------------------------------------------

_RECOMPUTED = new_name_stack("rematted_computation")


@remat_p.partial
def _remat_partial(
    trace: PartialTrace, unknown: Sequence[bool], args: Sequence[Value], params: dict[str, Any]
) -> list[Value]:
    split = _divided(params["jaxpr"], tuple(unknown), params["policy"])
    known_args = [x for x, u in zip(args, unknown, strict=True) if not u]
    with set_current_trace(trace.parent_trace):
        outs = eval_jaxpr(split.known, split.consts, *known_args)
    n_known = len(split.out_unknown) - sum(split.out_unknown)
    available = [*outs[n_known:], *split.consts, *known_args]
    available += [x for x, u in zip(args, unknown, strict=True) if u]
    operands = [x for x, n in zip(available, split.needed, strict=True) if n]
    cse_flags = _flags(params["prevent_cse"], len(args))
    flags = [True] * (len(outs) - n_known) + [False] * len(split.consts)
    flags += [f for f, u in zip(cse_flags, unknown, strict=True) if not u]
    flags += [f for f, u in zip(cse_flags, unknown, strict=True) if u]
    picked = _picked(params, [f for f, n in zip(flags, split.needed, strict=True) if n])
    late_params = {**picked, "jaxpr": split.late, "differentiated": True}
    late = iter(trace.unknown_trace.process_primitive(remat_p, operands, late_params))
    known = iter(outs[:n_known])
    return [next(late) if u else next(known) for u in split.out_unknown]


class _Divided:
    """A program split for linearization.

    Attributes:
      known: the program that maps known operands to known results and values to save.
      consts: the constants of `known`.
      late: the program that computes the unknown results. Its operands are saved values, constants,
        known operands and unknown operands of the original program, in this order.
      needed: flags of the values, in the same order, that are operands of `late`.
      out_unknown: whether each result is unknown.
    """

    def __init__(
        self,
        known: Jaxpr,
        consts: list[Any],
        late: Jaxpr,
        needed: list[bool],
        out_unknown: Sequence[bool],
    ) -> None:
        self.known = known
        self.consts = consts
        self.late = late
        self.needed = needed
        self.out_unknown = out_unknown


@memoize_by_identity
def _divided(jaxpr: Jaxpr, unknown: tuple[bool, ...], policy: Policy | None) -> _Divided:
    refused = remat_allowed_effects.filter_not_in(jaxpr.effects)
    if refused:
        raise NotImplementedError(
            f"checkpoint: a function with the effects {', '.join(map(str, refused))} cannot be "
            "recomputed in the backward pass, as the effects would happen twice"
        )
    closed = closed_of(jaxpr) if policy is None else without_calls(closed_of(jaxpr))
    known, late, out_unknown, n_residuals = trace_partially(closed, unknown, False)
    program: Jaxpr = known.jaxpr
    n_out = len(program.outvars) - n_residuals
    outs, residuals = program.outvars[:n_out], program.outvars[n_out:]
    parts = divide(program.eqns, policy)
    saved = parts.kept
    whole = _with_recomputation(program.replace(eqns=parts.again), residuals, late.jaxpr, saved)
    late_program, needed = dce_jaxpr(whole, (True,) * len(whole.outvars))
    alive = {v for v, n in zip(whole.invars, needed, strict=True) if n}
    # Values that only the derivative reads are saved first, then those that the forward pass reads.
    saved = [v for v in saved if v in alive]
    program = program.replace(eqns=parts.forward)
    shared = _read_elsewhere(program, outs, saved)
    saved = [v for v in saved if v not in shared] + [v for v in saved if v in shared]
    others = [*program.constvars, *program.invars, *late.jaxpr.invars[n_residuals:]]
    needed = [True] * len(saved) + [v in alive for v in others]
    invars = [*saved, *(v for v in others if v in alive)]
    info = jaxpr.debug_info._replace(arg_names=(None,) * len(invars), result_paths=None)
    forward = _rounding(program, shared).replace(outvars=[*outs, *saved])
    forward = _renamed(forward, shared)
    forward, _ = dce_jaxpr(forward, (True,) * len(forward.outvars))
    return _Divided(
        forward,
        list(known.consts),
        late_program.replace(invars=invars, debug_info=info),
        needed,
        out_unknown,
    )


def _again(eqn: JaxprEqn) -> JaxprEqn:
    """Returns `eqn` with a name stack that marks it as recomputed."""
    info = eqn.source_info
    if info is None:
        return eqn
    return eqn.replace(source_info=info.replace(name_stack=_RECOMPUTED + info.name_stack))


def _with_recomputation(
    known: Jaxpr, residuals: Sequence[Atom], late: Jaxpr, saved: Sequence[Var]
) -> Jaxpr:
    """Prepends to `late` the equations of `known` that recompute its residuals from saved values.

    The operands of the result are the saved values, the constants and operands of `known`, and the
    operands of `late` except the residuals.
    """
    eqns = [_again(eqn) for eqn in known.eqns]
    place: dict[Var, Atom] = dict(zip(late.invars[: len(residuals)], residuals, strict=True))

    def moved(atom: Atom) -> Atom:
        return atom if isinstance(atom, Literal) else place.get(atom, atom)

    eqns += [eqn.replace(invars=[moved(a) for a in eqn.invars]) for eqn in late.eqns]
    invars = [*saved, *known.constvars, *known.invars, *late.invars[len(residuals) :]]
    effects = no_effects.union(*(eqn.effects for eqn in eqns))
    return Jaxpr((), invars, [moved(a) for a in late.outvars], eqns, effects, late.debug_info)


def _read_elsewhere(jaxpr: Jaxpr, outs: Sequence[Atom], saved: Sequence[Var]) -> dict[Var, Var]:
    """Maps saved floating-point values that the forward pass reads, too, to new variables."""
    pruned, _ = dce_jaxpr(
        jaxpr.replace(outvars=[*outs, *saved]), (True,) * (len(outs) + len(saved))
    )
    read = {a for eqn in pruned.eqns for a in eqn.invars if isinstance(a, Var)}
    read.update(a for a in outs if isinstance(a, Var))
    return {
        v: Var(v.aval) for v in saved if v in read and dtypes.issubdtype(v.aval.dtype, np.floating)
    }


def _rounding(jaxpr: Jaxpr, shared: dict[Var, Var]) -> Jaxpr:
    """Rounds the values in `shared` to their dtype before equations of `jaxpr` read them.

    Otherwise the compiler could use values of higher precision in the forward pass than those that
    are saved.
    """
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        invars = [shared.get(a, a) if isinstance(a, Var) else a for a in eqn.invars]
        eqns.append(eqn.replace(invars=invars))
        for v in eqn.outvars:
            if v in shared:
                finfo = dtypes.finfo(v.aval.dtype)
                params = {"exponent_bits": finfo.nexp, "mantissa_bits": finfo.nmant}
                eqns.append(
                    JaxprEqn(
                        [v], [shared[v]], reduce_precision_p, params, no_effects,
                        eqn.source_info, eqn.ctx,
                    )
                )  # fmt: skip
    return jaxpr.replace(eqns=eqns)


def _renamed(jaxpr: Jaxpr, names: dict[Var, Var]) -> Jaxpr:
    outvars = [names.get(a, a) if isinstance(a, Var) else a for a in jaxpr.outvars]
    return jaxpr.replace(outvars=outvars)


def _print_remat(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    shown = [(k, str(v) if k == "policy" else v) for k, v in sorted(eqn.params.items())]
    return text.eqn_with_params(eqn, shown, context, settings)


text.printing_rules["remat2"] = _print_remat

# --- transposition --------------------------------------------------------------------------------


@remat_p.logged_transpose
def _remat_transpose(
    cts: Sequence[Cotangent], *args: Operand, jaxpr: Jaxpr, **params: Any
) -> tuple[Sequence[Cotangent | None], Log]:
    flags = _flags(params["prevent_cse"], len(args))
    known = [f for f, x in zip(flags, args, strict=True) if type(x) is not UndefinedPrimal]
    picked = _picked(params, known)
    return transposed_call(
        lambda linear, nonzero: _transposed(jaxpr, linear, nonzero),
        lambda program, operands: bind_program(program, operands, picked),
        of_own_dtypes(cts, jaxpr.out_avals),
        args,
    )


@memoize_by_identity
def _transposed(
    jaxpr: Jaxpr, linear: tuple[bool, ...], nonzero: tuple[bool, ...]
) -> TransposedProgram:
    """Transposes `jaxpr`.

    The transposed program first recomputes the part that does not depend on linear operands.
    """
    known, late, out_unknown, n_residuals = trace_partially(closed_of(jaxpr), linear, True)
    assert all(out_unknown)
    has_ct: tuple[bool, ...] = ()
    log_tree: Any = None

    def fun(*xs: Value) -> list[Value]:
        nonlocal has_ct, log_tree
        n_known = len(known.in_avals)
        residuals = eval_jaxpr(known.jaxpr, known.consts, *xs[:n_known])
        cts = with_zeros(xs[n_known:], nonzero, [a.to_cotangent_aval() for a in jaxpr.out_avals])
        operands = [*residuals, *(UndefinedPrimal(a) for a in late.in_avals[n_residuals:])]
        operand_cts, log = logged_backward_pass(late.jaxpr, late.consts, operands, cts)
        out = operand_cts[n_residuals:]
        has_ct = tuple([type(ct) is not Zero for ct in out])
        entries, log_tree = flat_log(log)
        return [*(ct for ct in out if not isinstance(ct, Zero)), *entries]

    avals = [a for a, lin in zip(jaxpr.in_avals, linear, strict=True) if not lin]
    avals += [a.to_cotangent_aval() for a, nz in zip(jaxpr.out_avals, nonzero, strict=True) if nz]
    program, _, consts = trace_to_jaxpr(fun, avals, jaxpr.debug_info.then("transpose"))
    return TransposedProgram(ClosedJaxpr(_without_unused(program), consts), has_ct, log_tree)


def _without_unused(jaxpr: Jaxpr) -> Jaxpr:
    """Removes equations without effects whose results are not used.

    Such equations compute, for example, tangents that a branch ignores. Programs within equations
    are left unchanged, as in JAX.
    """
    used = {v for v in jaxpr.outvars if isinstance(v, Var)}
    kept: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or not used.isdisjoint(eqn.outvars):
            kept.append(eqn)
            used.update(v for v in eqn.invars if isinstance(v, Var))
    return jaxpr.replace(eqns=kept[::-1])


@remat_p.key_use
def _remat_key_use(_: object, *, jaxpr: Jaxpr, differentiated: bool, **__: object) -> KeyUse:
    # A recomputation intentionally uses the same keys again.
    return KeyUse() if differentiated else use_of_program(jaxpr)
