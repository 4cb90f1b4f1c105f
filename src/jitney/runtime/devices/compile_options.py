"""Options of a compilation, as `jax.extend.backend.get_compile_options` returns them.

Programs are compiled for one process. Options of XLA are accepted, but have no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.core.typing import ArrayLike


class DeviceAssignment:
    """The devices that run a program, by replica and partition.

    Raises:
      ValueError: if the ids are not in a matrix.
    """

    def __init__(self, ids: ArrayLike) -> None:
        self._ids = np.asarray(ids, np.int64)
        if self._ids.ndim != 2:
            raise ValueError(
                "DeviceAssignment: ids must be a matrix [replicas, partitions], but have shape "
                f"{self._ids.shape}"
            )

    def replica_count(self) -> int:
        """Returns the number of replicas."""
        return self._ids.shape[0]

    def computation_count(self) -> int:
        """Returns the number of partitions of each replica."""
        return self._ids.shape[1]

    @property
    def ids(self) -> list[int]:
        """The ids of the devices, replica by replica."""
        return [int(i) for i in self._ids.ravel()]

    def __eq__(self, other: object) -> bool:
        return type(other) is DeviceAssignment and np.array_equal(self._ids, other._ids)

    def __hash__(self) -> int:
        return hash((self._ids.shape, self._ids.tobytes()))

    def __repr__(self) -> str:
        return f"DeviceAssignment({self._ids.tolist()})"


@record
class CompileOptions:
    """Options of a compilation.

    Attributes:
      num_replicas, num_partitions: how many devices run the program.
      device_assignment: these devices; None for the default ones.
      env_option_overrides: (name, value) pairs of XLA's options, which have no effect.
      parameter_is_tupled_arguments: accepted for compatibility.
      profile_version: accepted for compatibility.
    """

    num_replicas: int = 1
    num_partitions: int = 1
    device_assignment: DeviceAssignment | None = None
    env_option_overrides: Sequence[tuple[str, Any]] = ()
    parameter_is_tupled_arguments: bool = False
    profile_version: int = -1


def compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: object = None,
    overrides: dict[str, Any] | None = None,
) -> CompileOptions:
    """Returns options for a number of devices.

    Args:
      num_replicas, num_partitions: how many devices run the program.
      device_assignment: ids of the devices, or devices: [replicas, partitions], or [replicas] if
        there is one partition; or a `DeviceAssignment`.
      overrides: XLA's options by name.

    Raises:
      ValueError: if the assignment is for other numbers of replicas or partitions.
    """
    assignment = device_assignment
    if assignment is not None and not isinstance(assignment, DeviceAssignment):
        devices = np.asarray(assignment, object)
        ids = np.array([getattr(d, "id", d) for d in devices.ravel()], np.int64)
        ids = ids.reshape(devices.shape)
        if ids.ndim == 1 and num_partitions == 1:
            ids = ids[:, None]
        if ids.shape != (num_replicas, num_partitions):
            raise ValueError(
                f"device_assignment has shape {devices.shape}, but the program has {num_replicas} "
                f"replicas and {num_partitions} partitions: pass ids of shape "
                f"{(num_replicas, num_partitions)}"
            )
        assignment = DeviceAssignment(ids)
    pairs = tuple((overrides or {}).items())
    return CompileOptions(num_replicas, num_partitions, assignment, pairs)
