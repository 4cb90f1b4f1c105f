"""`jax.ad_checkpoint`: rematerialization: `jax.checkpoint` and related functions."""

from typing import TYPE_CHECKING

from jitney.api.autodiff.checkpoint import (
    checkpoint_name as checkpoint_name,
    checkpoint_name_fwd as checkpoint_name_fwd,
    print_saved_residuals as print_saved_residuals,
    saved_residuals as saved_residuals,
)
from jitney.api.autodiff.checkpoint_policies import checkpoint_policies as checkpoint_policies
from jitney.core.util.lazy import listing, refusing
from jitney.primitives.call.remat_policies import (
    Offloadable as Offloadable,
    Recompute as Recompute,
    Saveable as Saveable,
)

__all__ = [
    "Offloadable", "Recompute", "Saveable", "checkpoint_name", "checkpoint_name_fwd",
    "checkpoint_policies",
    "print_saved_residuals", "saved_residuals",
]  # fmt: skip

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
