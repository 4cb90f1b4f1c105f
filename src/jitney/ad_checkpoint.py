"""`jax.ad_checkpoint`: what belongs to `jax.checkpoint`."""

from jitney.api.checkpoint import checkpoint_name as checkpoint_name
from jitney.api.checkpoint import print_saved_residuals as print_saved_residuals
from jitney.api.checkpoint import saved_residuals as saved_residuals
from jitney.api.checkpoint_policies import Offloadable as Offloadable
from jitney.api.checkpoint_policies import checkpoint_policies as checkpoint_policies
from jitney.ops.remat import Recompute as Recompute
from jitney.ops.remat import Saveable as Saveable
