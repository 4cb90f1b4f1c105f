"""`platform_dependent`, which selects a function by platform.

In programs it is a `cond` whose branches are labeled with platforms and whose index is
`platform_index`. Lowering resolves the choice and drops the other branches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from jitney.core.settings import config
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.trace import state
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.primitives.control.cond import conditional
from jitney.primitives.control.cond_primitive import Platforms, branch_for_cpu

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.typing import PyTree
    from jitney.primitives.rule_types import Builder, Node

T = TypeVar("T")

platform_index_p = declare("platform_index")


@platform_index_p.abstract
def _platform_index_abstract(*, platforms: Platforms) -> ShapedArray:
    return shaped_array((), np.dtype(np.int32), False)


@platform_index_p.eager
def _platform_index_eager(*, platforms: Platforms) -> np.ndarray:
    return np.asarray(branch_for_cpu(platforms), np.int32)


@platform_index_p.lower
def _platform_index_lower(b: Builder, *, platforms: Platforms) -> Node:
    return b.full((), branch_for_cpu(platforms), np.dtype(np.int32))


platform_index_p.absent("jvp", "transpose", "batch", why="no operands")


def platform_dependent(
    *args: PyTree,
    default: Callable[..., T] | None = None,
    **per_platform: Callable[..., T],
) -> T:
    """Calls the function for the current platform, here always the CPU, or the default function.

    Args:
      *args: the arguments of the function, pytrees of arrays.
      default: the function for platforms that are not named.
      **per_platform: the function for each named platform, such as `cpu=f`.

    Raises:
      NotImplementedError: if there is neither a function for the CPU nor a default. Within a
        program, it is raised at compile time.

    Example:
      >>> lax.platform_dependent(jnp.array([3]), cpu=lambda x: x + 1, default=lambda x: x - 1)
      Array([4], dtype=int32)
    """
    if state.trace is state.eval_trace or config.disable_jit_enabled():
        platforms = (*((name,) for name in per_platform), *([None] if default else []))
        functions = (*per_platform.values(), *([default] if default else []))
        return functions[branch_for_cpu(platforms)](*args)
    return chosen_by_platform(args, {(name,): f for name, f in per_platform.items()}, default)


def chosen_by_platform(
    args: Sequence[PyTree],
    per_platform: dict[tuple[str, ...], Callable[..., T]],
    default: Callable[..., T] | None,
) -> T:
    """Records `platform_dependent` in a program, as a `cond` over platforms."""
    functions = [*per_platform.values(), *([default] if default else [])]
    platforms: Platforms = (*per_platform, *([None] if default else []))
    index = platform_index_p.bind(platforms=platforms)
    names = [f"branch {i}" for i in range(len(functions))]
    return conditional(index, names, functions, args, {"branches_platforms": platforms})
