"""`jax.scipy.special`: special functions."""

from jitney.core.util.lazy import attach

_lookup, __dir__, __all__ = attach(__name__, __file__, published_by="jitney.api.jit.repeated")

_REMOVED = {
    "sph_harm": "jax.scipy.special.sph_harm was removed in JAX 0.10; use sph_harm_y, which takes "
    "the degree before the order, and the polar angle before the azimuth",
}


def __getattr__(name: str) -> object:
    if name in _REMOVED:
        raise AttributeError(_REMOVED[name])
    return _lookup(name)
