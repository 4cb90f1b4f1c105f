"""`jax.export`: serialized programs, and symbolic shapes."""

from typing import TYPE_CHECKING

from jitney.core.symbolic.expressions import is_symbolic_dim as is_symbolic_dim
from jitney.core.symbolic.scope import SymbolicScope as SymbolicScope
from jitney.core.symbolic.shapes import (
    symbolic_args_specs as symbolic_args_specs,
    symbolic_shape as symbolic_shape,
)
from jitney.core.util.lazy import listing, refusing

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
