"""`jax.experimental.serialize_executable`: serialization of compiled programs."""

from typing import TYPE_CHECKING

from jitney.api.jit.serialized import (
    deserialize_and_load as deserialize_and_load,
    serialize as serialize,
)
from jitney.core.util.lazy import listing, refusing

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
