"""The module that `multiprocessing`'s fork server preloads: makes `import jax` import this package.

`install` puts it before the modules that the program preloads, which may import jax.
"""

from jitney.install import install_as_jax

install_as_jax()
