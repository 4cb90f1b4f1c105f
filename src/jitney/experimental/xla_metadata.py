"""`jax.experimental.xla_metadata`: attributes for the compiler, on operations or values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitney.core import eqn_notes
from jitney.core.lazy import listing
from jitney.core.pytree import pytrees
from jitney.primitives.array.metadata import xla_metadata_value_p
from jitney.primitives.elementwise.convert import as_value

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

_NOT_GIVEN = object()


class XlaMetadataContextManager(eqn_notes.noting):
    """Within the context, or the decorated function, equations have the attributes.

    Those of a context around it stay, but for ones of the same names; None takes one away.
    """

    def __init__(self, updates: dict[str, Any]) -> None:
        super().__init__()
        self.result = self
        self.updates = updates

    def fields(self) -> dict[str, Any]:
        pairs = {**dict(eqn_notes.current().xla_metadata), **self.updates}
        kept = {name: value for name, value in pairs.items() if value is not None}
        return {"xla_metadata": tuple(sorted(kept.items()))}


def set_xla_metadata(x: PyTree = _NOT_GIVEN, **kwargs: Any) -> Any:
    """Attributes for the compiler: programs show them, and compute the same.

    Args:
      x: a pytree of arrays, to which the attributes are given.
      **kwargs: names and hashable values of attributes.

    Returns: `x`; without it, a context manager and decorator, within which all operations have them.

    Raises:
      TypeError: if a leaf of `x` is no array, or a value is not hashable.

    Example:
      >>> from jax.experimental.xla_metadata import set_xla_metadata
      >>> with set_xla_metadata(stage="first"):
      ...     y = jnp.sin(0.0)
      >>> jax.make_jaxpr(lambda x: set_xla_metadata(x, stage=2))(1.0)
      { lambda ; a:f32[]. let
          b:f32[] = xla_metadata_value[xla_metadata_kvs=(('stage', 2),)] a
        in (b,) }
    """
    hash(tuple(kwargs.values()))
    if x is _NOT_GIVEN:
        return XlaMetadataContextManager(kwargs)
    pairs = tuple(sorted(kwargs.items()))
    return pytrees.tree_map(
        lambda leaf: xla_metadata_value_p.bind(as_value(leaf), xla_metadata_kvs=pairs), x
    )


__all__ = ["set_xla_metadata"]

__dir__ = listing(__name__)
