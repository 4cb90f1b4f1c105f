"""The module that `multiprocessing`'s fork server preloads: makes `import jax` import this package.

`install` puts this module before the modules that the program preloads, since these can import jax.
"""

from jitney.install import install_as_jax

install_as_jax()
