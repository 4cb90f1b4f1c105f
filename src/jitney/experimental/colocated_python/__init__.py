"""`jax.experimental.colocated_python`: Python functions that run where arrays are.

They are for programs whose devices belong to other machines: the function is sent to the processes that
own them. Here devices are this process's own, so the function is called in it, with the arrays as they
are.
"""

from jitney.core.lazy import listing
from jitney.experimental.colocated_python.api import (
    colocated_cpu_devices as colocated_cpu_devices,
)
from jitney.experimental.colocated_python.func import colocated_python as colocated_python
from jitney.experimental.colocated_python.obj import (
    colocated_python_class as colocated_python_class,
)

__dir__ = listing(__name__)
