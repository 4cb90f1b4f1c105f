"""XLA's compiler options, accepted for compatibility: only their names are checked."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from jitney.core.diagnostics.errors import JaxRuntimeError


class CompilerEffortLevel(enum.Enum):
    """Levels of XLA's compilation effort; accepted for compatibility, without effect."""

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39


# Compiler options other than XLA's flags, which begin with "xla_".
_NAMES = frozenset(
    "auto_spmd_partitioning_mesh_ids auto_spmd_partitioning_mesh_shape exec_time_optimization_effort "
    "fdo_profile device_memory_size memory_fitting_effort memory_fitting_level num_partitions "
    "num_replicas optimization_level use_auto_spmd_partitioning use_shardy_partitioner "
    "use_spmd_partitioning".split()
)  # fmt: skip


def check_compiler_options(names: Iterable[str] | None) -> None:
    """Raises JaxRuntimeError for names that are not in `_NAMES` and do not begin with "xla_"."""
    for name in names or ():
        if not name.startswith("xla_") and name not in _NAMES:
            raise JaxRuntimeError(
                f"No such compile option: {name!r}. Names of XLA's flags begin with xla_."
            )
