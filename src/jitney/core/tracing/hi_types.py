"""High-level types: types whose values are lowered to arrays, such as a quantized array.

A user declares such a type as a subclass of `HiType` or `MutableHiType`, and the Python class of
its values with `register_hitype`. A value is a single variable of a program. Before the program is
compiled, each value is lowered to arrays (`jitney.transforms.lojax`), as defined by `lo_ty`,
`lower_val` and `raise_val`.

Besides its type, a mutable value, such as a box for arrays, has a state that may change while a
program is traced, for instance the types of its current contents. JAX's term for this state is
quasi-dynamic data (`qdd`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from jitney.core.array import Array
from jitney.core.tracing.trace import Tracer
from jitney.core.types.avals import (
    AbstractValue,
    find_aval_rule,
    get_aval,
    high_classes,
    pytype_aval_mappings,
)
from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.core.sharding.part_types import AnyMesh
    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.typing import AxisName

HiVal: TypeAlias = Any  # a value of a user's class, or a tracer of one
LoVal: TypeAlias = Any  # an array, or a tracer of one
QDD: TypeAlias = Any  # a state, of a user's class
MappingSpec: TypeAlias = Any  # specifies an axis: a position, or an instance of a user's class


class aval_method(NamedTuple):  # the name is JAX's
    """A declaration in a type's class that tracers of the type have the method `fun`."""

    fun: Callable[..., Any]

    def of(self, tracer: Tracer) -> Callable[..., object]:
        """Returns the method, bound to a tracer."""
        return functools.partial(self.fun, tracer)


class aval_property(NamedTuple):  # the name is JAX's
    """A declaration in a type's class that tracers of the type have an attribute, `fget(tracer)`."""

    fget: Callable[..., Any]

    def of(self, tracer: Tracer) -> object:
        """Returns the value of the attribute for a tracer."""
        return self.fget(tracer)


def describe_tracers(kind: type[AbstractValue], members: Mapping[str, Any]) -> None:
    """Declares in a type's class the members of its tracers, for libraries that read types.

    Special methods, and attributes that the class defines itself, such as `shape`, are left alone.

    Args:
      kind: the class of types.
      members: functions and properties by name.
    """
    for name, member in members.items():
        if name.startswith("_") or hasattr(kind, name):
            continue
        entry = (
            aval_property(member.__get__) if isinstance(member, property) else aval_method(member)
        )
        setattr(kind, name, entry)


def _must_be_defined(kind: object, method: str) -> NotImplementedError:
    return NotImplementedError(
        f"{type(kind).__name__} must define the method {method}, which this operation needs"
    )


class _HighType(AbstractValue):
    """The common base class of `HiType` and `MutableHiType`."""

    is_high = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __hash__(self) -> int:
        raise _must_be_defined(self, "__hash__")

    def __eq__(self, other: object) -> bool:
        raise _must_be_defined(self, "__eq__")

    def to_tangent_aval(self) -> AbstractValue:
        raise _must_be_defined(self, "to_tangent_aval")

    def to_ct_aval(self) -> AbstractValue:
        """Returns the type of the cotangents; by default that of the tangents."""
        return self.to_tangent_aval()

    def to_cotangent_aval(self) -> AbstractValue:
        return self.to_ct_aval()


