"""`jax.extend.source_info_util`: source locations of equations, and filters for user frames.

An interpreter of jaxprs attaches the source location of each equation to the operations that it
records:

    stack = current_name_stack() + eqn.source_info.name_stack
    with user_context(eqn.source_info.traceback, name_stack=stack):
        outs = eqn.primitive.bind(*operands, **eqn.params)
"""

from jitney.core.source.name_stack import NameStack as NameStack, new_name_stack as new_name_stack
from jitney.core.source.source_info import (
    SourceInfo as SourceInfo,
    current as current,
    current_name_stack as current_name_stack,
    register_exclusion as register_exclusion,
    reset_name_stack as reset_name_stack,
    summarize as summarize,
)
from jitney.core.tracing.remembering import (
    extend_name_stack as extend_name_stack,
    set_name_stack as set_name_stack,
    transform_name_stack as transform_name_stack,
    user_context as user_context,
)
from jitney.core.util.lazy import listing

__dir__ = listing(__name__)

new_source_info = current
