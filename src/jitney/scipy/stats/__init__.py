"""`jax.scipy.stats`: probability distributions and summary statistics."""

from jitney.core.util.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, published_by="jitney.api.jit.repeated")