class HiType(_HighType):
    """The base class of high-level types with immutable values.

    A subclass defines `__eq__`, `__hash__`, `lo_ty`, `lower_val` and `raise_val`. It also defines
    `to_tangent_aval` if its values are to be differentiated; `vspace_zero` and `vspace_add` if it
    is a type of tangents; and `dec_rank`, `inc_rank` and `leading_axis_spec` for `vmap` and `scan`.

    Example:
      >>> from jitney.experimental import hijax
      >>> class Pair:
      ...     def __init__(self, a, b):
      ...         self.a, self.b = a, b
      >>> class PairType(hijax.HiType):
      ...     def __eq__(self, other):
      ...         return type(other) is PairType
      ...     def __hash__(self):
      ...         return hash(PairType)
      ...     def lo_ty(self):
      ...         return [jax.typeof(0.0), jax.typeof(0.0)]
      ...     def lower_val(self, pair):
      ...         return [pair.a, pair.b]
      ...     def raise_val(self, a, b):
      ...         return Pair(a, b)
      >>> hijax.register_hitype(Pair, lambda pair: PairType())
      >>> jax.jit(lambda pair: pair)(Pair(1.0, 2.0)).b
      Array(2., dtype=float32, weak_type=True)
    """

    def lo_ty(self) -> Sequence[AbstractValue]:
        """Returns the types of the values to which a value of this type is lowered."""
        raise _must_be_defined(self, "lo_ty")

    def lower_val(self, hi_val: HiVal) -> Sequence[LoVal]:
        """Returns the values to which `hi_val` is lowered."""
        raise _must_be_defined(self, "lower_val")

    def raise_val(self, *lo_vals: LoVal) -> object:
        """Returns the value that lowers to `lo_vals`: the inverse of `lower_val`."""
        raise _must_be_defined(self, "raise_val")

    def vspace_zero(self) -> object:
        """Returns the zero of this type."""
        raise _must_be_defined(self, "vspace_zero")

    def vspace_add(self, x: HiVal, y: HiVal) -> object:
        """Returns the sum of two values of this type."""
        raise _must_be_defined(self, "vspace_add")

    def dec_rank(self, size: int | None, spec: MappingSpec) -> AbstractValue:
        """Returns the type of one slice along the axis of size `size` that `spec` specifies."""
        raise _must_be_defined(self, "dec_rank")

    def inc_rank(self, size: int | None, spec: MappingSpec) -> AbstractValue:
        """Returns the type of `size` values stacked along the new axis that `spec` specifies."""
        raise _must_be_defined(self, "inc_rank")

    def leading_axis_spec(self) -> object:
        """Returns the specification of the axis that `scan` iterates over."""
        raise _must_be_defined(self, "leading_axis_spec")

    def shard(
        self, mesh: AnyMesh, manual_axes: frozenset[Any], check_vma: bool, spec: MappingSpec
    ) -> AbstractValue:
        """Returns the type of a shard of a value that `shard_map` shards as specified by `spec`."""
        raise _must_be_defined(self, "shard")

    def unshard(self, mesh: AnyMesh, check_vma: bool, spec: MappingSpec) -> AbstractValue:
        """Returns the type of the global value with shards of this type."""
        raise _must_be_defined(self, "unshard")

    def nospec(self, mesh: AnyMesh, check_vma: bool, all_names: tuple[AxisName, ...]) -> object:
        """Returns the specification with which `shard_map` shards residuals of this type."""
        raise _must_be_defined(self, "nospec")


class HiPspec:
    """The base class of specifications of how `shard_map` shards values of high-level types.

    `HiType.shard` and `HiType.unshard` receive them. A subclass defines `to_lo`; it also defines
    `to_tangent_spec` and `to_ct_spec` if functions in `shard_map` are to be differentiated.

    Example:
      >>> from jax.experimental import hijax
      >>> class Rows(hijax.HiPspec):
      ...     def to_lo(self):
      ...         return (jax.P("x"), jax.P())  # of the two arrays of a value
    """

    def to_lo(self) -> tuple[PartitionSpec, ...]:
        """Returns the PartitionSpecs of the arrays to which values are lowered."""
        raise _must_be_defined(self, "to_lo")

    def to_tangent_spec(self) -> HiPspec:
        """Returns the specification of tangents."""
        raise _must_be_defined(self, "to_tangent_spec")

    def to_ct_spec(self) -> HiPspec:
        """Returns the specification of cotangents."""
        raise _must_be_defined(self, "to_ct_spec")


class MutableHiType(_HighType):
    """The base class of high-level types with mutable values.

    The lowered values depend on the state of a value, which the value's method `cur_qdd` returns. A
    subclass defines `__eq__`, `__hash__`, `lo_ty_qdd`, `new_from_loval`, `read_loval` and
    `update_from_loval`; the class of its values defines `cur_qdd`.
    """

    has_qdd = True
    is_writer = False

    def lo_ty_qdd(self, state: QDD, /) -> Sequence[AbstractValue]:
        """Returns the types to which a value in the given state is lowered."""
        raise _must_be_defined(self, "lo_ty_qdd")

    def lo_ty(self) -> Sequence[AbstractValue]:
        raise TypeError(
            f"the lowered types of values of type {self} depend on their state: call lo_ty_qdd"
        )

    def new_from_loval(self, state: QDD, /, *vals: LoVal) -> object:
        """Returns a new value in the given state that lowers to `vals`."""
        raise _must_be_defined(self, "new_from_loval")

    def read_loval(self, state: QDD, val: HiVal, /) -> Sequence[LoVal]:
        """Returns the values to which `val`, in the given state, is lowered."""
        raise _must_be_defined(self, "read_loval")

    def update_from_loval(self, state: QDD, val: HiVal, /, *lo_vals: LoVal) -> None:
        """Changes `val`, in the given state, to lower to `lo_vals`."""
        raise _must_be_defined(self, "update_from_loval")

    @aval_method
    def type_state(self: HiVal) -> object:
        """Returns the state of the value that a tracer represents."""
        return cur_qdd(self)


