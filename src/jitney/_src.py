"""`jax._src`: the private modules of JAX that programs and libraries use.

This package contains no module files; `jitney.private` creates each module when it is imported.
"""

from jitney.private import modules

__path__: list[str] = []  # makes this a package, so that `import jax._src.core` works
__getattr__, __dir__ = modules.namespace(__name__)
modules.install_finder()
