"""`jax._src`: the private names of JAX that libraries read, each a pointer to where it is here.

Nothing is defined in this package, and nothing here imports from it. A name is added when a library
is found to need it; `docs/libraries.md` tells which libraries are run. The modules named here are those
that libraries read as attributes, without importing them: `jax._src.distributed.global_state`.
"""

from jitney._src import distributed as distributed, tree_util as tree_util
from jitney.runtime import compiling as compiler

__all__ = ["compiler", "distributed", "tree_util"]
