"""`jax._src.ad_util`; lineax gives the primitive a transposition rule."""

from jitney.primitives.array.annotations import stop_gradient_p as stop_gradient_p
