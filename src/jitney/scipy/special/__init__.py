"""`jax.scipy.special`: special functions."""

from jitney.core.lazy import attach

_lookup, __dir__, __all__ = attach(__name__, __file__, published_by="jitney.api.repeated")

_REMOVED = {
    "sph_harm": "jax.scipy.special.sph_harm was deprecated in v0.7.0 and removed in v0.10.0. Use "
    "jax.scipy.special.sph_harm_y instead.",
}


def __getattr__(name: str) -> object:
    if name in _REMOVED:
        raise AttributeError(_REMOVED[name])
    return _lookup(name)
