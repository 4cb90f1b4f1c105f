"""Generation of the source maps of a function after each of several passes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.util.lazy import listing
from jitney.experimental.source_mapper.common import Pass, SourceMapDump

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

__dir__ = listing(__name__)


def generate_sourcemaps(
    f: Callable[..., Any], passes: Sequence[Pass], **pass_kwargs: object
) -> Callable[..., Sequence[SourceMapDump]]:
    """Returns a function that computes the source maps of `f` after the given passes.

    Args:
      f: a function of arrays, which is traced and compiled for each pass.
      passes: passes, in order; see `all_passes` and `filter_passes`.
      **pass_kwargs: options for the passes.

    Returns: a function with the parameters of `f`, which returns a `SourceMapDump` for each pass.

    Example:
      >>> from jax.experimental import source_mapper
      >>> passes = source_mapper.filter_passes("jaxpr")
      >>> (dump,) = source_mapper.generate_sourcemaps(lambda x: x + 1, passes)(2.0)
      >>> print(dump.generated_code)
      { lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[] in (b,) }
    """

    def wrapper(*args: PyTree, **kwargs: PyTree) -> Sequence[SourceMapDump]:
        dumps: list[SourceMapDump] = []
        with tempfile.TemporaryDirectory() as folder:
            for own in passes:
                work_dir = os.path.join(folder, own.name)
                os.makedirs(work_dir)
                program = own.compile_fn(work_dir, f, args, kwargs, **pass_kwargs)
                dumps.append(own.generate_dump(program, **pass_kwargs))
        return dumps

    return wrapper
