"""Concrete arrays: read-only ndarrays with an abstract value and a sharding.

An array has a type (its abstract value), a sharding if it is committed, and a `Buffer`. The buffer
records its owner, the call that computes it, and whether it was deleted or donated. An array
sharded over several devices of this process is one buffer with the global value, since the devices
share the host's memory: the sharding determines which device owns which shard, and
`addressable_shards` are views (docs/devices.md). If an array spans several processes, the buffer
holds this process's window of the array (`jitney.runtime.devices.windows`).

`_value` is the data; reading it blocks until the data are computed. It may be strided (a transposed
array is a view); compiled programs get a contiguous copy. It is flat if the array has more axes
than NumPy supports: operations on such arrays are compiled programs. Key arrays hold one element
per key: a uint64, or bytes (see `core.types.dtypes.KeyDType`). `jitney.wiring` adds operators, and
methods that compute, to the base class.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast

import numpy as np

from jitney.core.array import Array
from jitney.core.diagnostics import errors
from jitney.core.diagnostics.errors import deleted_array_error
from jitney.core.messages import messages
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.sharding import Sharding
from jitney.core.sharding_in_types import explicit
from jitney.core.types import dtypes
from jitney.core.types.avals import MAX_AXES, ShapedArray, pytype_aval_mappings, shaped_array
from jitney.core.types.extended_dtypes import PrimalTangentDType
from jitney.core.util.thresholds import threshold
from jitney.runtime.arrays import array_text, assembly, terms
from jitney.runtime.devices import moves, sharding, windows
from jitney.runtime.devices.device import Device
from jitney.runtime.devices.layout import rows
from jitney.runtime.devices.processes import joined
from jitney.runtime.native._native import NativeArray, array_from_numpy, empty, placed_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import DTypeLike, Value

_ndarray = np.ndarray


def is_deep(aval: AbstractValue) -> bool:
    """Returns whether arrays of type `aval` have more axes than NumPy supports."""
    return len(getattr(aval, "shape", ())) > MAX_AXES


def memory_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of the ndarray that holds an array of `shape`.

    It is flat if there are more axes than NumPy supports.
    """
    if len(shape) <= MAX_AXES:
        return shape
    return (math.prod(shape),)


def words_of_keys(data: np.ndarray, aval: ShapedArray) -> np.ndarray:
    """Returns the words of keys of type `aval`: uint32 [*shape, *key_shape].

    The result shares the memory of contiguous `data`.
    """
    words = np.ascontiguousarray(data).reshape(-1).view(np.uint32)
    shape = aval.shape if is_deep(aval) else data.shape  # the window's, if there is one
    return words.reshape(*shape, *aval.dtype.impl.key_shape)


