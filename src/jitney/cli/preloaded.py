"""The module that `multiprocessing`'s fork server preloads: `import jax` gives this package.

`install` puts it before the modules that the program has the server load, which may import jax.
"""

from jitney.install import install_as_jax

install_as_jax()
