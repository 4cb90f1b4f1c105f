"""Splitting of programs, including loops and branches, by a rematerialization policy.

Each equation becomes two equations: one for the forward pass, which also returns the values saved
within it, and one that takes the saved values as operands and recomputes the others. Values saved
in the body of a `scan` are stacked along a new leading axis. Values saved in a branch of a `cond`
are zero if another branch was taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jitney.core.program.evaluate import eval_jaxpr, value_of
from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.tracing.primitive import declare_slot
from jitney.core.types.avals import ShapedArray
from jitney.core.types.effects import InputEffect, no_effects
from jitney.core.types.memory_space import MemorySpace
from jitney.primitives import flat_trees
from jitney.primitives.array.creation import full
from jitney.primitives.array.placement import ArrayCopySemantics, device_put_p
from jitney.primitives.flat_trees import group
from jitney.transforms.partial import dce_jaxpr

if TYPE_CHECKING:
    from jitney.primitives.rule_types import Value

Policy = Callable[..., Any]
"""(primitive, *operand types, **params) -> whether its results may be saved."""


# (policy, which operands are unknown, which are instantiated, eqn) -> (forward equation, recomputing
# equation, which results are unknown, which are instantiated, variables to save)
DIVIDED_BY_POLICY = declare_slot("divided_by_policy")


class RecomputeType:
    """The decision of a policy to recompute a value."""

    def __repr__(self) -> str:
        return "Recompute"


class SaveableType:
    """The decision of a policy to save a value."""

    def __repr__(self) -> str:
        return "Saveable"


Recompute, Saveable = RecomputeType(), SaveableType()


class Offloadable(NamedTuple):
    """The decision of a policy to keep a value in another memory until the derivative reads it.

    On a CPU, where all memories are the same, the value is saved without a copy.

    Attributes:
      src: the kind of memory that holds the value: "device", "pinned_host" or "unpinned_host".
      dst: the kind of memory in which to keep it.
    """

    src: str
    dst: str


class Division:
    """Equations split by a policy.

    Attributes:
      forward: equations of the forward pass.
      again: equations that recompute the values that are not saved.
      kept: variables that `forward` computes and `again` takes as operands.
    """

    def __init__(
        self, forward: Sequence[JaxprEqn], again: Sequence[JaxprEqn], kept: Sequence[Var]
    ) -> None:
        self.forward = list(forward)
        self.again = list(again)
        self.kept = list(kept)


def divide(eqns: Sequence[JaxprEqn], policy: Policy | None) -> Division:
    """Splits the equations of a program by `policy`, including those of inner programs.

    Without a policy, nothing is saved except results of equations that use references.
    """
    whole = Division([], [], [])
    kept: set[Var] = set()
    for eqn in eqns:
        if any([isinstance(e, InputEffect) for e in eqn.effects]):
            # References may have changed by the time of recomputation, and must not be written twice.
            part = Division([eqn], [], eqn.outvars)
        else:
            part = Division([eqn], [eqn], []) if policy is None else _divided(eqn, policy, kept)
        whole.forward += part.forward
        whole.again += part.again
        whole.kept += part.kept
        kept.update(part.kept)
    return whole


def _divided(eqn: JaxprEqn, policy: Policy, kept: set[Var]) -> Division:
    answer = policy(eqn.primitive, *[a.aval for a in eqn.invars], **eqn.params)
    avals = [v.aval for v in eqn.outvars if isinstance(v.aval, ShapedArray)]
    if isinstance(answer, Offloadable) and len(avals) == len(eqn.outvars):
        return _offloaded(eqn, avals, answer)
    if bool(answer) and not isinstance(answer, RecomputeType):
        # An effect such as a print is repeated only if all of its operands are recomputed: no value
        # is saved for the sake of an effect.
        happens_again = (
            bool(eqn.effects)
            and not eqn.outvars
            and kept.isdisjoint([a for a in eqn.invars if isinstance(a, Var)])
        )
        return Division([eqn], [eqn] if happens_again else [], eqn.outvars)
    users = DIVIDED_BY_POLICY.rule_of(eqn.primitive)
    if users is not None:
        return _divided_by_user(users, eqn, policy)
    rule = _rules.get(eqn.primitive.name)
    return Division([eqn], [eqn], []) if rule is None else rule(eqn, policy)


def _offloaded(eqn: JaxprEqn, avals: Sequence[ShapedArray], answer: Offloadable) -> Division:
    """Moves the saved results of an equation to the memory that a policy names, and later back."""
    there, here = (
        MemorySpace.Host if kind.endswith("host") else MemorySpace.Device
        for kind in (answer.dst, answer.src)
    )
    kept = [Var(aval.update(memory_space=there)) for aval in avals]
    out = [_moved(v, w, there, eqn) for v, w in zip(eqn.outvars, kept, strict=True)]
    back = [_moved(w, v, here, eqn) for v, w in zip(eqn.outvars, kept, strict=True)]
    return Division([eqn, *out], back, kept)


def _moved(x: Var, moved: Var, space: MemorySpace, eqn: JaxprEqn) -> JaxprEqn:
    """Returns an equation that moves `x` to the memory `space`, at the source location of `eqn`."""
    params = {
        "devices": (space,),
        "srcs": (None,),
        "copy_semantics": (ArrayCopySemantics.ALWAYS_COPY,),
    }
    return JaxprEqn([x], [moved], device_put_p, params, no_effects, eqn.source_info, eqn.ctx)


def _divided_by_user(rule: Callable[..., Any], eqn: JaxprEqn, policy: Policy) -> Division:
    """Splits an equation by a user's rule: see `partial_eval_jaxpr_custom_rules`."""
    n = len(eqn.invars)
    forward, again, _, _, kept = rule(policy, [False] * n, [True] * n, eqn)
    # Results that are not recomputed must be saved.
    computed = () if again is None else again.outvars
    kept = [*kept, *[v for v in eqn.outvars if v not in computed and v not in kept]]
    parts = [[e] if e is not None else [] for e in (forward, again)]
    return Division(parts[0], parts[1], kept)


