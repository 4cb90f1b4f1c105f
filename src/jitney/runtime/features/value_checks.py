"""Checks of the results of eager operations for NaN and infinities.

`runtime/execution/debug_checks.py` checks the results of programs, whose operations are then
evaluated one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from jitney.core.settings import config
from jitney.core.tracing.primitive import Primitive
from jitney.core.tracing.trace import intercept_evaluation
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.execution import debug_checks
from jitney.runtime.execution.eager import EvalTrace

if TYPE_CHECKING:
    from jitney.core.typing import Value


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
            and not primitive.is_evaluated_by_user(built_in)
            and config.checks_values()
        ):
            outs = results if primitive.multiple_results else [results]
            debug_checks.check_results(primitive, [x for x in outs if type(x) is ArrayImpl])
        return results


def install() -> None:
    """Registers the checks, which start when one of their options is first set."""
    config.value_checks.installs(partial(intercept_evaluation, ValueChecks))
