"""`jax._src`: the private names of JAX that libraries read, each a pointer to where it is here.

Nothing is defined in this package, and nothing here imports from it. A name is added when a library
is found to need it; `docs/libraries.md` tells which libraries are run. Modules load when they are
asked for, also as attributes: importing JAX imports them all, and libraries rely on that.
"""

from jitney.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