def _programs(closed: ClosedJaxpr, policy: Policy) -> tuple[ClosedJaxpr, ClosedJaxpr, list[Var]]:
    """Splits a program by `policy`.

    Returns: a tuple (program with the saved values as additional results, program with the saved
      values as additional operands, variables of the saved values).
    """
    flat = without_calls(closed)
    program: Jaxpr = flat.jaxpr
    parts = divide(program.eqns, policy)
    info = program.debug_info._replace(arg_names=None, result_paths=None)
    forward = program.replace(
        eqns=parts.forward, outvars=[*program.outvars, *parts.kept], debug_info=info
    )
    again = program.replace(
        eqns=parts.again, invars=[*program.invars, *parts.kept], debug_info=info
    )
    again, _ = dce_jaxpr(again, (True,) * len(again.outvars))  # drops the operands for saved values
    return ClosedJaxpr(forward, flat.consts), ClosedJaxpr(again, flat.consts), parts.kept


def _divided_scan(eqn: JaxprEqn, policy: Policy) -> Division:
    params = eqn.params
    forward, again, inner = _programs(params["jaxpr"], policy)
    if not inner:
        return Division([eqn], [eqn], [])
    length = params["length"]
    kept = [Var(v.aval.update(shape=(length, *v.aval.shape))) for v in inner]
    consts, carry, rows = params["ft_in"].elts
    carry_out, rows_out = params["ft_out"].elts
    added = flat_trees.values(len(kept))
    first = {"jaxpr": forward, "ft_out": group(carry_out, group(rows_out, added))}
    later = {"jaxpr": again, "ft_in": group(consts, carry, group(rows, added))}
    return Division(
        [eqn.replace(params={**params, **first}, outvars=[*eqn.outvars, *kept])],
        [eqn.replace(params={**params, **later}, invars=[*eqn.invars, *kept])],
        kept,
    )


def _divided_cond(eqn: JaxprEqn, policy: Policy) -> Division:
    parts = [_programs(branch, policy) for branch in eqn.params["branches"]]
    inner = [kept for _, _, kept in parts]
    if not any(inner):
        return Division([eqn], [eqn], [])
    kept = [Var(v.aval) for some in inner for v in some]
    n_out = len(eqn.outvars)

    def with_zeros(k: int) -> ClosedJaxpr:
        """Returns branch `k` with zeros for the values that other branches save."""
        forward, _, _ = parts[k]

        def run(*args: Value) -> list[Value]:
            outs = eval_jaxpr(forward.jaxpr, forward.consts, *args)
            own_residuals = outs[n_out:]
            residuals = [
                own_residuals if i == k else [full(v.aval.shape, 0, v.aval.dtype) for v in some]
                for i, some in enumerate(inner)
            ]
            return [*outs[:n_out], *(x for values in residuals for x in values)]

        return _traced(run, forward.in_avals, forward.jaxpr)

    def with_all(k: int) -> ClosedJaxpr:
        """Returns branch `k` with the saved values of all branches as operands."""
        _, again, _ = parts[k]
        before = sum(map(len, inner[:k]))
        n_in = len(eqn.invars) - 1
        own_slots = slice(n_in + before, n_in + before + len(inner[k]))

        def run(*args: Value) -> list[Value]:
            return eval_jaxpr(again.jaxpr, again.consts, *args[:n_in], *args[own_slots])

        avals = [*again.in_avals[:n_in], *(v.aval for v in kept)]
        return _traced(run, avals, again.jaxpr)

    count = range(len(parts))
    forward = {**eqn.params, "branches": tuple(map(with_zeros, count))}
    again = {**eqn.params, "branches": tuple(map(with_all, count))}
    return Division(
        [eqn.replace(params=forward, outvars=[*eqn.outvars, *kept])],
        [eqn.replace(params=again, invars=[*eqn.invars, *kept])],
        kept,
    )


_rules: dict[str, Callable[[JaxprEqn, Policy], Division]] = {
    "scan": _divided_scan,
    "cond": _divided_cond,
}


def _traced(fun: Callable[..., Any], avals: Sequence[Any], origin: Jaxpr) -> ClosedJaxpr:
    info = origin.debug_info._replace(arg_names=None, result_paths=None)
    jaxpr, _, consts = trace_to_jaxpr(fun, avals, info)
    return ClosedJaxpr(jaxpr, consts)


@memoize_by_identity
def without_calls(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Inlines `jit` calls of `closed`, so that a policy sees the operations within them."""
    if all(eqn.primitive.name != "jit" for eqn in closed.jaxpr.eqns):
        return closed

    def run(program: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[Value]:
        env: dict[Var, Any] = dict(zip(program.constvars, consts, strict=True))
        env.update(zip(program.invars, args, strict=True))
        for eqn in program.eqns:
            values = [value_of(a, env) for a in eqn.invars]
            if eqn.primitive.name == "jit":
                inner = eqn.params["jaxpr"]
                out = run(inner.jaxpr, inner.consts, values)
            else:
                out = eqn.primitive.bind(*values, **eqn.params)
                out = out if eqn.primitive.multiple_results else [out]
            env.update(zip(eqn.outvars, out, strict=True))
        return [value_of(a, env) for a in program.outvars]

    flat, _, consts = trace_to_jaxpr(
        lambda *args: run(closed.jaxpr, closed.consts, args),
        closed.in_avals,
        closed.jaxpr.debug_info,
    )
    return ClosedJaxpr(flat, consts)
