"""Abstract values: the information about a value that is available while a program is traced.

    aval ::= ShapedArray(shape, dtype, weak_type, sharding, manual_axis_type, memory_space)
           | AbstractToken

Avals are immutable and compare by content. `shaped_array` interns them: a second `float32[3]` costs
a dictionary look-up, and equal avals are mostly the same object. The sharding and memory space of
an array are nearly always the default (replicated, on no mesh, in device memory). `shaped_array`
assumes the default without checking; `placed_array` makes all other avals.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from jitney.core.messages import messages
from jitney.core.settings import config
from jitney.core.sharding import types as sharding_types
from jitney.core.sharding.manual_axes import NOT_MANUAL, ManualAxisType
from jitney.core.sharding.part_types import Divisible
from jitney.core.types import dtypes
from jitney.core.types.memory_space import AUTO, AutoLayout, MemorySpace
from jitney.core.util.first_use import FirstUse
from jitney.core.util.thresholds import threshold

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.sharding.named import NamedSharding
    from jitney.core.typing import DTypeLike

Shape = tuple[int, ...]
_DEVICE = MemorySpace.Device

MAX_AXES = 64  # the limit of NumPy
# Support for arrays with more axes is installed when the first type of such an array is created.
many_axes = FirstUse()


class _Same(enum.Enum):
    """A sentinel for an attribute to leave unchanged, used where None is a valid value."""

    same = enum.auto()


_SAME = _Same.same


class AbstractValue:
    """Base class of all abstract values, public as `jax.core.AbstractValue`."""

    __slots__ = ("__weakref__",)

    if TYPE_CHECKING:
        # Nearly all types are types of arrays, which have these; tokens raise AttributeError.
        shape: tuple[int, ...]
        dtype: np.dtype[Any]
        weak_type: bool

        @property
        def ndim(self) -> int: ...
        @property
        def size(self) -> int: ...
        def __len__(self) -> int: ...
        def update(
            self,
            shape: Shape | None = None,
            dtype: dtypes.DType | None = None,
            weak_type: bool | None = None,
        ) -> ShapedArray: ...

    def to_tangent_aval(self) -> AbstractValue:
        """Returns the type of the tangents of values of this type."""
        raise TypeError(f"{self} has no tangent type")

    def to_cotangent_aval(self) -> AbstractValue:
        """Returns the type of the cotangents of values of this type."""
        return self.to_tangent_aval()

    def strip_weak_type(self) -> AbstractValue:
        return self

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        return str(self)

    # --- lowering (`core.tracing.hi_types`): by default, a value lowers to itself -----------------

    is_high = False
    has_qdd = False
    is_ref = False  # true for references to arrays (`core.types.refs`)
    has_default_place = True  # `ShapedArray` overrides it

    def lo_ty(self) -> Sequence[AbstractValue]:
        """Returns the types of the values to which a value of this type is lowered."""
        return [self]

    def lower_val(self, hi_val: object) -> Sequence[Any]:
        """Returns the values to which `hi_val` is lowered."""
        return [hi_val]

    def raise_val(self, *lo_vals: object) -> object:
        """Returns the value that lowers to `lo_vals`."""
        (value,) = lo_vals
        return value

    def lower_val2(self, hi_val: object) -> FlatValues:
        """Returns the values to which `hi_val` is lowered, with their pytree structure."""
        from jitney.core.pytree import pytrees  # late: types need it only here

        leaves, tree = pytrees.tree_flatten(self.lower_val(hi_val))
        return FlatValues(tuple(leaves), tree)

    def raise_val2(self, lo_vals_ft: FlatValues) -> object:
        """Returns the value that lowers to `lo_vals_ft`, a result of `lower_val2`."""
        return self.raise_val(*lo_vals_ft.unflatten())

    def normalize(self) -> AbstractValue:
        return self

    # --- methods that only some types define --------------------------------------------------------

    if not TYPE_CHECKING:

        def update(self, **changes: object) -> AbstractValue:
            """Returns the type with some attributes replaced."""
            raise _undefined(self, "update")

        def inc_rank(self, size: int | None, spec: object) -> AbstractValue:
            """Returns the type of `size` values of this type, stacked along a new axis."""
            raise _undefined(self, "inc_rank")

        def dec_rank(self, size: int | None, spec: object) -> AbstractValue:
            """Returns the type of one slice along an axis of size `size`."""
            raise _undefined(self, "dec_rank")

        def reshard(self, sharding: object) -> AbstractValue:
            """Returns this type with another sharding."""
            raise _undefined(self, "reshard")

        def shard(
            self, mesh: object, manual_axes: frozenset[Any], check_vma: bool, spec: object
        ) -> AbstractValue:
            """Returns the type that a function in `shard_map` sees for a value of this type.

            Args:
              mesh: a Mesh or AbstractMesh.
              manual_axes: the mesh axes that the function is mapped over.
              check_vma: whether types record the manual axes along which values vary.
              spec: the PartitionSpec of the value.
            """
            raise _not_for_shard_map(self)

        def unshard(self, mesh: object, check_vma: bool, spec: object) -> AbstractValue:
            """Returns the type of the global value with shards of this type; inverse of `shard`."""
            raise _not_for_shard_map(self)

        def leading_axis_spec(self) -> object:
            """Returns the position of the axis that `scan` iterates over."""
            return 0

        def vspace_add(self, x: Any, y: Any) -> object:
            """Returns the sum of two values of this type."""
            return x + y

    def to_ct_aval(self) -> AbstractValue:
        return self.to_cotangent_aval()

    def at_least_vspace(self) -> AbstractValue:
        """Returns the type of the vector space to which tangents belong."""
        return self.to_tangent_aval()

    def update_weak_type(self, weak_type: bool) -> AbstractValue:
        """Returns the type with the given `weak_type`; this type if it has no such attribute."""
        return self

    def update_manual_axis_type(self, mat: ManualAxisType) -> AbstractValue:
        """Returns the type with manual axis type `mat`; this type if it has no such attribute."""
        return self


def _undefined(aval: AbstractValue, method: str) -> TypeError:
    return TypeError(
        f"{type(aval).__name__}.{method}: values of type {aval} have no such operation"
    )


def _not_for_shard_map(aval: AbstractValue) -> NotImplementedError:
    return NotImplementedError(f"shard_map cannot shard values of type {aval!r}")


ResultTypes: TypeAlias = "AbstractValue | Sequence[AbstractValue]"
"""The type of an operation's only result, or a sequence of the types of its results."""


