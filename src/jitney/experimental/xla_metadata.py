"""`jax.experimental.xla_metadata`: compiler attributes of operations and values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from jitney.api.jit.jit import jit
from jitney.core.pytree import pytrees
from jitney.core.recording import eqn_notes
from jitney.core.util.lazy import listing
from jitney.core.util.wraps import wraps
from jitney.primitives.array.metadata import xla_metadata_value_p
from jitney.primitives.elementwise.convert import as_value

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

P = ParamSpec("P")
R = TypeVar("R")
_NOT_GIVEN = object()


class XlaMetadataContextManager(eqn_notes.noting):
    """A context manager and decorator that attaches attributes to equations.

    Attributes of an enclosing context are kept, unless an attribute of the same name overrides
    them; the value None removes an attribute.
    """

    def __init__(self, updates: dict[str, Any]) -> None:
        super().__init__()
        self.result = self
        self.updates = updates

    def fields(self) -> dict[str, object]:
        pairs = {**dict(eqn_notes.current().xla_metadata), **self.updates}
        attributes = {name: value for name, value in pairs.items() if value is not None}
        return {"xla_metadata": tuple(sorted(attributes.items()))}


@overload
def set_xla_metadata(x: T, **kwargs: Any) -> T: ...


@overload
def set_xla_metadata(**kwargs: Any) -> XlaMetadataContextManager: ...


def set_xla_metadata(x: PyTree = _NOT_GIVEN, **kwargs: Any) -> object:
    """Attaches compiler attributes to values or operations.

    Jaxprs show the attributes; results do not depend on them.

    Args:
      x: a pytree of arrays to attach the attributes to. If it is omitted, the result is a context
        manager.
      **kwargs: names and hashable values of the attributes.

    Returns: `x`, or a context manager and decorator within which all operations get the attributes.

    Raises:
      TypeError: if a leaf of `x` is not an array, or a value is not hashable.

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


__all__ = [
    "fuse_limit", "must_fuse_call", "set_xla_metadata", "xla_metadata_call", "xla_metadata_call2",
]  # fmt: skip

__dir__ = listing(__name__)


def fuse_limit() -> XlaMetadataContextManager:
    """Returns a context manager that attaches the attribute `FUSE_LIMIT`, a fusion limit for XLA.

    The attribute does not affect fusion in jitney.
    """
    return XlaMetadataContextManager({"FUSE_LIMIT": True})


def must_fuse_call(identifier: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Returns a decorator that attaches the attribute `MUST_FUSE` to calls of a function.

    The attribute does not affect fusion in jitney.

    Example:
      >>> from jax.experimental.xla_metadata import must_fuse_call
      >>> must_fuse_call("sums")(lambda x: jnp.square(x).sum())(jnp.arange(3.0))
      Array(5., dtype=float32)
    """
    return functools.partial(xla_metadata_call, MUST_FUSE=identifier)


@overload
def xla_metadata_call(f: Callable[P, R], /, **meta: object) -> Callable[P, R]: ...


@overload
def xla_metadata_call(
    f: None = None, /, **meta: object
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def xla_metadata_call(f: Any = None, /, **meta: object) -> object:
    """Returns `f` such that its calls are single equations with compiler attributes.

    Args:
      f: a function of pytrees of arrays. If it is omitted, a decorator is returned.
      **meta: names and values of the attributes; values are strings, booleans or numbers.

    Raises:
      TypeError: if a value has a different type.
    """
    return xla_metadata_call2(f, meta)


@overload
def xla_metadata_call2(
    f: Callable[P, R],
    /,
    metadata: Mapping[str, object] | None = None,
    *,
    ad_metadata: object = "same",
) -> Callable[P, R]: ...


@overload
def xla_metadata_call2(
    f: None = None,
    /,
    metadata: Mapping[str, object] | None = None,
    *,
    ad_metadata: object = "same",
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def xla_metadata_call2(
    f: Any = None,
    /,
    metadata: Mapping[str, object] | None = None,
    *,
    ad_metadata: object = "same",
) -> object:
    """Returns `f` such that its calls are single equations with compiler attributes.

    Args:
      f: a function of pytrees of arrays. If it is omitted, a decorator is returned.
      metadata: names and values of the attributes; values are strings, booleans or numbers.
      ad_metadata: accepted for compatibility and shown in jaxprs: attributes of operations that
        differentiation adds. These operations get the attributes of the call in any case.

    Raises:
      TypeError: if a value has a different type.
    """
    if f is None:
        return functools.partial(xla_metadata_call2, metadata=metadata, ad_metadata=ad_metadata)
    attributes = dict(metadata or {})
    for name, value in attributes.items():
        if not isinstance(value, str | bool | int | float):
            raise TypeError(
                "xla_metadata_call: values of attributes must be strings, booleans or numbers, but "
                f"{name} is {value!r} of type {type(value)}"
            )
    called = jit(f)

    @wraps(f)
    def with_metadata(*args: Any, **kwargs: Any) -> object:
        with XlaMetadataContextManager(attributes):
            return called(*args, **kwargs)

    return with_metadata
