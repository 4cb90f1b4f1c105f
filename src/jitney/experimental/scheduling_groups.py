"""`jax.experimental.scheduling_groups`: calls annotated with attributes for the compiler.

Jaxprs show the attributes, and transformations preserve them. The attributes affect neither results
nor scheduling: jitney executes programs in the order of their plans.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from jitney.core.program.jaxpr import DebugInfo
from jitney.core.pytree import pytrees
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.recording.linear_util import wrap_init
from jitney.core.source import source_info
from jitney.core.typing import PyTree
from jitney.core.util.lazy import listing
from jitney.core.util.wraps import wraps
from jitney.primitives.call.function_call import xla_metadata_call_p as xla_metadata_call_p
from jitney.primitives.elementwise.convert import as_value

P = ParamSpec("P")
R = TypeVar("R")

__all__ = ["scheduling_group", "xla_metadata_call", "xla_metadata_call_p"]

__dir__ = listing(__name__)


def scheduling_group(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Returns a decorator that assigns the operations of a function to the group `name`.

    Example:
      >>> from jax.experimental.scheduling_groups import scheduling_group
      >>> jax.make_jaxpr(scheduling_group("first")(jnp.sin))(1.0)
      { lambda ; a:f32[]. let
          b:f32[] = xla_metadata_call[
            ad_metadata=same
            jaxpr={ lambda ; c:f32[]. let d:f32[] = sin c in (d,) }
            xla_metadata=(('scheduling_group', 'first'),)
          ] a
        in (b,) }
    """
    return xla_metadata_call(scheduling_group=name)


@overload
def xla_metadata_call(f: Callable[P, R], **meta: Any) -> Callable[P, R]: ...


@overload
def xla_metadata_call(
    f: None = None, **meta: Any
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def xla_metadata_call(f: Callable[..., PyTree] | None = None, **meta: Any) -> object:
    """Returns `f` such that its calls are single equations with attributes in jaxprs.

    Args:
      f: a function of pytrees of arrays. If it is omitted, a decorator is returned.
      **meta: names and hashable values of the attributes.
    """
    if f is None:
        return functools.partial(xla_metadata_call, **meta)
    function = f

    @wraps(f)
    def call(*args: PyTree, **kwargs: PyTree) -> object:
        leaves, tree = pytrees.tree_flatten((args, kwargs))
        flat = FlatFunction(function, tree, has_kwargs=True)
        info = DebugInfo("xla_metadata_call", source_info.fun_sourceinfo(function))
        outs = xla_metadata_call_p.bind(
            *map(as_value, leaves),
            subfuns=(wrap_init(flat, debug_info=info),),
            xla_metadata=tuple(meta.items()),
            ad_metadata="same",
        )
        return pytrees.tree_unflatten(flat.out_tree, outs)

    return call