class FlatValues(NamedTuple):
    """The values to which a value is lowered, as the leaves and the structure of a pytree.

    Attributes:
      vals: the leaves.
      tree: the structure.
    """

    vals: tuple[Any, ...]
    tree: PyTreeDef

    def unflatten(self) -> Sequence[object]:
        """Returns the pytree."""
        return self.tree.unflatten(self.vals)


class ShapedArray(Divisible[AbstractValue], AbstractValue):
    """The type of an array: its shape, dtype and sharding.

    Attributes:
      shape: the sizes of the axes, as Python ints.
      dtype: a NumPy dtype or an extended dtype (PRNG keys).
      weak_type: whether the value comes from Python scalars and adopts the dtypes of other
        operands.
      sharding: how the array is sharded along the Explicit axes of a mesh.
      manual_axis_type: the mesh axes along which values differ between devices, within `shard_map`.
      memory_space: the kind of memory that holds the array.
      has_default_place: whether the array is replicated, on no mesh, and in device memory.

    Raises:
      ValueError: if the sharding is not on an AbstractMesh, or does not divide the shape evenly.
    """

    __slots__ = (
        "_hash", "_sharding", "_tangent", "dtype", "has_default_place", "manual_axis_type",
        "memory_space", "shape", "weak_type",
    )  # fmt: skip

    array_abstraction_level = 2  # JAX's level for types with known shapes

    shape: Shape
    dtype: Any
    weak_type: bool
    manual_axis_type: ManualAxisType
    memory_space: MemorySpace
    has_default_place: bool
    _sharding: NamedSharding | None  # None: on no mesh
    _tangent: ShapedArray | None  # type of the tangents, computed when first needed

    def __init__(
        self,
        shape: Shape,
        dtype: DTypeLike | dtypes.ExtendedDType,
        weak_type: bool = False,
        *,
        sharding: NamedSharding | None = None,
        manual_axis_type: ManualAxisType | None = None,
        memory_space: MemorySpace = _DEVICE,
    ) -> None:
        self.shape = tuple(shape)
        if len(self.shape) > MAX_AXES:
            many_axes.note()
        self.dtype = dtype if dtypes.is_extended(dtype) else np.dtype(dtype)
        self.weak_type = bool(weak_type)
        self.memory_space = memory_space
        self.manual_axis_type = manual_axis_type or NOT_MANUAL
        self._sharding = None
        self._tangent = None
        if sharding is not None:
            self._sharding = sharding_types.of_aval(sharding, self.shape)
        self.has_default_place = (
            self._sharding is None
            and self.manual_axis_type is NOT_MANUAL
            and memory_space is _DEVICE
        )
        key: tuple[object, ...] = (self.shape, self.dtype, self.weak_type)
        self._hash = hash(key if self.has_default_place else (*key, self._place()))

    @property
    def sharding(self) -> NamedSharding:
        return self._sharding or sharding_types.unsharded(len(self.shape))

    @property
    def mat(self) -> ManualAxisType:
        """Short name of `manual_axis_type`."""
        return self.manual_axis_type

    @property
    def vma(self) -> frozenset[Hashable]:
        """The manual axes along which values differ between devices (varying manual axes)."""
        return self.manual_axis_type.varying

    @property
    def layout(self) -> AutoLayout:
        """The layout in memory, which types leave to the compiler."""
        return AUTO

    def _place(self) -> tuple[NamedSharding | None, ManualAxisType, MemorySpace]:
        return self._sharding, self.manual_axis_type, self.memory_space

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        n = 1
        for extent in self.shape:
            n *= extent
        return n

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    # The same methods as user-defined types have (`core.tracing.hi_types`).

    def inc_rank(
        self, size: int, spec: int | None, along: NamedSharding | None = None
    ) -> ShapedArray:
        """Returns the type with a new axis of size `size` at position `spec`.

        Returns this type if `spec` is None. The new axis is sharded like the only axis of an array
        with sharding `along`, or not sharded if `along` is None.
        """
        if spec is None:
            return self
        shape = (*self.shape[:spec], size, *self.shape[spec:])
        if self._sharding is None and along is None:
            return self.update(shape=shape)
        sharding = sharding_types.with_axis(self._sharding, spec, len(self.shape), along)
        return self.update(shape=shape, sharding=sharding)

    def dec_rank(self, size: int | None, spec: int | None) -> ShapedArray:
        """Returns the type without axis `spec`, of size `size`; this type if `spec` is None."""
        if spec is None:
            return self
        shape = self.shape[:spec] + self.shape[spec + 1 :]
        if self._sharding is None:
            return self.update(shape=shape)
        return self.update(shape=shape, sharding=sharding_types.without_axis(self._sharding, spec))

    def leading_axis_spec(self) -> int:
        """Returns the position of the axis that `scan` iterates over."""
        return 0

    def normalize(self) -> ShapedArray:
        return self.strip_weak_type()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(other) is type(self)
            and self.shape == other.shape
            and self.dtype == other.dtype
            and self.weak_type == other.weak_type
            and self._place() == other._place()
        )

    def __hash__(self) -> int:
        return self._hash

    def update(
        self,
        shape: Shape | None = None,
        dtype: dtypes.DType | None = None,
        weak_type: bool | None = None,
        *,
        sharding: NamedSharding | _Same | None = _SAME,
        manual_axis_type: ManualAxisType | None = None,
        memory_space: MemorySpace | None = None,
    ) -> ShapedArray:
        """Returns a copy with some attributes replaced.

        If the rank changes and no sharding is passed, the leading axes keep their shardings, and
        added axes are not sharded.

        Args:
          shape, dtype, weak_type: the new values; None keeps the current ones.
          sharding: the new sharding; None for arrays that are replicated and on no mesh. By default,
            the current sharding is kept.
          manual_axis_type, memory_space: the new values; None keeps the current ones.
        """
        shape = self.shape if shape is None else shape
        kind: dtypes.DType = self.dtype if dtype is None else dtype
        weak_type = self.weak_type if weak_type is None else weak_type
        is_moved = sharding is not _SAME or manual_axis_type is not None or memory_space is not None
        if not is_moved and self.has_default_place:
            return shaped_array(shape, kind, weak_type)
        if isinstance(sharding, _Same):
            sharding = sharding_types.of_rank(self._sharding, len(shape))
        return placed_array(
            shape, kind, weak_type, sharding,
            self.manual_axis_type if manual_axis_type is None else manual_axis_type,
            memory_space or self.memory_space,
        )  # fmt: skip

    def strip_weak_type(self) -> ShapedArray:
        if not self.weak_type:
            return self
        if self.has_default_place:
            return shaped_array(self.shape, self.dtype, False)
        return self.update(weak_type=False)

    def to_tangent_aval(self) -> ShapedArray:
        tangent = self._tangent
        if tangent is None:
            # If the type is its own tangent type, this is a reference cycle. It does no harm, as
            # interned avals live long anyway.
            tangent = self._tangent = self.update(dtype=dtypes.tangent_dtype(self.dtype))
        return tangent

    def to_cotangent_aval(self) -> ShapedArray:
        """Returns the type of cotangents, with unreduced and reduced mesh axes interchanged."""
        tangent = self.to_tangent_aval()
        if tangent.has_default_place:
            return tangent
        return tangent.update(
            sharding=sharding_types.of_cotangent(self._sharding),
            manual_axis_type=self.manual_axis_type.to_ct_mat(),
        )

    to_ct_aval = to_cotangent_aval

    def at_least_vspace(self) -> ShapedArray:
        """Returns the type of the vector space to which tangents belong."""
        return self.to_tangent_aval()

    def update_weak_type(self, weak_type: bool) -> ShapedArray:
        """Returns the type with the given `weak_type`."""
        return self.update(weak_type=weak_type)

    def update_manual_axis_type(self, mat: ManualAxisType) -> ShapedArray:
        """Returns the type with manual axis type `mat`."""
        return self.update(manual_axis_type=mat)

    def reshard(self, sharding: NamedSharding | None) -> ShapedArray:
        """Returns the type with sharding `sharding`; this type if `sharding` is None."""
        return self if sharding is None else self.update(sharding=sharding)

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        name = dtypes.short_name(self.dtype) if short_dtypes else dtypes.long_name(self.dtype)
        kinds = sharding_types.axis_types_text(self._sharding) if mesh_axis_types else ""
        if self.has_default_place:
            return f"{name}[{','.join(map(str, self.shape))}]{kinds}"
        if self.memory_space is not _DEVICE:
            name += f"<{self.memory_space.name.lower()}>"
        extents = sharding_types.extents_text(self.shape, self._sharding)
        axes = sharding_types.axes_text(self._sharding, self.manual_axis_type)
        return f"{name}[{extents}]{axes}{kinds}"

    def __str__(self) -> str:
        return ("~" if self.weak_type else "") + self.str_short()

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short()}{weak})"

    def __reduce__(self) -> tuple[Callable[..., ShapedArray], tuple[object, ...]]:
        key = self.shape, self.dtype, self.weak_type
        if self.has_default_place:
            return shaped_array, key
        return placed_array, (*key, *self._place())


