"""`jax.ref`: mutable references to arrays. See docs/mutable_arrays.md."""

from jitney.core.types.refs import AbstractRef as AbstractRef
from jitney.core.util.lazy import listing
from jitney.lax import scatter as _scatter, scatter_add as _scatter_add
from jitney.numpy import at as _at, indexing as _indexing
from jitney.primitives.refs import elements as _elements, methods as _methods
from jitney.primitives.refs.access import (
    addupdate as addupdate,
    get as get,
    set as set,
    swap as swap,
)
from jitney.primitives.refs.lifetime import (
    empty_ref as empty_ref,
    free_ref as free_ref,
    freeze as freeze,
    new_ref as new_ref,
)
from jitney.primitives.refs.ref import Ref as Ref

_elements.indexing.get = _indexing.get
_elements.indexing.set = lambda x, index, new: _at.scatter_update(x, index, new, _scatter)
_elements.indexing.add = lambda x, index, new: _at.scatter_update(x, index, new, _scatter_add)
_methods.install()

__all__ = [
    "AbstractRef",
    "Ref",
    "addupdate",
    "empty_ref",
    "free_ref",
    "freeze",
    "get",
    "new_ref",
    "set",
    "swap",
]

__dir__ = listing(__name__)
