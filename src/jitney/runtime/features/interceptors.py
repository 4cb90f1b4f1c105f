"""Features that observe operations and programs before they are evaluated, or their results.

Each is installed at its first use: for operations as a trace over the evaluating one (see
`core.tracing.trace.intercept_evaluation`), for programs as an interceptor of calls
(`call_interceptors`). Primitives whose implementation is defined by the user (`def_impl`) are not
checked, but the operations that they call are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from jitney.core.recording import recorded_on_mesh
from jitney.core.settings import config
from jitney.core.sharding.mesh import context_meshes, get_mesh
from jitney.core.tracing.primitive import Primitive
from jitney.core.tracing.trace import intercept_evaluation, state
from jitney.runtime.arrays import array_interceptors
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.arrays.array_interceptors import ArrayInterceptor
from jitney.runtime.execution import call_interceptors, debug_checks, placements
from jitney.runtime.execution.assignment import NO_REQUESTS, assign
from jitney.runtime.execution.call_interceptors import ProgramCall
from jitney.runtime.execution.eager import EvalTrace, evaluator_for
from jitney.runtime.features import key_reuse, transfer_guard

if TYPE_CHECKING:
    from jitney.core.array import Array
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.typing import Value


def _is_of_user(primitive: Primitive, built_in: bool) -> bool:
    return primitive.user_impl is not None and not built_in


class KeyReuseChecks(EvalTrace):
    """A trace that records which keys operations use (`jax_debug_key_reuse`)."""

    __slots__ = ()

    def process_primitive(
        self,
        primitive: Primitive,
        args: Sequence[Value],
        params: dict[str, Any],
        built_in: bool = False,
    ) -> object:
        evaluate = partial(super().process_primitive, primitive, args, params, built_in)
        if not key_reuse.is_on():
            return evaluate()
        return key_reuse.watch_operation(primitive, args, params, evaluate)


class TransferGuards(EvalTrace):
    """A trace that guards transfers of operands that are not arrays (`jax_transfer_guard`)."""

    __slots__ = ()

    def process_primitive(
        self,
        primitive: Primitive,
        args: Sequence[Value],
        params: dict[str, Any],
        built_in: bool = False,
    ) -> object:
        if not _is_of_user(primitive, built_in):
            for x in args:
                if type(x) is not ArrayImpl and evaluator_for(x) is None:
                    transfer_guard.check_operand(x, str(primitive))
        return super().process_primitive(primitive, args, params, built_in)


class ValueChecks(EvalTrace):
    """A trace that checks results for NaN and infinities (`jax_debug_nans`, `jax_debug_infs`).

    The results of a compiled program are checked by its callers.
    """

    __slots__ = ()

    names_sources = True

    def process_primitive(
        self,
        primitive: Primitive,
        args: Sequence[Value],
        params: dict[str, Any],
        built_in: bool = False,
    ) -> object:
        results = super().process_primitive(primitive, args, params, built_in)
        if (
            primitive.eager_rule is not None
            and not _is_of_user(primitive, built_in)
            and config.checks_values()
        ):
            outs = results if primitive.multiple_results else [results]
            debug_checks.check_results(primitive, [x for x in outs if type(x) is ArrayImpl])
        return results


class OnContextMesh(EvalTrace):
    """A trace that puts results on the context mesh (`jax.set_mesh`)."""

    __slots__ = ()

    def process_primitive(
        self,
        primitive: Primitive,
        args: Sequence[Value],
        params: dict[str, Any],
        built_in: bool = False,
    ) -> object:
        mesh = get_mesh()
        if mesh.empty or _is_of_user(primitive, built_in):
            return super().process_primitive(primitive, args, params, built_in)
        requests = placements.or_on(mesh, NO_REQUESTS)
        assign(args, describe=lambda i: f"argument {i} of {primitive}", requests=requests)
        results = super().process_primitive(primitive, args, params, built_in)
        is_typed = not primitive.declares_sharding
        if primitive.multiple_results:
            return [placements.settled(x, is_typed) for x in results]
        return placements.settled(results, is_typed)


class KeyReuseInCalls:
    """An interceptor that records which keys programs use (`jax_debug_key_reuse`)."""

    def is_on(self) -> bool:
        """See `CallInterceptor`."""
        return config.debug_key_reuse.value

    def intercept(
        self, call: ProgramCall, proceed: Callable[[], list[ArrayImpl]]
    ) -> list[ArrayImpl]:
        """See `CallInterceptor`."""
        if not key_reuse.is_on():  # a part of an operation that is checked as a whole
            return proceed()
        return key_reuse.watch_program(call.closed, call.leaves, call.name, proceed)


class GuardsOfCalls:
    """An interceptor that guards transfers of operands of programs (`jax_transfer_guard`)."""

    def is_on(self) -> bool:
        """See `CallInterceptor`."""
        return transfer_guard.is_on()

    def intercept(
        self, call: ProgramCall, proceed: Callable[[], list[ArrayImpl]]
    ) -> list[ArrayImpl]:
        """See `CallInterceptor`."""
        transfer_guard.check_operands(call.leaves, call.assignment, f"jit({call.name})")
        return proceed()


class GuardsOfArrays(ArrayInterceptor):
    """An interceptor that guards transfers of values that become arrays (`jax_transfer_guard`)."""

    def check_from_host(self, x: object, what: str) -> None:
        if state.trace is state.eval_trace:
            transfer_guard.check_operand(x, what)

    def check_put(self, x: object, where: Sharding | None) -> None:
        transfer_guard.check_put(x, where)


class NewArraysOnMesh(ArrayInterceptor):
    """An interceptor that puts new arrays on the context mesh (`jax.set_mesh`)."""

    def new_array(self, x: Array) -> Array:
        return placements.settled(x)


_KEY_REUSE_IN_CALLS, _GUARDS_OF_CALLS = KeyReuseInCalls(), GuardsOfCalls()
_GUARDS_OF_ARRAYS, _NEW_ARRAYS_ON_MESH = GuardsOfArrays(), NewArraysOnMesh()


def _check_key_reuse() -> None:
    intercept_evaluation(KeyReuseChecks)
    call_interceptors.features.install(_KEY_REUSE_IN_CALLS)


def _guard_transfers() -> None:
    intercept_evaluation(TransferGuards)
    call_interceptors.features.install(_GUARDS_OF_CALLS)
    array_interceptors.features.install(_GUARDS_OF_ARRAYS)


def _intercept_on_mesh(context_meshes: int) -> None:
    recorded_on_mesh.intercept(context_meshes)
    if context_meshes:
        intercept_evaluation(OnContextMesh)
        array_interceptors.features.install(_NEW_ARRAYS_ON_MESH)
    else:
        array_interceptors.features.remove(_NEW_ARRAYS_ON_MESH)


def install() -> None:
    """Registers each feature, which starts to intercept operations and calls when first used."""
    config.key_reuse_checks.installs(_check_key_reuse)
    config.transfer_checks.installs(_guard_transfers)
    config.value_checks.installs(partial(intercept_evaluation, ValueChecks))
    context_meshes.listen(_intercept_on_mesh)