class AbstractToken(AbstractValue):
    """The type of tokens, which order effects and hold no data."""

    __slots__ = ()

    def to_tangent_aval(self) -> AbstractValue:
        return self

    def __repr__(self) -> str:
        return "AbstractToken()"

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        return "Tok"

    def __str__(self) -> str:
        return "Tok"


abstract_token = AbstractToken()


_interned: dict[tuple[Any, ...], ShapedArray] = {}
_INTERN_LIMIT = threshold(100_000, small=64)  # avals; few programs have a thousand


def shaped_array(shape: Shape, dtype: dtypes.DType, weak_type: bool = False) -> ShapedArray:
    """Returns the interned aval of an array with the default sharding and memory space.

    Args:
      shape: a tuple of Python ints.
      dtype: the dtype, which is not canonicalized.
      weak_type: whether the aval is weakly typed.
    """
    key = (shape, dtype, weak_type)
    aval = _interned.get(key)
    if aval is None:
        if len(_interned) >= _INTERN_LIMIT:
            _interned.clear()
        aval = _interned[key] = ShapedArray(shape, dtype, weak_type)
    return aval


def placed_array(
    shape: Shape,
    dtype: dtypes.DType,
    weak_type: bool,
    sharding: NamedSharding | None,
    manual_axis_type: ManualAxisType,
    memory_space: MemorySpace,
) -> ShapedArray:
    """Returns the interned aval with the given attributes."""
    aval = ShapedArray(
        shape, dtype, weak_type,
        sharding=sharding, manual_axis_type=manual_axis_type, memory_space=memory_space,
    )  # fmt: skip
    if aval.has_default_place:
        return shaped_array(shape, dtype, weak_type)
    key = (aval,)
    interned = _interned.get(key)
    if interned is None:
        if len(_interned) >= _INTERN_LIMIT:
            _interned.clear()
        interned = _interned[key] = aval
    return interned