class AvalQDD(AbstractValue):
    """The type of a mutable value together with its state.

    Attributes:
      aval: the type.
      qdd: the state.
    """

    __slots__ = ("aval", "qdd")

    is_high = True
    has_qdd = True

    def __init__(self, aval: AbstractValue, qdd: QDD) -> None:
        self.aval: Any = aval
        self.qdd = qdd

    @property
    def is_writer(self) -> bool:
        return self.aval.is_writer

    def lo_ty(self) -> Sequence[AbstractValue]:
        return self.aval.lo_ty_qdd(self.qdd)

    def read_loval(self, val: HiVal) -> Sequence[LoVal]:
        """Returns the values to which `val` is lowered."""
        return self.aval.read_loval(self.qdd, val)

    def lower_val(self, hi_val: HiVal) -> Sequence[LoVal]:
        return self.read_loval(hi_val)

    def new_from_loval(self, *lovals: LoVal) -> object:
        """Returns a new value that lowers to `lovals`."""
        return self.aval.new_from_loval(self.qdd, *lovals)

    def raise_val(self, *lo_vals: LoVal) -> object:
        return self.new_from_loval(*lo_vals)

    def to_tangent_aval(self) -> AvalQDD:
        return AvalQDD(self.aval.to_tangent_aval(), self.qdd and self.qdd.to_tangent_qdd())

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        return self.aval.str_short(short_dtypes=short_dtypes)

    def __eq__(self, other: object) -> bool:
        return type(other) is AvalQDD and self.aval == other.aval and self.qdd == other.qdd

    def __hash__(self) -> int:
        return hash((self.aval, self.qdd))

    def __repr__(self) -> str:
        return f"AvalQDD(aval={self.aval!r}, qdd={self.qdd!r})"


class MutableQDD:
    """The state of a mutable value in a program that is being traced.

    Attributes:
      init_val: the initial state.
      cur_val: the current state.
    """

    __slots__ = ("cur_val", "init_val")

    def __init__(self, state: QDD) -> None:
        self.init_val = self.cur_val = state

    def update(self, state: QDD) -> None:
        """Sets the state."""
        self.cur_val = state


@record(frozen=True)
class AvalMutableQDD:
    """The type of a mutable operand in a primitive's type rule, which may set the state.

    Attributes:
      aval: the type.
      mutable_qdd: the state.
    """

    aval: Any
    mutable_qdd: MutableQDD


def cur_qdd(x: HiVal) -> object:
    """Returns the current state of a mutable value or of the tracer of one."""
    return x.get_state() if isinstance(x, Tracer) else x.cur_qdd()


HAS_QDD = attrgetter("has_qdd")  # of a type: whether its values have a state


def with_state(aval: AbstractValue, x: HiVal) -> AbstractValue:
    """Returns the type `aval` of `x`, with its state if it is mutable."""
    return AvalQDD(aval, cur_qdd(x)) if aval.has_qdd and type(aval) is not AvalQDD else aval


class _TypeOf:
    """A function from values of a user's class to their types."""

    def __init__(self, function: Callable[[HiVal], AbstractValue]) -> None:
        self.function = function

    def __call__(self, x: HiVal) -> AbstractValue:
        return self.function(x)


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], AbstractValue]) -> None:
    """Makes values of the class `val_cls` valid operands; `typeof_fn` returns their types."""

    pytype_aval_mappings[val_cls] = _TypeOf(typeof_fn)
    if not high_classes:
        _forward_to_types()
    high_classes.add(val_cls)


def _forward_to_types() -> None:
    """Makes tracers look up operators, and attributes that arrays lack, in their types.

    It is called when the first high-level type is registered, because the look-up slows down
    tracers of arrays as well.
    """
    type.__setattr__(Tracer, "__getattr__", _of_type)
    for operator in _OPERATORS.split():
        name = f"__{operator}__"
        setattr(Tracer, name, _forwarded("_" + operator, getattr(Tracer, name)))


def _forwarded(of_type: str, of_array: Callable[..., Any]) -> Callable[..., object]:
    """Returns a special method of tracers that calls the method `of_type` of high-level types."""

    @functools.wraps(of_array)
    def method(self: Tracer, *args: object) -> object:
        if self.aval.is_high:
            return getattr(self.aval, of_type)(self, *args)
        return of_array(self, *args)

    return method


_OPERATORS = """
    add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod divmod rdivmod pow rpow
    matmul rmatmul and rand or ror xor rxor lshift rlshift rshift rrshift neg pos abs invert
    eq ne lt le gt ge getitem setitem len iter
"""
_OWN = {"aval", "_aval", "_trace"}  # looked up while a tracer is created


def _of_type(tracer: Tracer, name: str) -> object:
    """Returns an attribute that a high-level type defines for its tracers."""
    aval = None if name in _OWN else tracer.aval
    if aval is None or not aval.is_high:
        # If the class has the attribute, its getter has raised; this raises the same error again.
        return object.__getattribute__(tracer, name)
    attribute = getattr(aval, name)
    return attribute.of(tracer) if isinstance(attribute, aval_method | aval_property) else attribute


def is_high_value(x: object) -> bool:
    """Returns whether `x` is a value of a high-level type or a tracer of one."""
    if isinstance(x, Array):
        return isinstance(x, Tracer) and x.aval.is_high
    kind = type(x)
    return isinstance(pytype_aval_mappings.get(kind) or find_aval_rule(kind), _TypeOf)


def is_mutable(x: object) -> bool:
    """Returns whether `x` is a value of a mutable type."""
    return is_high_value(x) and get_aval(x).has_qdd
