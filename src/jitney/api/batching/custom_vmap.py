"""`custom_vmap`: functions with custom batching rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.api.jit.jit_call import fun_name, trace_closed
from jitney.api.jit.signature import positional
from jitney.api.rules.inner_rules import inner_rule
from jitney.api.rules.user_results import is_sequence
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.pytree import pytrees
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.source import source_info
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.trace import set_current_trace, state
from jitney.core.types.avals import get_aval
from jitney.primitives import rules
from jitney.primitives.call.inlined import calls_program
from jitney.primitives.control import mapping
from jitney.primitives.elementwise.convert import owned_results
from jitney.transforms.batch import AxisData, batch_flat, batch_jaxpr_at
from jitney.transforms.jvp import jvp_flat, jvp_jaxpr
from jitney.transforms.partial import PartialTrace
from jitney.transforms.zero import Zero, instantiate, with_zeros

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import ArrayLike, PyTree, Value
    from jitney.primitives.rule_types import BatchDim
    from jitney.transforms.zero import Tangent

F = TypeVar("F", bound=Callable[..., Any])

custom_vmap_p = declare("custom_vmap_call", multiple_results=True)
calls_program(custom_vmap_p, "call")


class BatchingRule:
    """A rule on flat values: (axis size, mapped flags, values) -> (results, mapped flags)."""

    def __init__(self, call: Callable[..., Any], name: str) -> None:
        self.call = call
        self.__name__ = name

    def __repr__(self) -> str:
        return f"<function {self.__name__} at 0xXXXXXXXXXXXX>"


custom_vmap_p.absent(
    "eager", why="evaluated whole, as a compiled program (runtime.eager), not on NumPy arrays"
)
custom_vmap_p.absent("transpose", why="derivatives split its program into known and linear parts")


def _is_mapped(_: object) -> bool:
    return True


@custom_vmap_p.batch
def _custom_vmap_batch(
    args: Any, dims: Any, *, rule: BatchingRule, **_: Any
) -> tuple[Sequence[Value], list[BatchDim]]:
    size = rules.batch_size(args, dims)
    moved = [x if d is None else rules.move_axis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    outs, mapped = rule.call(size, [d is not None for d in dims], moved)
    return outs, [0 if m else None for m in mapped]


@custom_vmap_p.over_devices
def _custom_vmap_over_devices(
    axis_data: AxisData, args: Any, dims: Any, *, call: ClosedJaxpr, **_: Any
) -> tuple[list[Value], list[BatchDim]]:
    """Batches the function itself instead of calling its rule.

    The axis is one of devices, not of a `vmap`: each device runs the function.
    """
    program, out_dims = batch_jaxpr_at(call, axis_data, tuple(dims))
    return eval_jaxpr(program.jaxpr, program.consts, *args), list(out_dims)


@custom_vmap_p.jvp
def _custom_vmap_jvp(
    primals: Any, tangents: Any, *, call: ClosedJaxpr, rule: BatchingRule, in_tree: PyTreeDef,
    out_tree: PyTreeDef,
) -> tuple[list[Value], list[Tangent]]:  # fmt: skip
    n_out = len(call.out_avals)
    nonzero = tuple(not isinstance(t, Zero) for t in tangents)
    program, nonzero_out = jvp_jaxpr(call, nonzero, False)
    nonzero_tangents = [t for t in tangents if not isinstance(t, Zero)]

    outs = custom_vmap_p.bind(
        *primals,
        *nonzero_tangents,
        call=program,
        rule=BatchingRule(
            _DerivativeRule(rule, nonzero, nonzero_out), "custom_vmap_jvp.<locals>.jvp_of_rule_rule"
        ),
        in_tree=pytrees.treedef_tuple([in_tree, in_tree]),
        out_tree=pytrees.treedef_tuple([out_tree, out_tree]),
    )
    avals = [a.to_tangent_aval() for a in call.out_avals]
    return outs[:n_out], with_zeros(outs[n_out:], nonzero_out, avals)


class _DerivativeRule:
    """The batching rule of a function's JVP, derived from the function's own rule.

    The operands are those of the function, followed by the nonzero tangents; likewise the results.

    Args:
      rule: the function's batching rule.
      nonzero: which operands have a tangent.
      nonzero_out: which results have a tangent.
    """

    def __init__(
        self, rule: BatchingRule, nonzero: Sequence[bool], nonzero_out: Sequence[bool]
    ) -> None:
        self.rule = rule
        self.nonzero = nonzero
        self.nonzero_out = nonzero_out

    def __call__(
        self, size: int, batched: Sequence[bool], values: Sequence[Any]
    ) -> tuple[list[Value], list[bool]]:
        n = len(self.nonzero)
        of_tangents = iter(batched[n:])
        alike = [  # for each operand: (whether its value is mapped, whether its tangent is mapped)
            (mapped, next(of_tangents) if present else mapped)
            for mapped, present in zip(batched[:n], self.nonzero, strict=True)
        ]
        if not any(value and tangent for value, tangent in alike):
            unmapped_results = self._of_unmapped(size, batched, values)
            if unmapped_results is not None:
                return unmapped_results
            # If the rule returns mapped results for unmapped operands, call it on mapped operands.
        mapped_flags = [value or tangent for value, tangent in alike]
        of_given = [m for m, present in zip(mapped_flags, self.nonzero, strict=True) if present]
        whole = [
            rules.to_front(x, None, size) if m and not b else x
            for x, m, b in zip(values, [*mapped_flags, *of_given], batched, strict=True)
        ]
        return self._derivative(size, mapped_flags, whole)

    def _of_unmapped(
        self, size: int, batched: Sequence[bool], values: Sequence[Any]
    ) -> tuple[list[Value], list[bool]] | None:
        """Differentiates a call of the rule on unmapped operands, and batches the derivative.

        The derivative is batched operation by operation. Returns None if the rule returns mapped
        results.
        """
        flags: list[bool] = []

        def unmapped(*xs: ArrayLike) -> list[Value]:
            outs, mapped = self._derivative(size, [False] * len(self.nonzero), xs)
            flags.extend(mapped)
            return outs

        dims_in = [0 if b else None for b in batched]
        outs, dims = batch_flat(unmapped, AxisData(None, size), values, dims_in)
        if any(flags):
            return None
        moved = [
            x if d is None else rules.move_axis(x, d, 0) for x, d in zip(outs, dims, strict=True)
        ]
        return moved, [d is not None for d in dims]

    def _derivative(
        self, size: int, mapped_flags: Sequence[bool], values: Sequence[Any]
    ) -> tuple[list[Value], list[bool]]:
        """Differentiates a call of the rule on operands mapped according to `mapped_flags`.

        Returns ([*values, *tangents], their mapped flags).
        """
        n = len(self.nonzero)
        nonzero_tangents = iter(values[n:])
        mapped_of_calls: list[Sequence[bool]] = []
        dots = [
            next(nonzero_tangents) if present else Zero(get_aval(x).to_tangent_aval())
            for x, present in zip(values[:n], self.nonzero, strict=True)
        ]

        def run(*operands: ArrayLike) -> Sequence[Value]:
            outs, mapped = self.rule.call(size, mapped_flags, operands)
            mapped_of_calls.append(mapped)
            return outs

        outs, douts = jvp_flat(run, values[:n], dots)
        wanted = [instantiate(t) for t, nz in zip(douts, self.nonzero_out, strict=True) if nz]
        also = [m for m, nz in zip(mapped_of_calls[0], self.nonzero_out, strict=True) if nz]
        return [*outs, *wanted], [*mapped_of_calls[0], *also]


@custom_vmap_p.partial
def _custom_vmap_partial(
    trace: PartialTrace, unknown: Any, args: Any, params: dict[str, Any]
) -> list[Value]:
    """Evaluates the function itself.

    The part that is linear in unknown values has no custom rule; its operations are batched one by
    one.
    """
    call: ClosedJaxpr = params["call"]
    with set_current_trace(trace):
        return eval_jaxpr(call.jaxpr, call.consts, *args)


class custom_vmap:  # lower-case, as in JAX's API
    """A function whose batched version is given by `def_vmap` instead of by its operations.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.

    Example:
      >>> total = jax.custom_batching.custom_vmap(lambda x: x.sum())
      >>> @total.def_vmap
      ... def of_rows(axis_size, in_batched, x):
      ...     return x.sum(axis=1), True
      >>> jax.vmap(total)(jnp.ones((2, 3)))
      Array([3., 3.], dtype=float32)
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Callable[..., Any] | None = None

    def def_vmap(self, vmap_rule: F) -> F:
        """Sets the batching rule: (axis size, in_batched, *arguments) -> (result, out_batched).

        The mapped axis is the first axis of mapped arguments, and must be that of mapped results.
        `in_batched` (a list with one entry per argument) and `out_batched` are pytrees of booleans
        that state which arguments and results are mapped.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Callable[..., object]:
        """Returns a rule setter of the wrapped function, such as `defvjp`, if there is one."""
        return inner_rule(self, name)

    @api_boundary
    def __call__(self, *args: PyTree, **kwargs: PyTree) -> Any:
        rule = self.vmap_rule
        name = fun_name(self.fun)
        if rule is None:
            raise AttributeError(
                f"custom_vmap of {name}: no batching rule is defined; define one with def_vmap "
                "before the first batched call"
            )
        args = positional(self.fun, args, kwargs, "custom_vmap")
        if state.trace is state.eval_trace:
            return owned_results(self.fun(*args))
        leaves, in_tree = pytrees.tree_flatten(tuple(args))
        flat = FlatFunction(self.fun, in_tree)
        info = DebugInfo("custom_vmap", source_info.fun_sourceinfo(self.fun))
        call, outer = trace_closed(flat, [get_aval(x) for x in leaves], info)
        n = len(outer)

        def flat_rule(
            size: int, batched: Sequence[bool], values: Sequence[Any]
        ) -> tuple[list[Value], list[bool]]:
            if any(batched[:n]):
                raise ValueError(
                    f"custom_vmap of {name}: its rule receives batched arguments only, but {name} "
                    "closes over a batched value of an enclosing function; pass it as an argument"
                )
            flags = list(pytrees.tree_unflatten(in_tree, batched[n:]))
            result = rule(size, flags, *pytrees.tree_unflatten(in_tree, values[n:]))
            return _checked(rule, result, flat.out_tree, size)

        outs = custom_vmap_p.bind(
            *outer,
            *leaves,
            call=call,
            rule=BatchingRule(flat_rule, rule.__name__),
            in_tree=pytrees.tree_structure(([0] * n, tuple(args))),
            out_tree=flat.out_tree,
        )
        return flat.unflatten(outs)


def _checked(
    rule: Callable[..., Any], result: PyTree, wanted: PyTreeDef, size: int
) -> tuple[list[Value], list[bool]]:
    """Returns the results of a rule after checking them: (flat results, their mapped flags)."""
    name = fun_name(rule)
    if not is_sequence(result) or len(result) != 2:
        raise TypeError(
            f"custom vmap rule {name} must return a pair (outputs, flags of mapped outputs), got "
            f"{result!r}"
        )
    outs, out_tree = pytrees.tree_flatten(result[0])
    flags, flag_tree = pytrees.tree_flatten(result[1])
    if out_tree != flag_tree:
        raise ValueError(
            f"custom_vmap: the second result of rule {name} must have a flag for each output, in the "
            f"tree structure of the outputs, {out_tree}, but its structure is {flag_tree}"
        )
    if out_tree != wanted:
        raise ValueError(
            f"custom_vmap: rule {name} must return outputs in the tree structure of the "
            f"function's outputs, {wanted}, but returned {out_tree}"
        )
    for x, mapped in zip(outs, flags, strict=True):
        if mapped and rules.shape_of(x)[:1] != (size,):
            raise ValueError(
                f"custom vmap rule {name} returned a mapped result of shape {rules.shape_of(x)}; "
                f"its first axis must be the mapped axis, of size {size}"
            )
    return outs, flags


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """Returns a version of `f` that `vmap` calls in a loop (`lax.map`) instead of batching it."""
    function = custom_vmap(f)

    def rule(axis_size: int, in_batched: PyTree, *args: PyTree) -> tuple[object, object]:
        leaves, tree = pytrees.tree_flatten(args)
        flags = pytrees.tree_leaves(in_batched)

        def one(mapped: PyTree) -> object:
            remaining = iter(mapped)
            values = [next(remaining) if m else x for x, m in zip(leaves, flags, strict=True)]
            return function(*pytrees.tree_unflatten(tree, values))

        out = mapping.map(one, [x for x, m in zip(leaves, flags, strict=True) if m])
        return out, pytrees.tree_map(_is_mapped, out)

    rule.__name__ = "sequential_vmap.<locals>.rule"
    function.def_vmap(rule)
    return function
