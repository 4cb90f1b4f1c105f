"""`jax._src`: JAX's private modules, as far as programs and libraries use them.

This package contains no modules; `jitney.private` creates each of them when it is imported.
"""

from jitney.private import modules

__path__: list[str] = []  # makes this a package, so that `import jax._src.core` works
__getattr__, __dir__ = modules.namespace(__name__)
modules.install_finder()