# Type of a Python value -> function that returns its aval. Extended by runtime (arrays) and by
# users (`jax.core.pytype_aval_mappings`).
pytype_aval_mappings: dict[type, Callable[..., AbstractValue]] = {}


class _HostValues(dict[type, Callable[[Any], Any]]):
    """Rules of user-defined types; all other types have the rule of arrays and scalars."""

    def __missing__(self, kind: type) -> Callable[[object], np.ndarray]:
        return canonical_ndarray


# Type of a Python value -> function that converts it to a NumPy array or to an array of ours. Users
# can add types (`jax.interpreters.xla.canonicalize_dtype_handlers`); NumPy converts values of all
# other types.
host_values = _HostValues()


def canonical_ndarray(x: Any) -> np.ndarray:
    """Returns the value of `x` as an ndarray with a canonical dtype."""
    value = np.asarray(x)
    return np.asarray(value, dtypes.canonicalize_dtype(value.dtype))


high_classes: set[type] = set()  # classes of values of user-defined types


def _python_scalar_avals(kind: type) -> tuple[ShapedArray, ShapedArray]:
    """Returns the avals of a Python scalar type, without and with x64."""
    wide = dtypes.python_scalar_dtype(kind)
    return shaped_array((), dtypes.narrowed(wide), True), shaped_array((), wide, True)


