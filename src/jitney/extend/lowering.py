"""`jax.extend.lowering`: the context of lowering rules."""

from typing import TYPE_CHECKING

from jitney.core.util.lazy import listing, refusing
from jitney.primitives.lowering_context import LoweringRuleContext as LoweringRuleContext

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
