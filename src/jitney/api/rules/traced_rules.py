"""Traced rules of `custom_gradient`.

A rule is traced when the function is differentiated, and the values that it captures are residuals.
Each class here is therefore a pytree whose leaves are the residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import DebugInfo
from jitney.core.pytree import pytrees
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.source import source_info
from jitney.core.types.avals import get_aval
from jitney.core.types.refs import AbstractRef
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.refs.accumulator import RefAccum
from jitney.transforms.accumulators import GradAccum, NullAccum, ValAccum
from jitney.transforms.logs import checked_log, flat_log
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import Jaxpr
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import PyTree, Value
    from jitney.transforms.logs import Log


class TracedRule:
    """A traced rule that a user's function returned.

    Attributes:
      jaxpr: the program, from flat arguments to flat results; its constants are the residuals.
      out_tree: structure of the result.
      consts: the residuals.
    """

    def __init__(self, jaxpr: Jaxpr, out_tree: PyTreeDef, consts: Sequence[Value]) -> None:
        self.jaxpr = jaxpr
        self.out_tree = out_tree
        self.consts = consts

    def __call__(self, *leaves: Value) -> Any:
        outs = eval_jaxpr(self.jaxpr, self.consts, *leaves)
        return pytrees.tree_unflatten(self.out_tree, outs)


pytrees.register_pytree_node(
    TracedRule,
    lambda r: (r.consts, (r.jaxpr, r.out_tree)),
    lambda aux, consts: TracedRule(aux[0], aux[1], consts),
)


def traced_rule(
    rule: Callable[..., PyTree], in_tree: PyTreeDef, avals: Sequence[AbstractValue]
) -> TracedRule:
    """Traces `rule` for arguments with structure `in_tree` and types `avals`."""
    flat = FlatFunction(rule, in_tree)
    jaxpr, _, consts = trace_to_jaxpr(flat, avals, _info(rule))
    return TracedRule(jaxpr, flat.out_tree, consts)


def pulled_back(rule: Callable[..., PyTree], ans: PyTree) -> TracedRule:
    """Traces `rule` for a cotangent of `ans`."""
    leaves, tree = pytrees.tree_flatten(ans)
    return traced_rule(rule, pytrees.treedef_tuple((tree,)), [*map(_cotangent_type, leaves)])


def _info(rule: Callable[..., PyTree]) -> DebugInfo:
    return DebugInfo("custom_gradient fwd", source_info.fun_sourceinfo(rule))


def _cotangent_type(x: Value) -> AbstractValue:
    return get_aval(x).to_cotangent_aval()


def flat_cotangents(cts: PyTree) -> list[Value]:
    """Returns the cotangents of a result as arrays; symbolic zeros become zeros."""
    leaves = pytrees.tree_leaves(cts, is_leaf=lambda x: isinstance(x, Zero))
    return [instantiate(ct) for ct in leaves]


# --- with accumulators ----------------------------------------------------------------------------


class AccumulatingRule:
    """A traced rule that takes accumulators.

    The user declares the kinds of the accumulators, because the program depends on them:
    accumulating into a reference is an operation of the program.

    Attributes:
      jaxpr: the program, from flat cotangents and references to cotangents of the arguments with a
        `ValAccum` and leaves of the log; its constants are the residuals.
      kinds: the class of each argument's accumulator.
      log_tree: structure of the log.
      consts: the residuals.
    """

    def __init__(
        self,
        jaxpr: Jaxpr,
        kinds: tuple[type[GradAccum], ...],
        log_tree: PyTreeDef,
        consts: Sequence[Value],
    ) -> None:
        self.jaxpr = jaxpr
        self.kinds = kinds
        self.log_tree = log_tree
        self.consts = consts

    def __call__(self, name: str, cts: Sequence[Value], accums: Sequence[Any]) -> Log:
        """Adds cotangents of the arguments of the function `name` to `accums`; returns the log.

        Raises:
          TypeError: if an accumulator is not of the declared kind.
        """
        for place, (accum, kind) in enumerate(zip(accums, self.kinds, strict=True)):
            _check_kind(name, place, accum, kind)
        refs = [a.inst().ref for a in accums if isinstance(a, RefAccum)]
        outs = iter(eval_jaxpr(self.jaxpr, self.consts, *cts, *refs))
        for accum, kind in zip(accums, self.kinds, strict=True):
            if kind is ValAccum:
                accum.accum(next(outs))
        return pytrees.tree_unflatten(self.log_tree, [*map(as_value, outs)])


pytrees.register_pytree_node(
    AccumulatingRule,
    lambda r: (r.consts, (r.jaxpr, r.kinds, r.log_tree)),
    lambda aux, consts: AccumulatingRule(aux[0], aux[1], aux[2], consts),
)


def _check_kind(name: str, place: int, accum: GradAccum, kind: type[GradAccum]) -> None:
    is_dropped = kind is NullAccum or (kind is ValAccum and isinstance(accum, NullAccum))
    if is_dropped or isinstance(accum, kind):
        return
    raise TypeError(
        f"custom_gradient of {name}: with_accums declares a {kind.__name__} for leaf {place} of the "
        f"arguments, but the backward pass has a {type(accum).__name__}. An argument has a RefAccum "
        "only if vjp is applied to the function itself and a reference is passed to VJP.with_refs; "
        "with grad, and within jit, vmap, scan and the like, arguments have ValAccums"
    )


def accumulating_rule(
    name: str,
    rule: Callable[..., object],
    ans: PyTree,
    arguments: tuple[PyTree, ...],
    perturbed: Sequence[bool],
    declared: PyTree,
) -> AccumulatingRule:
    """Traces `rule` for a cotangent of `ans` and accumulators of `arguments`.

    Args:
      name: the name of the function, for messages.
      rule: the user's rule.
      ans: the result of the function.
      arguments: the arguments of the function.
      perturbed: which leaves of the arguments are differentiated; the others get a `NullAccum`.
      declared: a pytree prefix of the arguments with leaves `ValAccum` or `RefAccum`.

    Raises:
      TypeError: if `declared` has other leaves, or if the rule returns neither a dict nor None.
      ValueError: if `declared` is not a prefix of the arguments.
    """
    of_leaves = pytrees.broadcast_prefix(declared, arguments)
    for kind in of_leaves:
        if kind is not ValAccum and kind is not RefAccum:
            raise TypeError(
                f"custom_gradient of {name}: with_accums must have the structure of the arguments "
                "or of a prefix, with leaves ValAccum or RefAccum (of jax.experimental.hijax), but "
                f"has a leaf {kind!r}"
            )
    kinds = tuple([k if p else NullAccum for k, p in zip(of_leaves, perturbed, strict=True)])
    leaves, tree = pytrees.tree_flatten(arguments)
    avals = [*map(_cotangent_type, leaves)]
    outs, out_tree = pytrees.tree_flatten(ans)
    log_tree: Any = None

    def flat(*values: Value) -> list[Value]:
        nonlocal log_tree
        refs: Iterator[Any] = iter(values[len(outs) :])
        accums: list[Any] = [
            RefAccum(aval, next(refs)) if kind is RefAccum else kind(aval)
            for kind, aval in zip(kinds, avals, strict=True)
        ]
        ct = pytrees.tree_unflatten(out_tree, values[: len(outs)])
        log = rule(ct, *pytrees.tree_unflatten(tree, accums))
        entries, log_tree = flat_log(checked_log(log, f"the rule of custom_gradient of {name}"))
        sums = [a.freeze() for a, k in zip(accums, kinds, strict=True) if k is ValAccum]
        return [*map(instantiate, sums), *entries]

    refs = [AbstractRef(a) for a, k in zip(avals, kinds, strict=True) if k is RefAccum]
    jaxpr, _, consts = trace_to_jaxpr(flat, [*map(_cotangent_type, outs), *refs], _info(rule))
    return AccumulatingRule(jaxpr, kinds, log_tree, consts)
