"""`while_loop`, which repeats a body while a condition holds.

The primitive has carries and two groups of constants, those of the condition and those of the body.
In forward mode, tangents are further carries. Reverse mode is not supported, since the trip count
is unknown. The axes of a batched predicate are the leading axes of all carries: the loop runs while
the predicate holds for any instance, and instances that have finished keep their carries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jitney.compiler import lower as lowering
from jitney.core.diagnostics.errors import ConcretizationTypeError, KeyReuseError
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr
from jitney.core.program.key_reuse import KeyUse, check_repeated, use_of_program
from jitney.core.program.memo import memoize_by_identity
from jitney.core.pytree import pytrees
from jitney.core.recording.jaxpr_trace import retrace, trace_to_jaxpr
from jitney.core.settings import config
from jitney.core.sharding_in_types import varying
from jitney.core.tracing import communication
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.trace import set_current_trace
from jitney.core.types.avals import get_aval
from jitney.core.types.effects import Effect, InputEffect, moved
from jitney.core.util.fixpoint import least_fixpoint, least_fixpoint_by
from jitney.primitives.control.contents import places_of_contents, run_with_contents
from jitney.primitives.control.forwarding import (
    constant_carries,
    unseen_constant_carries,
    with_carries_as_constants,
    without_carries,
)
from jitney.primitives.control.high import while_on_arrays
from jitney.primitives.control.steps import while_by_steps
from jitney.primitives.control.tracing import (
    check_carry,
    strengthened,
    trace_function,
    with_types,
)
from jitney.primitives.control.while_batching import batched, parts_of
from jitney.primitives.elementwise.convert import as_value
from jitney.transforms import jet
from jitney.transforms.batch import AxisData
from jitney.transforms.discharge import discharge
from jitney.transforms.jvp import jvp_jaxpr
from jitney.transforms.partial import (
    PartialTrace,
    dce_closed,
    trace_partially,
    without_known_debug_effects,
)
from jitney.transforms.zero import Zero, instantiate, with_zeros

if TYPE_CHECKING:
    from typing import NoReturn

    from jitney.core.types.avals import AbstractValue
    from jitney.core.types.effects import Effects
    from jitney.core.typing import ArrayLike
    from jitney.primitives.control.tracing import Source, Traced
    from jitney.primitives.rule_types import (
        BatchDim,
        Builder,
        Cotangent,
        Dims,
        Node,
        Operand,
        Param,
        Primals,
        Tangent,
        Tangents,
        Value,
    )

T = TypeVar("T")

while_p = declare("while", multiple_results=True)
while_p.communication(communication.of_contents)
while_p.varying(varying.as_declared)
while_p.declares_sharding = True
while_p.effectful = True


@while_p.abstract
def _while_abstract(
    *avals: AbstractValue, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, **params: int
) -> tuple[list[AbstractValue], Effects]:
    n, k = params["cond_nconsts"], len(body_jaxpr.jaxpr.constvars)
    of_cond = {_moved_of_cond(e, n, params["body_nconsts"], cond_jaxpr) for e in cond_jaxpr.effects}
    return body_jaxpr.out_avals, of_cond | moved(body_jaxpr.effects, n - k)


def _moved_of_cond(effect: Effect, n_cond: int, n_body: int, cond: ClosedJaxpr) -> Effect:
    """Converts an effect of the condition to an effect of the equation, whose operands differ."""
    if not isinstance(effect, InputEffect):
        return effect
    operand = effect.input_index - len(cond.jaxpr.constvars)
    return effect.replace(operand if operand < n_cond else operand + n_body)


@while_p.discharge
def _while_discharge(
    which: tuple[bool, ...], *values: Value, **params: Param
) -> tuple[Sequence[Value], Sequence[Value | None]]:
    """Discharges references: contents that change become carries.

    A condition that writes to a reference is evaluated in the body.
    """
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    n, m = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    cond, cond_changed = discharge(cond_jaxpr, (*which[:n], *which[m:]))
    body, body_changed = discharge(body_jaxpr, which[n:])
    # A reference may be in both groups of constants, but has only one carry for its contents.
    same = [next((k for k in range(n) if which[k] and values[k] is v), None) for v in values[n:m]]
    held, places = places_of_contents(cond_changed[:n], body_changed[: m - n], same)
    run_cond = partial(run_with_contents, cond, cond_changed, values[:n], places[:n])
    run_body = partial(run_with_contents, body, body_changed, values[n:m], places[n:])
    n_held = len(held)
    writes = any(cond_changed)

    def goes_on(*carry: Any) -> list[Value]:
        if writes:
            return [carry[0]]
        return run_cond(carry[:n_held], carry[n_held:])[0]

    def step(*carry: Any) -> list[Value]:
        carry = carry[1:] if writes else carry
        outs, contents = run_body(carry[:n_held], carry[n_held:])
        if not writes:
            return [*contents, *outs]
        (flag,), contents = run_cond(contents, outs)
        return [flag, *contents, *outs]

    contents = [values[k] for k in held]
    carry = [*contents, *values[m:]]
    if writes:
        (flag,), contents = run_cond(contents, values[m:])
        carry = [flag, *contents, *values[m:]]
    avals = [get_aval(x) for x in carry]
    cond_loop, cond_consts = _as_loop_part(goes_on, avals, cond_jaxpr)
    body_loop, body_consts = _as_loop_part(step, avals, body_jaxpr)
    outs = while_p.bind(
        *cond_consts,
        *body_consts,
        *carry,
        cond_jaxpr=cond_loop,
        cond_nconsts=len(cond_consts),
        body_jaxpr=body_loop,
        body_nconsts=len(body_consts),
    )[1 if writes else 0 :]
    final_contents = [None if p is None else outs[p] for p in places]
    return outs[n_held:], [*final_contents, *[None] * (len(values) - m)]


@while_p.lojax
def _while_lojax(*values: Value, **params: Param) -> list[Value]:
    def bind(operands: Sequence[Any], params: dict[str, Any]) -> list[Value]:
        return while_p.bind(*operands, **params)

    return while_on_arrays(values, params, bind, _as_loop_part)


def _as_loop_part(
    fun: Callable[..., list[Any]], avals: Sequence[AbstractValue], like: ClosedJaxpr
) -> tuple[ClosedJaxpr, list[Value]]:
    """Traces `fun`; returns a program with closed-over values as operands, and these values."""
    jaxpr, _, consts = trace_to_jaxpr(fun, avals, like.jaxpr.debug_info._replace(arg_names=None))
    variables = [*jaxpr.constvars, *jaxpr.invars]
    return ClosedJaxpr(jaxpr.replace(constvars=[], invars=variables), ()), consts


@while_p.lower
def _while_lower(
    b: Builder,
    *nodes: Node,
    cond_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_jaxpr: ClosedJaxpr,
    body_nconsts: int,
) -> list[Node]:
    n, m = cond_nconsts, cond_nconsts + body_nconsts
    types: list[Any] = [x.type for x in nodes]

    def goes_on(inner: Builder, args: Sequence[Node]) -> Node:
        (flag,) = lowering.inline(inner, cond_jaxpr, [*args[:n], *args[m:]])
        return flag

    def cond(inner: Builder, *args: Node) -> list[Node]:
        flag = goes_on(inner, args)
        # With a batched predicate, the loop runs while any instance continues.
        if flag.shape:
            flag = inner.reduce(flag, "or", tuple(range(len(flag.shape))))
        return [flag]

    def body(inner: Builder, *args: Node) -> list[Node]:
        if not cond_jaxpr.out_avals[0].shape:
            return [*args[:m], *lowering.inline(inner, body_jaxpr, args[n:])]
        # Instances whose predicate is false keep their carry.
        flag = goes_on(inner, args)
        new = lowering.inline(inner, body_jaxpr, args[n:])
        return [*args[:m], *(_where(inner, flag, x, y) for x, y in zip(new, args[m:], strict=True))]

    outs = b.while_(b.region(types, cond), b.region(types, body), nodes)
    return outs[m:]


def _where(b: Builder, flag: Node, new: Node, old: Node) -> Node:
    """Selects `new` where `flag` is true, else `old`; `flag` has the leading axes of both nodes."""
    wide = b.broadcast(flag, new.shape, tuple(range(len(flag.shape))))
    return b.apply("select", wide, new, old)


while_p.absent("eager", why="evaluated whole, as a compiled program (runtime.eager)")
while_p.by_steps(while_by_steps)


# --- rules --------------------------------------------------------------------------------------


@while_p.jvp
def _while_jvp(
    primals: Primals, tangents: Tangents, **params: Param
) -> tuple[Sequence[Value], Sequence[Tangent]]:
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    cond_consts, body_consts, init = parts_of(primals, params)
    _, body_t, init_t = parts_of(tangents, params)
    const_nz = [type(t) is not Zero for t in body_t]
    carry_nz = [type(t) is not Zero for t in init_t]
    n_const, n_carry = len(body_consts), len(init)
    carry_nz, raw = least_fixpoint(
        lambda carry_nz: jvp_jaxpr(body_jaxpr, (*const_nz, *carry_nz), tuple(carry_nz)), carry_nz
    )
    n_cond, n_ct = len(cond_consts), sum(const_nz)
    cond, body = _derivative_parts(
        cond_jaxpr, n_cond, body_jaxpr, raw, tuple(const_nz), tuple(carry_nz)
    )
    carry_tangents = [instantiate(t) for t, nz in zip(init_t, carry_nz, strict=True) if nz]
    const_tangents: list[Any] = [t for t, nz in zip(body_t, const_nz, strict=True) if nz]
    outs = while_p.bind(
        *cond_consts,
        *body_consts,
        *const_tangents,
        *init,
        *carry_tangents,
        cond_jaxpr=cond,
        cond_nconsts=n_cond,
        body_jaxpr=body,
        body_nconsts=n_const + n_ct,
    )
    avals = [a.to_tangent_aval() for a in body_jaxpr.out_avals]
    return outs[:n_carry], with_zeros(outs[n_carry:], carry_nz, avals)


@memoize_by_identity
def _derivative_parts(
    cond_jaxpr: ClosedJaxpr,
    n_cond: int,
    body_jaxpr: ClosedJaxpr,
    raw: ClosedJaxpr,
    const_nz: tuple[bool, ...],
    carry_nz: tuple[bool, ...],
) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """Returns the condition and the body of a loop that carries tangents, too.

    Args:
      cond_jaxpr, body_jaxpr: condition and body of the loop.
      n_cond: number of the condition's constants.
      raw: the JVP of the body, with operands in the order of `jvp_jaxpr`.
      const_nz, carry_nz: whether each constant of the body, and each carry, has a nonzero tangent.
    """
    n_const, n_carry, n_ct = len(const_nz), len(carry_nz), sum(const_nz)
    # `raw` takes consts, carry, tangents of consts, tangents of carry; the body of a loop takes the
    # consts and their tangents before the carry.
    c, t = body_jaxpr.in_avals[:n_const], body_jaxpr.in_avals[n_const:]
    avals = [
        *c,
        *(a.to_tangent_aval() for a, nz in zip(c, const_nz, strict=True) if nz),
        *t,
        *(a.to_tangent_aval() for a, nz in zip(t, carry_nz, strict=True) if nz),
    ]

    def body(*args: Value) -> list[Value]:
        consts, remaining = args[:n_const], args[n_const:]
        dconsts, remaining = remaining[:n_ct], remaining[n_ct:]
        carry, dcarry = remaining[:n_carry], remaining[n_carry:]
        return eval_jaxpr(raw.jaxpr, raw.consts, *consts, *carry, *dconsts, *dcarry)

    cond = retrace(
        "while",
        lambda *args: eval_jaxpr(cond_jaxpr.jaxpr, cond_jaxpr.consts, *args[: n_cond + n_carry]),
        [*cond_jaxpr.in_avals, *avals[n_const + n_ct + n_carry :]],
        cond_jaxpr,
    )
    return cond, retrace("while", body, avals, body_jaxpr)


@while_p.jet
def _while_jet(
    primals: Primals, series: Sequence[jet.Terms], **params: Param
) -> tuple[Sequence[Value], Sequence[jet.Terms]]:
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    cond_consts, body_consts, init = parts_of(primals, params)
    _, const_terms, init_terms = parts_of(series, params)
    order = len(series[0])
    n_const, n_carry, n_cond = len(body_consts), len(init), len(cond_consts)
    consts_given = jet.tangent_types_of(const_terms, body_jaxpr.in_avals[:n_const])
    carry_given = jet.tangent_types_of(init_terms, body_jaxpr.in_avals[n_const:])
    carry_given, raw = least_fixpoint_by(
        lambda carry: jet.jet_jaxpr(body_jaxpr, (*consts_given, *carry), order, carry),
        carry_given,
        jet.joined,
    )
    n_ct = jet.number_of(consts_given)
    # `raw` takes consts, carry, terms of consts, terms of carry; the body of a loop takes the terms
    # of consts before the carry.
    avals = [raw.in_avals[k] for k in range(n_const)]
    avals += [t for types in consts_given for t in types if t is not None]
    carry_avals = [*body_jaxpr.in_avals[n_const:]]
    carry_avals += [t for types in carry_given for t in types if t is not None]

    def body(*args: Value) -> list[Value]:
        consts, remaining = args[:n_const], args[n_const:]
        terms, remaining = remaining[:n_ct], remaining[n_ct:]
        carry, carry_terms = remaining[:n_carry], remaining[n_carry:]
        return eval_jaxpr(raw.jaxpr, raw.consts, *consts, *carry, *terms, *carry_terms)

    def cond(*args: Value) -> list[Value]:
        return eval_jaxpr(cond_jaxpr.jaxpr, cond_jaxpr.consts, *args[: n_cond + n_carry])

    outs = while_p.bind(
        *cond_consts,
        *body_consts,
        *jet.packed(const_terms, consts_given),
        *init,
        *jet.packed(init_terms, carry_given),
        cond_jaxpr=retrace(
            "while", cond, [*cond_jaxpr.in_avals[:n_cond], *carry_avals], cond_jaxpr
        ),
        cond_nconsts=n_cond,
        body_jaxpr=retrace("while", body, [*avals, *carry_avals], body_jaxpr),
        body_nconsts=n_const + n_ct,
    )
    return outs[:n_carry], jet.unpacked(outs[n_carry:], body_jaxpr.out_avals, carry_given)


@while_p.partial
def _while_partial(
    trace: PartialTrace, unknown: Sequence[bool], args: Sequence[Value], params: dict[str, Any]
) -> list[Value]:
    """Computes carries that depend on known values only; records the entire loop for the others."""
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    cond_u, body_u, carry_u = parts_of(unknown, params)
    cond_consts, body_consts, init = parts_of(args, params)
    carry_u, _ = least_fixpoint(
        lambda carry_u: (None, trace_partially(body_jaxpr, [*body_u, *carry_u], carry_u)[2]),
        carry_u,
    )
    cond_unknown = any(cond_u) or trace_partially(cond_jaxpr, [*cond_u, *carry_u], False)[2][0]
    if cond_unknown or all(carry_u):
        return trace.unknown_trace.process_primitive(while_p, args, params)
    known_consts = [x for x, u in zip(body_consts, body_u, strict=True) if not u]
    with set_current_trace(trace.parent_trace):
        known = while_p.bind(
            *cond_consts,
            *known_consts,
            *(x for x, u in zip(init, carry_u, strict=True) if not u),
            cond_jaxpr=_known_part(cond_jaxpr, [*cond_u, *carry_u], [False]),
            cond_nconsts=len(cond_consts),
            body_jaxpr=_known_part(body_jaxpr, [*body_u, *carry_u], carry_u),
            body_nconsts=len(known_consts),
        )
    silent = {
        **params,
        "cond_jaxpr": without_known_debug_effects(cond_jaxpr, [*cond_u, *carry_u]),
        "body_jaxpr": without_known_debug_effects(body_jaxpr, [*body_u, *carry_u]),
    }
    late = trace.unknown_trace.process_primitive(while_p, args, silent)
    outs = iter(known)
    return [x if u else next(outs) for x, u in zip(late, carry_u, strict=True)]


def _known_part(closed: ClosedJaxpr, unknown: list[bool], out_unknown: list[bool]) -> ClosedJaxpr:
    """Returns the program that computes the known results of `closed` from its known operands."""
    known, _, _, n_residuals = trace_partially(closed, unknown, out_unknown)
    n_known = len(out_unknown) - sum(out_unknown)
    return dce_closed(known, (True,) * n_known + (False,) * n_residuals, True)[0]


@while_p.transpose
def _while_transpose(cts: Sequence[Cotangent], *args: Operand, **params: object) -> NoReturn:
    raise ValueError(
        "lax.while_loop, and lax.fori_loop with traced bounds, have no reverse-mode derivative: "
        "the trip count, and therefore the size of the residuals for the backward pass, is not known "
        "in advance. Use lax.scan, or fori_loop with Python integers as bounds, or forward mode "
        "(jax.jvp, jax.jacfwd)"
    )


@while_p.batch_with_axis
def _while_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, **params: Param
) -> tuple[Sequence[Value], Sequence[BatchDim]]:
    """Batches the loop, except for unbatched carries that never change."""
    _, _, init = parts_of(args, params)
    _, _, init_d = parts_of(dims, params)
    same = constant_carries(params["body_jaxpr"], params["body_nconsts"])
    moved = tuple([s and d is None for s, d in zip(same, init_d, strict=True)])
    if not any(moved):
        return _bound(*batched(axis_data, args, dims, params))
    fixed = [x for x, m in zip(init, moved, strict=True) if m]
    kept = [k for k, m in enumerate(moved) if not m]
    operands: list[Any] = []
    places: list[int | None] = []
    for values, into in ((args, operands), (dims, places)):
        cond_part, body_part, carry = parts_of(values, params)
        added = fixed if into is operands else [None] * len(fixed)
        into += [*cond_part, *added, *body_part, *added, *(carry[k] for k in kept)]
    smaller = {}
    for name in ("cond", "body"):
        count = params[f"{name}_nconsts"]
        smaller[f"{name}_nconsts"] = count + len(fixed)
        smaller[f"{name}_jaxpr"] = with_carries_as_constants(
            params[f"{name}_jaxpr"], count, moved, name == "body", count
        )
    outs, out_dims = _bound(*batched(axis_data, operands, places, {**params, **smaller}))
    remaining = iter(zip(outs, out_dims, strict=True))
    pairs = [(x, None) if m else next(remaining) for x, m in zip(init, moved, strict=True)]
    return [x for x, _ in pairs], [d for _, d in pairs]


def _bound(
    operands: Sequence[Value], params: dict[str, Any], dims: list[int | None]
) -> tuple[list[Value], list[BatchDim]]:
    return while_p.bind(*operands, **params), dims


# --- public functions -----------------------------------------------------------------------------


@api_boundary
def while_loop(
    cond_fun: Callable[[T], ArrayLike],
    body_fun: Callable[[T], T],
    init_val: T,
) -> T:
    """Repeats `val = body_fun(val)` while `cond_fun(val)` is true; returns the final `val`.

    Args:
      cond_fun: a function value -> boolean scalar.
      body_fun: a function value -> value that preserves the structure and types of the value.
      init_val: the initial value, a pytree of arrays.

    Returns: the final value, a pytree like `init_val`.

    Raises:
      TypeError: if `cond_fun` does not return a boolean scalar, or if `body_fun` changes the type
        of the value.

    The loop has no reverse-mode derivative, except with respect to values that the body returns
    unchanged and the condition does not read. `scan`, and `fori_loop` with known bounds, support
    reverse mode.

    Example:
      >>> lax.while_loop(lambda x: x < 100, lambda x: 2 * x, 3)
      Array(192, dtype=int32, weak_type=True)
    """
    if not callable(cond_fun) or not callable(body_fun):
        raise TypeError(
            f"lax.while_loop: `cond_fun` and `body_fun` must be functions, but are {cond_fun!r} and "
            f"{body_fun!r}"
        )
    return while_from(None, None, cond_fun, body_fun, init_val)


def while_from(
    cond_source: Source | None,
    body_source: Source | None,
    cond_fun: Callable[[T], ArrayLike],
    body_fun: Callable[[T], T],
    init_val: T,
) -> T:
    """Runs `while_loop` with functions derived from users' functions, which are traced once."""
    if config.disable_jit_enabled():
        # Immutable arrays, since a body with `x += 1` must not write to the caller's NumPy arrays.
        value = pytrees.tree_map(as_value, init_val)
        try:
            while cond_fun(value):
                value = body_fun(value)
            return value
        except ConcretizationTypeError:
            pass  # the predicate is traced, so bind the loop as an operation
    leaves, tree = pytrees.tree_flatten(init_val)
    avals = [get_aval(x) for x in leaves]
    single = pytrees.tree_structure((init_val,))
    condition = _traced_condition(cond_fun, single, avals, cond_source)
    body = trace_function(body_fun, single, avals, "while_loop", body_source)
    _check_body(body_fun, body_source, tree, body, avals)
    stronger = strengthened(avals, body.out_avals)
    if stronger is not None:
        avals = stronger
        leaves = with_types(leaves, avals)
        condition = _traced_condition(cond_fun, single, avals, cond_source)
        body = trace_function(body_fun, single, avals, "while_loop", body_source)
    check_carry("lax.while_loop", body_fun, body_source, tree, body.out_tree, avals, body.out_avals)
    fixed = unseen_constant_carries(
        condition.closed, len(condition.consts), body.closed, len(body.consts)
    )
    n_cond, n_body = len(condition.consts), len(body.consts)
    cond_jaxpr, body_jaxpr = condition.closed, body.closed
    if any(fixed):
        cond_jaxpr = without_carries(cond_jaxpr, n_cond, fixed)
        body_jaxpr = with_carries_as_constants(body_jaxpr, n_body, fixed, True, 0)
    constants = [as_value(x) for x, f in zip(leaves, fixed, strict=True) if f]
    outs = while_p.bind(
        *condition.consts,
        *constants,
        *body.consts,
        *(x for x, f in zip(leaves, fixed, strict=True) if not f),
        cond_jaxpr=cond_jaxpr,
        cond_nconsts=n_cond,
        body_jaxpr=body_jaxpr,
        body_nconsts=len(constants) + n_body,
    )
    unchanged, changed = iter(constants), iter(outs)
    return pytrees.tree_unflatten(tree, [next(unchanged) if f else next(changed) for f in fixed])


