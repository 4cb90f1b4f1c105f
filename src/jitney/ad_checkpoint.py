"""`jax.ad_checkpoint`: what belongs to `jax.checkpoint`."""

from jitney.api.checkpoint import (
    checkpoint as checkpoint,
    checkpoint_name as checkpoint_name,
    print_saved_residuals as print_saved_residuals,
    saved_residuals as saved_residuals,
)
from jitney.api.checkpoint_policies import (
    Offloadable as Offloadable,
    checkpoint_policies as checkpoint_policies,
)
from jitney.primitives.call.remat_policies import Recompute as Recompute, Saveable as Saveable

remat = checkpoint
