"""Version numbers of this package and of the JAX release whose interface it implements.

The module is public as `jax.version`; therefore its plain names are those of JAX.
"""

from __future__ import annotations as annotations

PACKAGE_VERSION = "0.1.0"

__version_info__ = (0, 12, 0, 1)
__version__ = ".".join(map(str, __version_info__))