class ArrayImpl(NativeArray, Array):
    """An array with its data: `_value`, an ndarray, and its type, `aval`."""

    __slots__ = ()

    aval: ShapedArray  # type: ignore[override]  # in a slot
    placement: Sharding | None

    def __new__(
        cls,
        aval: ShapedArray,
        sharding: Sharding,
        arrays: Sequence[ArrayImpl],
        committed: bool,
        _skip_checks: bool = False,
    ) -> ArrayImpl:
        """Returns the array of type `aval` with `sharding`, assembled from one array per device.

        Args:
          aval: the type of the global array.
          sharding: its sharding.
          arrays: the shard of each device of this process, in any order.
          committed: whether the result is committed; arrays on several devices always are.
          _skip_checks: accepted for compatibility; the checks take no time that matters.

        Raises:
          TypeError: if shards are not arrays.
          ValueError: if there are too few or too many shards, or if they are on the wrong devices
            or have the wrong shape or dtype.
          NotImplementedError: if `committed` is False for an array on several devices.
        """
        assembled = assembly.of_devices("ArrayImpl", aval.shape, sharding, arrays, aval.dtype)
        whole = cast("ArrayImpl", assembled)
        if not committed:
            if sharding.num_devices > 1:
                raise NotImplementedError(
                    f"ArrayImpl: an array of type {aval.str_short()} on "
                    f"{messages.counted(sharding.num_devices, 'device')} must be committed, because "
                    "operations depend on the placement of its shards"
                )
            whole = array_from_numpy(whole._value, whole.aval)
        whole.aval = whole.aval.update(weak_type=aval.weak_type)
        return whole

    def __init__(
        self,
        aval: ShapedArray,
        sharding: Sharding,
        arrays: Sequence[ArrayImpl],
        committed: bool,
        _skip_checks: bool = False,
    ) -> None:
        """Does nothing: `__new__` makes the array."""

    # --- place ------------------------------------------------------------------------------------

    @property
    def sharding(self) -> Sharding:
        return self.placement or sharding.single_device(self._buffers[0].device)

    @property
    def format(self) -> sharding.Format:
        return sharding.Format(rows(self.ndim), self.sharding)

    @property
    def device(self) -> Device | Sharding:
        """The device of an array on a single device; the sharding of an array on several."""
        placement = self.placement
        if placement is None or placement.num_devices == 1:
            return self._buffers[0].device
        return placement

    def devices(self) -> set[Device]:
        """Returns the devices that hold the array.

        Raises:
          RuntimeError: if the array was deleted.
        """
        self._check_not_deleted()
        return cast("set[Device]", self.sharding.device_set)

    @property
    def committed(self) -> bool:
        return self.placement is not None

    _committed = committed

    @property
    def is_fully_addressable(self) -> bool:
        return self.sharding.is_fully_addressable

    @property
    def is_fully_replicated(self) -> bool:
        return self.sharding.is_fully_replicated

    @property
    def global_shards(self) -> list[Shard]:
        """The shards of all devices, in the order of the sharding's devices."""
        self._check_not_deleted()
        return shards_of(self)

    @property
    def addressable_shards(self) -> list[Shard]:
        """The shards of this process's devices."""
        return [shard for shard in self.global_shards if shard.device.is_addressable]

    def addressable_data(self, index: int) -> ArrayImpl:
        """Returns the data of this process's shard number `index` as an array."""
        return self.addressable_shards[index].data

    def to_device(
        self, device: Device | Sharding | sharding.Format, *, stream: object = None
    ) -> ArrayImpl:
        """Returns the array moved to `device`, a Device or a Sharding; `stream` is ignored."""
        return self.placed(sharding.as_sharding(device))

    def placed(self, placement: Sharding) -> ArrayImpl:
        """Returns the array resharded to `placement`, uncopied if this process has all elements.

        Raises:
          ValueError: if the shape cannot be sharded by `placement`.
          RuntimeError: if `placement` spans several processes whose arrays differ.
        """
        placement.check_fits(self.aval.shape)
        data, aval = self._data(), explicit.typed(self.aval, placement)
        if joined.world is not None:
            data = moves.brought(data, self.aval, self.placement, placement)
            return placed_array(data, aval, placement, windows.first_device(placement))
        device = cast("Device", placement.device_order[0])
        placed = placed_array(data, aval, placement, device)
        if isinstance(placement, NamedSharding) and placement.spec.unreduced:
            self._hand_terms_to(placed, placement)
        return placed

    def _hand_terms_to(self, x: ArrayImpl, place: NamedSharding) -> None:
        """Attaches its per-device terms to `x`, which is this array moved to `place`, unreduced."""
        new_terms = terms.of_array(self)
        if new_terms is None or terms.names_of_terms(self.placement) != terms.names_of_terms(place):
            new_terms = terms.spread(self._data(), self.placement, place)
        if new_terms is not None:
            terms.attach(x, new_terms)

    def platform(self) -> str:
        """Returns the platform of the device: "cpu"."""
        return self._buffers[0].device.platform

    @property
    def traceback(self) -> None:
        """Always None: the place where an array was created is not recorded."""
        return

    def block_until_ready(self) -> ArrayImpl:
        """Blocks until the data are computed; returns the array."""
        self._data()
        return self

    def copy_to_host_async(self) -> None:
        """Checks that the array is not deleted; its data are on the host already."""
        self._check_not_deleted()

    def is_ready(self) -> bool:
        """Returns whether the data are computed."""
        self._check_not_deleted()
        return all([buffer.is_ready for buffer in self._buffers])

    def on_device_size_in_bytes(self) -> int:
        return self.nbytes if windows.is_global(self) else self._data().nbytes

    # --- keys, under the names that libraries use -------------------------------------------------

    @property
    def _impl(self) -> Any:
        """The PRNG implementation of a key array."""
        return self.aval.dtype.impl

    @property
    def _base_array(self) -> ArrayImpl:
        """The words of a key array; if the keys were deleted, a deleted array."""
        if not self.is_deleted():
            words = words_of_keys(self._data(), self.aval)
            return array_from_numpy(words, shaped_array(words.shape, words.dtype))
        shape = (*self.aval.shape, *self._impl.key_shape)
        gone = array_from_numpy(
            np.empty(shape, np.uint32), shaped_array(shape, np.dtype(np.uint32))
        )
        gone.delete()
        return gone

    # --- lifetime ---------------------------------------------------------------------------------

    def _data(self) -> np.ndarray:
        return self._value

    def delete(self) -> None:
        """Deletes the array and releases its memory; it must not be used afterwards."""
        for buffer in self._buffers:
            buffer.delete()

    def is_deleted(self) -> bool:
        """Returns whether the array was deleted or donated."""
        return self._buffers[0].is_deleted

    def _check_not_deleted(self) -> None:
        if self.is_deleted():
            raise deleted_array_error(self.aval, self._buffers[0].given_to)

    _check_if_deleted = _check_not_deleted  # under the name that libraries use

    # --- parts and data, under the names that libraries use ---------------------------------------

    @property
    def _npy_value(self) -> np.ndarray | None:
        """The data as an ndarray; None if the array is deleted or not fully addressable."""
        return None if self.is_deleted() or self._is_partly_elsewhere() else self._numpy()

    @property
    def _arrays(self) -> list[ArrayImpl] | None:
        """The shards of this process's devices as arrays; None if the array is deleted."""
        return None if self.is_deleted() else [shard.data for shard in self.addressable_shards]

    def _fully_replicated_shard(self) -> ArrayImpl:
        """Returns the first device's copy of this fully replicated array."""
        assert self.is_fully_replicated, self.sharding
        return self.addressable_data(0)

    @property
    def __cuda_array_interface__(self) -> NoReturn:
        raise AttributeError(
            "__cuda_array_interface__ requires an array on an NVIDIA GPU, but this array is on a "
            "CPU; use np.asarray(x) or jax.dlpack"
        )

    # --- value ------------------------------------------------------------------------------------

    def _is_partly_elsewhere(self) -> bool:
        """Returns whether other processes hold elements that this one does not."""
        return windows.is_global(self) and not windows.holds_all(self.sharding, self.aval.shape)

    def _numpy(self) -> np.ndarray:
        if joined.world is not None and self._is_partly_elsewhere():
            raise RuntimeError(
                f"the value of {self.aval.str_short()} cannot be read: the array is sharded over "
                f"devices of several processes by {self.sharding}, and process {joined.rank} does "
                "not have all shards. Gather the array by calling "
                "jax.experimental.multihost_utils.process_allgather(x, tiled=True) in all "
                "processes, or read x.addressable_shards, the shards of this process"
            )
        if len(self.aval.shape) > MAX_AXES:
            raise ValueError(
                f"an array with {self.ndim} axes does not fit into a NumPy array, which has "
                f"at most {MAX_AXES} axes; reshape the array first"
            )
        if isinstance(self.aval.dtype, PrimalTangentDType):
            raise TypeError(
                f"NumPy has no dtype for {self.aval.str_short()}: lax.convert_element_type(x, "
                f"{self.aval.dtype.physical}) returns its physical elements"
            )
        if dtypes.is_extended(self.aval.dtype):
            raise TypeError(
                f"NumPy has no dtype for keys, here {self.aval.str_short()}: "
                "jax.random.key_data(x) returns their data, as uint32"
            )
        return self._data()

    def __array__(
        self, dtype: DTypeLike | None = None, context: None = None, copy: bool | None = None
    ) -> np.ndarray:
        value = self._numpy()
        if dtype is not None and value.dtype != dtype:
            if copy is False:
                raise ValueError(
                    f"the conversion from {value.dtype} to {np.dtype(dtype)} requires a copy, but "
                    "copy=False was passed; pass copy=None"
                )
            return value.astype(dtype)
        return value.copy() if copy else value

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(
                f"an array on the CPU, which is device {self.__dlpack_device__()} of DLPack, "
                f"cannot be exported to device {tuple(dl_device)}"
            )
        from jitney.runtime.arrays import dlpack_types  # few programs exchange arrays

        dtype = self.dtype
        value = dlpack_types.bits(self._numpy())
        options: dict[str, Any] = {}
        if max_version is not None and max_version >= (1, 0) and _NUMPY_EXPORTS_DLPACK_1:
            options = {"max_version": max_version, "copy": copy}
        else:
            # DLPack before 1.0 cannot mark data as read-only, so NumPy refuses to export them;
            # consumers of jax arrays know not to write.
            value = value.copy() if copy else _writeable_alias(value)
        capsule = value.__dlpack__(stream=stream, **options)
        return dlpack_types.label(capsule, dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def unsafe_buffer_pointer(self) -> int:
        """Returns the address of the first element."""
        return self._data().ctypes.data

    def tolist(self) -> Any:
        """Returns the elements as nested lists of Python scalars."""
        return self._numpy().tolist()

    def tobytes(self, order: Literal["K", "A", "C", "F"] | None = "C") -> bytes:
        """Returns the bytes of the elements in row-major order."""
        return self._numpy().tobytes(order)

    def __bool__(self) -> bool:
        if self.aval.shape != ():
            errors.check_truth_is_unambiguous(self.aval)
        return bool(self._numpy())

    def __int__(self) -> int:
        errors.check_scalar_conversion(self)
        return int(self._real())

    def __float__(self) -> float:
        errors.check_scalar_conversion(self)
        return float(self._real())

    def __complex__(self) -> complex:
        errors.check_scalar_conversion(self)
        return complex(self._numpy()[()])

    def _real(self) -> Any:
        """Returns the element as a NumPy scalar; a complex one as a Python scalar.

        Conversions of Python's complex to real types raise an error; those of NumPy's only warn.
        """
        value = self._numpy()
        return value.item() if value.dtype.kind == "c" else value[()]

    def __index__(self) -> int:
        errors.check_integer_conversion(self)
        return int(self._numpy()[()])

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")
        return self.aval.shape[0]

    def _is_terms(self) -> bool:
        """Returns whether the array is unreduced, so that its devices hold terms of its value."""
        place = self.placement
        return isinstance(place, NamedSharding) and bool(place.spec.unreduced)

    def __format__(self, spec: str) -> str:
        if self._is_terms():
            return repr(self)
        if self.aval.shape == () and not dtypes.is_extended(self.aval.dtype):
            return format(self._numpy()[()], spec)
        return format(self._numpy(), spec) if spec else str(self)

    __hash__ = None  # type: ignore[assignment]  # equality is elementwise

    def __repr__(self) -> str:
        name = dtypes.long_name(self.dtype)
        if self.is_deleted():
            return f"Array(<deleted>, shape={self.aval.shape}, dtype={name})"
        if self._is_terms():
            return f"Array(shape={self.shape}, dtype={name}, sharding={self.sharding})"
        if joined.world is not None and self._is_partly_elsewhere():
            return f"Array(shape={self.shape}, dtype={name})"
        if len(self.aval.shape) > MAX_AXES:
            return f"Array(<{self.ndim} axes>, shape={self.shape}, dtype={name})"
        if isinstance(self.aval.dtype, PrimalTangentDType):
            return f"Array({array_text.array_str(self._data())}, dtype={name})"
        if dtypes.is_extended(self.aval.dtype):
            return array_text.key_repr(words_of_keys(self._data(), self.aval), self.aval)
        return array_text.array_repr(self._value, self.aval)

    def __str__(self) -> str:
        if (
            len(self.aval.shape) > MAX_AXES
            or dtypes.is_extended(self.aval.dtype)
            or self._is_terms()
            or (joined.world is not None and self._is_partly_elsewhere())
        ):
            return repr(self)
        return array_text.array_str(self._data())

    # --- copies -----------------------------------------------------------------------------------

    def clone(self) -> ArrayImpl:
        """Returns another array with the same memory."""
        return self._like(self._data())

    def __copy__(self) -> ArrayImpl:
        return self._like(self._data().copy())

    def _like(self, data: np.ndarray) -> ArrayImpl:
        """Returns an array of `data` with the type and the placement of this array."""
        if self.placement is None:
            return array_from_numpy(data, self.aval)
        return placed_array(data, self.aval, self.placement, self._buffers[0].device)

    def __deepcopy__(self, memo: dict[int, Any]) -> ArrayImpl:
        return self.__copy__()

    def __reduce__(self) -> tuple[object, ...]:
        if windows.is_global(self):
            if self._is_partly_elsewhere():
                self._numpy()  # raises, and says why
            return _rebuild, (self._data(), explicit.typed(self.aval, None))
        return _rebuild, (self._data(), self.aval)


ArrayImpl.__module__ = "jaxlib._jax"


class Shard:
    """The shard of an array on one device.

    Attributes:
      device: the device.
      index: the slices of the global array that the shard consists of.
      replica_id: how many devices before this one, in the sharding's order, hold the same slices.
      is_zero: whether the shard is all zeros, because the array is unreduced and another device has
        the sum.
      term: for an unreduced array, the index of the shard along the leading axes of the terms.
    """

    __slots__ = ("_of", "device", "index", "is_zero", "replica_id", "term")

    def __init__(
        self, of: ArrayImpl, device: Device, index: tuple[slice, ...], replica_id: int,
        is_zero: bool = False, term: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        self._of = of
        self.device = device
        self.index = index
        self.replica_id = replica_id
        self.is_zero = is_zero
        self.term = term

    @property
    def data(self) -> Any:
        """The shard as an array on `device` (a view); None if it belongs to another process."""
        if not self.device.is_addressable:
            return None
        x = self._of
        whole = host_array(x)
        index = self.index
        if windows.is_global(x):
            index = windows.within(index, windows.window(x.sharding, x.shape))
        part = whole if x.ndim > MAX_AXES else whole[index]
        if self.term:
            all_terms = terms.of_array(x)
            if all_terms is not None:
                part = all_terms[(*self.term, *index)]
            elif self.is_zero:
                part = np.zeros_like(part)
        shape = x.shape if x.ndim > MAX_AXES else part.shape
        aval = x.aval.update(shape=shape, sharding=None)
        place = None if x.placement is None else sharding.single_device(self.device)
        return placed_array(np.asarray(part), aval, place, self.device)

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


def host_array(x: ArrayImpl) -> np.ndarray:
    """Returns the data of an array; blocks until they are computed."""
    return x._value


def shards_of(x: ArrayImpl) -> list[Shard]:
    """Returns the shards of all devices of an array, in the order of its sharding's devices."""
    place = x.sharding
    tiling = place.tiling(x.ndim)
    of_terms: list[tuple[int, ...]] = [()] * place.num_devices
    if isinstance(place, NamedSharding) and place.spec.unreduced:
        of_terms = terms.positions(place)
    return [
        Shard(x, cast("Device", device), index, replica, any(term), term)
        for device, index, replica, term in zip(
            place.device_order, tiling.indices(x.shape), tiling.replica_ids(), of_terms, strict=True
        )
    ]


# NumPy 2.0 takes no argument but `stream`; a consumer has to accept an older version of the format.
_NUMPY_EXPORTS_DLPACK_1 = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


def _writeable_alias(value: np.ndarray) -> np.ndarray:
    """Returns an ndarray of the same memory that is not marked read-only."""
    interface = dict(value.__array_interface__)
    interface["data"] = (interface["data"][0], False)
    holder = type("_Holder", (), {"__array_interface__": interface, "base": value})()
    return np.asarray(holder)


def array_of(value: Value, weak_type: bool = False) -> ArrayImpl:
    """Returns a copy of NumPy data as an array of its canonicalized dtype."""
    value = np.asarray(value)
    dtype = dtypes.canonicalize_dtype(value.dtype)
    return array_from_numpy(copied(value, dtype), shaped_array(value.shape, dtype, weak_type))


_SMALL = threshold(1024, small=16)  # bytes up to which alignment does not matter


def copied(value: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Returns a C-contiguous copy of `value` as `dtype`; a large one is aligned to cache lines."""
    if value.size * dtype.itemsize < _SMALL:
        return np.array(value, dtype=dtype, order="C")
    copy = empty(value.shape, dtype)
    np.copyto(copy, value, casting="unsafe")
    return copy


def _rebuild(value: np.ndarray, aval: ShapedArray) -> ArrayImpl:
    return array_from_numpy(value, aval)


def _aval_of(x: ArrayImpl) -> ShapedArray:
    return x.aval


pytype_aval_mappings[ArrayImpl] = _aval_of
