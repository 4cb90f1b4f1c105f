"""`jax.custom_derivatives`: functions with custom derivative rules."""

from typing import TYPE_CHECKING

from jitney.api.autodiff.custom_gradient import (
    closure_convert as closure_convert,
    custom_gradient as custom_gradient,
    custom_vjp_primal_tree_values as custom_vjp_primal_tree_values,
    linear_call as linear_call,
    zero_from_primal as zero_from_primal,
)
from jitney.api.autodiff.custom_jvp import custom_jvp as custom_jvp
from jitney.api.autodiff.custom_vjp import (
    CustomVJPPrimal as CustomVJPPrimal,
    custom_vjp as custom_vjp,
)
from jitney.core.util.lazy import listing, refusing
from jitney.primitives.call.custom import (
    custom_jvp_call_p as custom_jvp_call_p,
    custom_vjp_call_p as custom_vjp_call_p,
)
from jitney.transforms.zero import SymbolicZero as SymbolicZero

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
