"""`jax.scipy.special`: special functions."""

from jitney.core.util.lazy import attach

_lookup, __dir__, __all__ = attach(__name__, __file__, published_by="jitney.api.jit.repeated")

_REMOVED = {
    "sph_harm": "sph_harm does not exist, as JAX 0.10 has removed it; "
    "jax.scipy.special.sph_harm_y takes the degree first, and the polar angle before the azimuth",
}


def __getattr__(name: str) -> object:
    if name in _REMOVED:
        raise AttributeError(_REMOVED[name])
    return _lookup(name)
