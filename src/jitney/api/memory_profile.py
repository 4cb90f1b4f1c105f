"""The memory of live arrays in the format of pprof: `jax.profiler.device_memory_profile`.

A profile is a compressed protocol buffer. It has one sample for all arrays of one type on one
device: their number and bytes, labeled with the device, at a "location" that is named after the
type.

Source: https://github.com/google/pprof/blob/main/proto/profile.proto.
"""

from __future__ import annotations

import collections
import gzip
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from jitney.api.environment import live_arrays
from jitney.core.protobuf import varint

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Device
    from jitney.runtime.array import ArrayImpl

# Field numbers in the messages: of a profile,
_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRING, _TIME = 1, 2, 4, 5, 6, 9
_TYPE, _UNIT = 1, 2  # of a sample type
_LOCATIONS, _VALUES, _LABEL = 1, 2, 3  # of a sample
_KEY, _TEXT = 1, 2  # of a label
_ID, _LINE = 1, 4  # of a location
_FUNCTION_ID = 1  # of a line
_NAME, _SYSTEM_NAME = 2, 3  # of a function, which also has an id


def device_memory_profile(backend: str | None = None) -> bytes:
    """Returns a profile of the memory of live arrays, for `pprof`.

    Args:
      backend: "cpu" or None.

    Returns: a compressed protocol buffer; see `save_device_memory_profile`.

    Raises:
      RuntimeError: if `backend` is unknown.
    """
    strings = _Strings()
    names: dict[str, int] = {}
    fields = [
        _message(_SAMPLE_TYPE, _pair(strings, "allocations", "count")),
        _message(_SAMPLE_TYPE, _pair(strings, "space", "bytes")),
    ]
    for (name, device), sizes in _by_type(live_arrays(backend)).items():
        location = names.setdefault(name, len(names) + 1)
        labels = ("kind", "buffer"), ("device", f"{device.platform}:{device.id}")
        fields.append(
            _message(
                _SAMPLE,
                [
                    _packed(_LOCATIONS, [location]),
                    _packed(_VALUES, [len(sizes), sum(sizes)]),
                    *[_message(_LABEL, _pair(strings, *label)) for label in labels],
                ],
            )
        )
    for name, number in names.items():
        line = _message(_LINE, [_number(_FUNCTION_ID, number)])
        fields.append(_message(_LOCATION, [_number(_ID, number), line]))
        text = strings.index(name)
        words = [_number(_ID, number), _number(_NAME, text), _number(_SYSTEM_NAME, text)]
        fields.append(_message(_FUNCTION, words))
    fields += [_message(_STRING, [text.encode()]) for text in strings.all]
    fields.append(_number(_TIME, time.time_ns()))
    return gzip.compress(b"".join(fields))


def save_device_memory_profile(filename: str, backend: str | None = None) -> None:
    """Writes a profile of the memory of live arrays, for display by `pprof -top filename`.

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


# --- protocol buffers -----------------------------------------------------------------------------


class _Strings:
    """The string table, to which messages refer by index; its first entry is empty."""

    def __init__(self) -> None:
        self._indices = {"": 0}

    def index(self, text: str) -> int:
        return self._indices.setdefault(text, len(self._indices))

    @property
    def all(self) -> Iterator[str]:
        return iter(self._indices)


def _pair(strings: _Strings, first: str, second: str) -> list[bytes]:
    """Returns the fields of a message of two strings: a sample type or a label."""
    assert (_TYPE, _UNIT) == (_KEY, _TEXT)
    return [_number(_KEY, strings.index(first)), _number(_TEXT, strings.index(second))]


def _number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def _message(field: int, parts: Sequence[bytes]) -> bytes:
    """Returns a length-delimited field: a message or a string."""
    content = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


def _packed(field: int, values: Sequence[int]) -> bytes:
    return _message(field, [*map(varint, values)])
