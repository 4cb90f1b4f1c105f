"""`ShapeDtypeStruct`: the shape and dtype of an array, without the array."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.core.sharding.mesh import mesh_of_specs
from jitney.core.sharding.named import NamedSharding, too_few_axes
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.sharding.sharding import Sharding
from jitney.core.sharding_in_types import explicit, varying
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval, is_valid_operand, shaped_array
from jitney.core.types.refs import AbstractRef

if TYPE_CHECKING:
    from jitney.core.typing import DTypeLike


class ShapeDtypeStruct:
    """A stand-in for an array whose values are not needed, as in `eval_shape` and `lower`.

    Attributes:
      shape: the sizes of the axes.
      dtype: a NumPy dtype or an extended dtype.
      weak_type: whether the type is weak.
      format: the sharding or format that was passed, or None.
      manual_axis_type: how values differ between devices along the manual axes of a `shard_map`.

    Raises:
      ValueError: if the dtype or a size is None, or the sharding needs an array of higher rank.
    """

    __slots__ = ("dtype", "format", "manual_axis_type", "shape", "weak_type")

    is_ref = False

    def __init__(
        self,
        shape: Sequence[int],
        dtype: DTypeLike | dtypes.ExtendedDType | None,
        *,
        sharding: object = None,
        weak_type: bool = False,
        vma: Iterable[Any] = (),
        is_ref: bool = False,
        manual_axis_type: ManualAxisType | None = None,
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: expected a dtype, but got None")
        sizes: tuple[Any, ...] = tuple(shape)
        self.shape = sizes
        if any([n is None for n in sizes]):
            raise ValueError(
                f"ShapeDtypeStruct: each axis needs a size, but the shape is {self.shape}; "
                "programs are compiled for known sizes, so None is not allowed"
            )
        self.dtype = dtype if dtypes.is_extended(dtype) else np.dtype(dtype)
        self.format = sharding
        self.weak_type = weak_type
        self.manual_axis_type = manual_axis_type or ManualAxisType(varying=vma or ())

        if isinstance(sharding, NamedSharding):
            sharding.check_compatible_aval(self.shape)
        elif isinstance(sharding, PartitionSpec) and len(sharding) > len(self.shape):
            raise too_few_axes(sharding, len(self.shape))

    @property
    def sharding(self) -> Sharding | None:
        """The sharding of the array, or None; a PartitionSpec is bound to the context mesh.

        Raises:
          TypeError: if it is a PartitionSpec and there is no context mesh.
          ValueError: if the PartitionSpec names axes that the context mesh lacks.
        """
        sharding: Any = self.format
        if sharding is None or isinstance(sharding, Sharding):
            return sharding
        if not isinstance(sharding, PartitionSpec):
            return getattr(sharding, "sharding", sharding)  # that of a `Format`
        mesh = mesh_of_specs()
        if mesh.empty:
            raise TypeError(
                f"the sharding of this ShapeDtypeStruct is the PartitionSpec {sharding}, which "
                "needs a context mesh; set one with jax.set_mesh"
            )
        return NamedSharding(mesh, sharding)

    @property
    def vma(self) -> frozenset[Hashable]:
        """The manual axes of a `shard_map` along which values differ between devices."""
        return self.manual_axis_type.varying

    @classmethod
    def like(cls, x: Any) -> ShapeDtypeStruct:
        """Returns the type of a value, or of any object with a shape and a dtype.

        Raises:
          TypeError: if `x` is neither.

        Example:
          >>> jax.ShapeDtypeStruct.like(jnp.ones(3))
          ShapeDtypeStruct(shape=(3,), dtype=float32)
        """
        if isinstance(x, ShapeDtypeStruct):
            return x.update()
        aval = abstractify(x)
        # Its sharding if it is committed, or else the sharding of its type.
        place = getattr(x, "placement", None) or explicit.sharding_of(aval)
        return cls(
            aval.shape, aval.dtype, sharding=place, weak_type=aval.weak_type,
            manual_axis_type=varying.type_of(aval),
        )  # fmt: skip

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return ShapedArray(self.shape, self.dtype).size

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """Returns a copy with some attributes replaced.

        Raises:
          ValueError: if a sharding without a layout would replace a format with one.
        """
        sharding = changes.get("sharding", self.format)
        old, plain = self.format, (Sharding, PartitionSpec)
        if old is not None and not isinstance(old, plain) and isinstance(sharding, plain):
            raise ValueError(
                f"ShapeDtypeStruct.update: the format {old} cannot be replaced by the sharding "
                f"{sharding}, which has no layout; pass a Format"
            )
        return ShapeDtypeStruct(
            changes.get("shape", self.shape),
            changes.get("dtype", self.dtype),
            sharding=sharding,
            weak_type=changes.get("weak_type", self.weak_type),
            manual_axis_type=changes.get("manual_axis_type", self.manual_axis_type),
        )

    def _key(self) -> tuple[object, ...]:
        return self.shape, self.dtype, self.format, self.weak_type, self.manual_axis_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        sharding = f", sharding={self.format}" if self.format is not None else ""
        weak = ", weak_type=True" if self.weak_type else ""
        manual = f", manual_axis_type={self.manual_axis_type}" if self.manual_axis_type else ""
        name = dtypes.long_name(self.dtype)
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={name}{sharding}{weak}{manual})"


ShapeDtypeStruct.__module__ = "jax"


def abstractify(x: Any) -> ShapedArray:
    """Returns the type of a value, or of any object with a shape and a dtype.

    Raises:
      TypeError: if `x` is neither.
    """
    if not isinstance(x, ShapeDtypeStruct) and is_valid_operand(x):
        aval = get_aval(x)
        assert isinstance(aval, ShapedArray) or aval.is_ref or aval.is_high, aval
        return cast("ShapedArray", aval)
    if isinstance(x, AbstractRef):
        return cast("ShapedArray", x)
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        dtype = x.dtype if dtypes.is_extended(x.dtype) else dtypes.canonicalize_dtype(x.dtype)
        aval = shaped_array(tuple(x.shape), dtype, bool(getattr(x, "weak_type", False)))
        if isinstance(x, ShapeDtypeStruct) and x.manual_axis_type:
            aval = aval.update(manual_axis_type=x.manual_axis_type)
        place = getattr(x, "sharding", None)
        return aval if place is None else explicit.typed(aval, place)
    raise TypeError(
        f"expected an array or an object with a shape and a dtype, but got {x!r} of type {type(x)}"
    )


def is_abstract_operand(x: object) -> bool:
    """Returns whether `abstractify(x)` would succeed."""
    return is_valid_operand(x) or (hasattr(x, "shape") and hasattr(x, "dtype"))