_INTEGERS, _FLOATS, _COMPLEXES = map(_python_scalar_avals, (int, float, complex))
_BOOL = shaped_array((), np.dtype(bool), False)


def _integer_aval(x: int) -> ShapedArray:
    aval = _INTEGERS[config.x64_enabled()]
    bits = 8 * aval.dtype.itemsize - 1
    if not -(1 << bits) <= x < 1 << bits:
        raise OverflowError(f"Python int {x} too large to convert to {aval.dtype.name}")
    return aval


def _float_aval(x: float) -> ShapedArray:
    return _FLOATS[config.x64_enabled()]


def _complex_aval(x: complex) -> ShapedArray:
    return _COMPLEXES[config.x64_enabled()]


def _bool_aval(x: bool) -> ShapedArray:
    return _BOOL


def _ndarray_aval(x: np.ndarray) -> ShapedArray:
    if type(x) is not np.ndarray and isinstance(x, np.ma.MaskedArray):
        raise ValueError(
            "a numpy.ma.MaskedArray cannot be an operand, because its mask would be lost; convert "
            "it to a plain array with x.filled(value)"
        )
    dtype = dtypes.canonicalize_dtype(x.dtype)
    dtypes.check_valid_dtype(dtype)
    return shaped_array(x.shape, dtype, False)


def _generic_aval(x: np.generic) -> ShapedArray:
    dtype = dtypes.canonicalize_dtype(x.dtype)
    dtypes.check_valid_dtype(dtype)
    return shaped_array((), dtype, False)


pytype_aval_mappings[bool] = _bool_aval
pytype_aval_mappings[int] = _integer_aval
pytype_aval_mappings[float] = _float_aval
pytype_aval_mappings[complex] = _complex_aval
pytype_aval_mappings[np.ndarray] = _ndarray_aval
for _scalar_type in dtypes.numpy_scalar_types:
    pytype_aval_mappings[_scalar_type] = _generic_aval


def find_aval_rule(kind: type) -> Callable[..., AbstractValue] | None:
    """Returns the rule registered for `kind` or for its nearest base class, or None."""
    for base in kind.__mro__:
        rule = pytype_aval_mappings.get(base)
        if rule is not None:
            return rule
    return None


def get_aval(x: object) -> AbstractValue:
    """Returns the abstract value of `x`: a tracer, an array, a NumPy value or a Python scalar.

    Raises:
      TypeError: if `x` is not a valid operand.
    """
    if high_classes and type(x) in high_classes:  # attributes may be arbitrary
        return pytype_aval_mappings[type(x)](x)
    aval = getattr(x, "aval", None)
    if aval is not None and isinstance(aval, AbstractValue):
        return aval
    rule = pytype_aval_mappings.get(type(x)) or find_aval_rule(type(x))
    if rule is not None:
        return rule(x)
    convert = getattr(x, "__jax_array__", None)
    if convert is not None and not isinstance(x, type):
        return get_aval(convert())
    raise TypeError(
        messages.at_expression(f"expected an array or a scalar, but got {x!r} of type {type(x)}")
    )


def is_valid_operand(x: object) -> bool:
    """Returns whether `get_aval(x)` would succeed."""
    kind = type(x)
    return (
        isinstance(getattr(x, "aval", None), AbstractValue)
        or kind in pytype_aval_mappings
        or find_aval_rule(kind) is not None
        or hasattr(x, "__jax_array__")
    )


def mapped_aval(size: int, axis: int | None, aval: AbstractValue) -> AbstractValue:
    """Returns the aval of one slice of a batch: `aval` without axis `axis`, of size `size`."""
    if axis is None or not isinstance(aval, ShapedArray):
        return aval
    assert aval.shape[axis] == size, (aval, size, axis)
    return aval.dec_rank(size, axis)


def unmapped_aval(size: int, axis: int | None, aval: AbstractValue) -> AbstractValue:
    """Returns the aval of a batch of `aval`s, with an axis of size `size` at position `axis`."""
    return aval.inc_rank(size, axis) if isinstance(aval, ShapedArray) else aval