def _traced_condition(
    cond_fun: Callable[..., Any],
    in_tree: pytrees.PyTreeDef,
    avals: Sequence[AbstractValue],
    source: Source | None,
) -> Traced:
    condition = trace_function(cond_fun, in_tree, avals, "while_cond", source)
    if condition.out_tree != pytrees.tree_structure(0):
        raise TypeError(
            "lax.while_loop: `cond_fun` must return one boolean scalar, but has returned a pytree "
            f"{condition.out_tree}"
        )
    out: Any = condition.out_avals
    if out[0].shape != () or out[0].dtype != np.bool_:
        raise TypeError(
            "lax.while_loop: `cond_fun` must return one boolean scalar, but its result is "
            f"{out[0].str_short()}"
        )
    return condition


def _check_body(
    body_fun: Callable[..., Any],
    source: Source | None,
    tree: pytrees.PyTreeDef,
    body: Traced,
    avals: Sequence[AbstractValue],
) -> None:
    if tree != body.out_tree:
        check_carry("lax.while_loop", body_fun, source, tree, body.out_tree, avals, body.out_avals)


@while_p.key_use
def _while_key_use(
    avals: Sequence[AbstractValue],
    *,
    cond_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_jaxpr: ClosedJaxpr,
    body_nconsts: int,
) -> KeyUse:
    body_use, cond_use = use_of_program(body_jaxpr.jaxpr), use_of_program(cond_jaxpr.jaxpr)
    n_carry, renewed = len(avals) - cond_nconsts - body_nconsts, set(body_use.new)
    check_repeated("the condition of a while_loop", cond_use, cond_nconsts, n_carry, renewed)
    check_repeated("the body of a while_loop", body_use, body_nconsts, n_carry, renewed)
    first = {i - cond_nconsts for i, _ in cond_use.consumed}
    second = {i - body_nconsts for i, _ in body_use.consumed}
    if first & second:
        raise KeyReuseError(
            "the condition and the body of a while_loop use the same key: elements "
            f"{sorted(first & second)} of the carry"
        )
    start = cond_nconsts + body_nconsts
    return KeyUse(
        tuple([(start + i, True) for i in sorted(first | second)]),
        body_use.new,
        tuple(
            [(start + i - body_nconsts, out) for i, out in body_use.forwarded if i >= body_nconsts]
        ),
    )
