"""`jax.experimental.colocated_python`: Python functions that run on the hosts of their arguments.

In JAX, the function is sent to the processes that own the devices of its arguments. In jitney, the
devices belong to the calling process, so the function is called directly.
"""

from jitney.core.util.lazy import listing
from jitney.experimental.colocated_python import serialization as serialization
from jitney.experimental.colocated_python.api import (
    colocated_cpu_devices as colocated_cpu_devices,
)
from jitney.experimental.colocated_python.func import colocated_python as colocated_python
from jitney.experimental.colocated_python.obj import (
    colocated_python_class as colocated_python_class,
)

__dir__ = listing(__name__)
