"""`jax._src`: JAX's private modules, as far as programs and libraries read them.

No module lies here: `jitney.private` makes each of them when it is asked for.
"""

from jitney.private import modules

__path__: list[str] = []  # a package: `import jax._src.core` is an import from it
__getattr__, __dir__ = modules.namespace(__name__)
modules.install_finder()
