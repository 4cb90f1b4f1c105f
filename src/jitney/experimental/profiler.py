"""`jax.experimental.profiler`: reads profiles, to guide later compilations."""

from __future__ import annotations

import os
from pathlib import Path

from jitney.core.diagnostics.errors import JaxRuntimeError
from jitney.core.profiling.profile_data import ProfileData
from jitney.core.util.lazy import listing

__all__ = ["get_profiled_instructions_proto"]

__dir__ = listing(__name__)

_FILES = "*.trace.json.gz", "*.trace.json", "*.xplane.pb"


def get_profiled_instructions_proto(tensorboard_dir: str | os.PathLike[str]) -> bytes:
    """Returns the costs of GPU instructions in the profiles of a folder, as a protocol buffer.

    Args:
      tensorboard_dir: folder that was passed to `jax.profiler.start_trace`.

    Returns: a serialized `ProfiledInstructionsProto`. It is empty, as in JAX on CPUs, since CPU
      profiles contain no such instructions.

    Raises:
      JaxRuntimeError: if the folder does not exist, or contains no profile.
      RuntimeError: if a profile cannot be read.
    """
    folder = Path(tensorboard_dir)
    if not folder.is_dir():
        raise JaxRuntimeError(
            f"get_profiled_instructions_proto: the folder {str(tensorboard_dir)!r} does not exist"
        )
    found = sorted({path for pattern in _FILES for path in folder.rglob(pattern)})
    if not found:
        raise JaxRuntimeError(
            f"get_profiled_instructions_proto: the folder {str(tensorboard_dir)!r} contains no "
            "profile; write one with jax.profiler.start_trace"
        )
    for path in found:
        ProfileData.from_file(path)
    return b""
