"""`jax.experimental.serialize_executable`: compiled programs as bytes, for other processes to load."""

from jitney.api.serialized import (
    deserialize_and_load as deserialize_and_load,
    serialize as serialize,
)
from jitney.core.lazy import listing

__dir__ = listing(__name__)
