"""Memory profiles of live arrays in pprof's format: `jax.profiler.device_memory_profile`.

A profile is a compressed protocol buffer. It has one sample for each array type on each device: the
number of such arrays and their total size in bytes, labeled with the device, at a "location" named
after the type.

Source: https://github.com/google/pprof/blob/main/proto/profile.proto.
"""

from __future__ import annotations

import collections
import gzip
import math
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from jitney.api.debugging.environment import live_arrays
from jitney.core.util import protobuf
from jitney.core.util.protobuf import Field, Message, Schema

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Device
    from jitney.runtime.arrays.array import ArrayImpl

_SCHEMA: Schema = {
    "profile": {
        "sample_type": Field(1, "value_type", repeated=True),
        "sample": Field(2, "sample", repeated=True),
        "location": Field(4, "location", repeated=True),
        "function": Field(5, "function", repeated=True),
        "string_table": Field(6, "str", repeated=True),
        "time_nanos": Field(9, "int"),
    },
    "value_type": {"type": Field(1, "int"), "unit": Field(2, "int")},
    "sample": {
        "location_id": Field(1, "uint", repeated=True),
        "value": Field(2, "int", repeated=True),
        "label": Field(3, "label", repeated=True),
    },
    "label": {"key": Field(1, "int"), "str": Field(2, "int")},
    "location": {"id": Field(1, "uint"), "line": Field(4, "line", repeated=True)},
    "line": {"function_id": Field(1, "uint")},
    "function": {"id": Field(1, "uint"), "name": Field(2, "int"), "system_name": Field(3, "int")},
}


def device_memory_profile(backend: str | None = None) -> bytes:
    """Returns a profile of the memory used by live arrays, for display by `pprof`.

    Args:
      backend: "cpu" or None.

    Returns: a compressed protocol buffer; see `save_device_memory_profile`.

    Raises:
      RuntimeError: if `backend` is unknown.
    """
    strings = _Strings()
    types = (("allocations", "count"), ("space", "bytes"))
    sample_types = [{"type": strings(name), "unit": strings(unit)} for name, unit in types]
    names: dict[str, int] = {}
    samples: list[Message] = []
    for (name, device), sizes in _by_type(live_arrays(backend)).items():
        labels = {"kind": "buffer", "device": f"{device.platform}:{device.id}"}
        samples.append(
            {
                "location_id": [names.setdefault(name, len(names) + 1)],
                "value": [len(sizes), sum(sizes)],
                "label": [{"key": strings(k), "str": strings(v)} for k, v in labels.items()],
            }
        )
    profile = {
        "sample_type": sample_types,
        "sample": samples,
        "location": [{"id": k, "line": [{"function_id": k}]} for k in names.values()],
        "function": [
            {"id": k, "name": strings(name), "system_name": strings(name)}
            for name, k in names.items()
        ],
        "string_table": strings.table(),
        "time_nanos": time.time_ns(),
    }
    return gzip.compress(protobuf.encode(profile, "profile", _SCHEMA))


def save_device_memory_profile(filename: str, backend: str | None = None) -> None:
    """Writes a profile of the memory used by live arrays, for display by `pprof -top filename`.

    Args:
      filename: the path; an existing file is replaced.
      backend: "cpu" or None.

    Raises:
      RuntimeError: if `backend` is unknown.
    """
    profile = device_memory_profile(backend)
    with open(filename, "wb") as file:
        file.write(profile)


def _by_type(arrays: Iterable[ArrayImpl]) -> dict[tuple[str, Device], list[int]]:
    """Returns a dict (type, device) -> sizes of the arrays in bytes."""
    sizes: dict[tuple[str, Device], list[int]] = collections.defaultdict(list)
    for x in arrays:
        count = math.prod(x.sharding.shard_shape(x.shape))
        for device in x.sharding.addressable_devices:
            sizes[x.aval.str_short(), device].append(count * x.dtype.itemsize)
    return sizes


class _Strings:
    """The string table, to whose entries messages refer by index; the first entry is empty."""

    def __init__(self) -> None:
        self._indices = {"": 0}

    def __call__(self, text: str) -> int:
        return self._indices.setdefault(text, len(self._indices))

    def table(self) -> list[str]:
        """Returns the strings, in the order of their indices."""
        return list(self._indices)
