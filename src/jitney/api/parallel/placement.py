"""Creating meshes, and global arrays from shards; moving arrays between shardings."""

# Arguments from users are checked, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

import numpy as np

from jitney.api.parallel.device_put import device_put
from jitney.core.diagnostics.errors import UnexpectedTracerError
from jitney.core.messages import messages
from jitney.core.pytree import pytrees
from jitney.core.sharding.mesh import AxisType, Mesh, get_abstract_mesh, get_mesh, with_context_mesh
from jitney.core.sharding.named import NamedSharding, asks_nothing
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.core.sharding.sharding import Sharding
from jitney.core.sharding_in_types import explicit
from jitney.core.sharding_in_types.forbidden_axes import no_collectives
from jitney.core.tracing.trace import Tracer, state
from jitney.core.types.avals import get_aval, is_valid_operand
from jitney.core.util.wraps import wraps
from jitney.primitives.array.resharding import (
    as_mesh,
    reshard as resharded,
    sharding_on_context_mesh,
)
from jitney.primitives.elementwise.convert import as_value
from jitney.runtime.arrays import assembly
from jitney.runtime.arrays.array import ArrayImpl, array_of, host_array, placed_array
from jitney.runtime.devices import client, windows
from jitney.runtime.devices.sharding import Format, SingleDeviceSharding, as_sharding
from jitney.runtime.execution.placements import settled

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike, AxisName, DTypeLike, PyTree, Value
    from jitney.runtime.devices.device import Device

T = TypeVar("T")
R = TypeVar("R")


def make_mesh(
    axis_sizes: Sequence[int] | None = None,
    axis_names: Sequence[Any] | None = None,
    axis_types: Sequence[AxisType] | None = None,
    *,
    devices: Sequence[Any] | None = None,
    axis_shapes: Sequence[int] | None = None,
) -> Mesh:
    """Creates a mesh of devices with the given shape and axis names.

    Args:
      axis_sizes: the size of each axis.
      axis_names: the name of each axis.
      axis_types: the type of each axis; all `Explicit` by default.
      devices: the devices; all available ones by default.
      axis_shapes: the name of `axis_sizes` in JAX 0.10.

    Raises:
      TypeError: if sizes or names are missing.
      ValueError: if there are fewer devices than the product of the sizes, or sizes are not
        integers.

    Example:
      >>> mesh = jax.make_mesh((1, 1), ("rows", "columns"))
      >>> mesh.axis_names
      ('rows', 'columns')
    """
    sizes = axis_shapes if axis_sizes is None else axis_sizes
    if sizes is None or axis_names is None or (axis_sizes is not None and axis_shapes is not None):
        raise TypeError(
            "jax.make_mesh: pass the sizes and the names of the axes, each exactly once, as in "
            "jax.make_mesh((2, 4), ('x', 'y'))"
        )
    if not all([isinstance(n, int | np.integer) for n in sizes]):
        name = "axis_shapes" if axis_sizes is None else "axis_sizes"
        raise ValueError(f"jax.make_mesh: `{name}` must be a sequence of integers, but is {sizes}")
    present = list(devices if devices is not None else _all_devices())
    wanted = int(np.prod(sizes, dtype=int))
    if wanted > len(present):
        raise ValueError(
            f"jax.make_mesh: axes of sizes {tuple(sizes)} need "
            f"{messages.counted(wanted, 'device')}, but {messages.there_are(len(present))}"
        )
    grid = np.array(present[:wanted], dtype=object).reshape(tuple(sizes))
    types = axis_types if axis_types is not None else (AxisType.Explicit,) * len(axis_names)
    return Mesh(grid, axis_names, types)


def _all_devices() -> list[Device]:
    return client.client().devices()


def make_single_device_sharding(
    device: Device, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """Returns the sharding of an array that is entirely on `device`."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Sharding | Format,
    data_callback: Callable[[Any], Any],
    dtype: DTypeLike | None = None,
) -> ArrayImpl:
    """Assembles a global array from shards that `data_callback` returns.

    Args:
      shape: the global shape.
      sharding: the sharding of the array.
      data_callback: a function that takes the index of a shard in the global array, a tuple of one
        slice for each axis, and returns the data of this shard. It is called once for each distinct
        shard of this process's devices.
      dtype: the dtype of the array; by default that of the shards. Required if this process has no
        shards.

    Raises:
      ValueError: if `sharding` cannot divide the array evenly, or a shard has the wrong shape.
      UnexpectedTracerError: if called within a traced function.

    Example:
      >>> x = jnp.arange(4.0)
      >>> jax.make_array_from_callback((4,), x.sharding, lambda index: x[index])
      Array([0., 1., 2., 3.], dtype=float32)
    """
    if state.trace is not state.eval_trace:
        raise UnexpectedTracerError(
            "jax.make_array_from_callback computes concrete elements, so it cannot be called "
            "while a function is traced: create the array outside, and pass it as an argument"
        )
    place, global_shape = _placed_shape(sharding, shape)
    tiling = place.tiling(len(global_shape))
    part_of_tile: dict[tuple[int, ...], Any] = {}
    parts: list[Any] = []
    indices = tiling.indices(global_shape)
    for device, tile, index in zip(place.device_order, tiling.tiles, indices, strict=True):
        if not device.is_addressable:
            continue
        if tile not in part_of_tile:
            part_of_tile[tile] = data_callback(index)
        parts.append(part_of_tile[tile])
    array = assembly.assembled("make_array_from_callback", global_shape, place, parts, dtype)
    return cast("ArrayImpl", array)


def make_array_from_single_device_arrays(
    shape: Sequence[int],
    sharding: Sharding | Format,
    arrays: Sequence[Any],
    *,
    dtype: DTypeLike | None = None,
) -> ArrayImpl:
    """Assembles a global array of `shape` from `arrays`, its shards on single devices.

    Args:
      shape: the global shape.
      sharding: the sharding of the array.
      arrays: one array on each device of the sharding that belongs to this process, in any order.
      dtype: the dtype of the array; by default that of the shards.

    Raises:
      TypeError: if `arrays` is not a sequence of arrays.
      ValueError: if the number of arrays is not the number of devices; if an array is not on a
        device of the sharding, has the wrong shape or dtype, or is traced.

    Example:
      >>> x = jnp.arange(4.0)
      >>> jax.make_array_from_single_device_arrays((4,), x.sharding, [x])
      Array([0., 1., 2., 3.], dtype=float32)
    """
    api_name = "make_array_from_single_device_arrays"
    place, global_shape = _placed_shape(sharding, shape)
    if not isinstance(arrays, Sequence):
        raise TypeError(
            f"jax.{api_name}: `arrays` must be a sequence, but is of type {type(arrays)}"
        )
    if any([isinstance(x, Tracer) for x in arrays]):
        raise ValueError(
            f"jax.{api_name}: `arrays` must be concrete, but some are traced, "
            f"{[type(x) for x in arrays]}: call it outside of traced functions"
        )
    return cast("ArrayImpl", assembly.of_devices(api_name, global_shape, place, arrays, dtype))


@overload
def make_array_from_process_local_data(
    sharding: Sharding, local_data: ArrayLike, global_shape: Sequence[int] | None = None
) -> Array: ...


@overload
def make_array_from_process_local_data(
    sharding: Sharding, local_data: T, global_shape: Sequence[int] | None = None
) -> T: ...


def make_array_from_process_local_data(
    sharding: Sharding, local_data: PyTree, global_shape: Sequence[int] | None = None
) -> object:
    """Assembles global arrays from the data of all processes.

    Args:
      sharding: the sharding of the arrays, or a tree prefix of shardings.
      local_data: a pytree of NumPy arrays: the part of each array that this process holds.
      global_shape: the global shape, or a tree prefix of shapes; by default, it is inferred from
        the assumption that `local_data` is the part that the devices of this process hold. Along
        axes of the global size, `local_data` is taken to be the global data.

    Raises:
      ValueError: if `sharding` cannot divide an array evenly, or the data have neither the global
        shape nor the shape of the part that the devices of this process hold.

    Example:
      >>> import numpy as np
      >>> x = jnp.arange(4.0)
      >>> jax.make_array_from_process_local_data(x.sharding, np.arange(4.0, dtype=np.float32))
      Array([0., 1., 2., 3.], dtype=float32)
    """
    leaves, tree = pytrees.tree_flatten(local_data)
    places = pytrees.broadcast_prefix(sharding, local_data)
    if global_shape is None or all([isinstance(n, int) for n in global_shape]):
        shapes: list[Any] = [global_shape] * len(leaves)
    else:
        shapes = pytrees.broadcast_prefix(
            global_shape, local_data, is_leaf=lambda x: x is None or isinstance(x, tuple)
        )
    arrays: list[Any] = []
    for x, place, shape in zip(leaves, places, shapes, strict=True):
        data = np.asarray(x)
        if isinstance(place, PartitionSpec):
            place = sharding_on_context_mesh(place, "make_array_from_process_local_data")
        arrays.append(of_local_data(data, as_sharding(place), shape))
    return pytrees.tree_unflatten(tree, arrays)


def of_local_data(
    data: np.ndarray, place: Sharding, global_shape: Sequence[int] | None = None
) -> ArrayImpl:
    """Returns the global array whose part on this process is `data`.

    See `make_array_from_process_local_data`.
    """
    place.check_compatible_aval(data.shape)
    global_shape = (
        windows.global_shape(place, data.shape) if global_shape is None else tuple(global_shape)
    )
    if global_shape is None:
        raise ValueError(
            f"make_array_from_process_local_data: this process has no device of {place}, so the "
            f"shape of the array cannot be inferred from data of shape {data.shape}: pass "
            "global_shape"
        )
    if len(global_shape) != data.ndim or not all([isinstance(n, int) for n in global_shape]):
        raise ValueError(
            "make_array_from_process_local_data: global_shape must have a size for each axis of "
            f"the data, but is {global_shape} for data of shape {data.shape}"
        )
    place.check_fits(global_shape)
    window = windows.window(place, global_shape)
    own_shape = windows.shape_of(window)
    cut: list[slice] = []
    for axis, (n, local, there) in enumerate(zip(data.shape, own_shape, global_shape, strict=True)):
        if n not in (local, there):
            raise ValueError(
                f"make_array_from_process_local_data: axis {axis} of the data has size {n}, but this "
                f"axis of the array has size {there}, of which the devices of this process hold "
                f"{local}: the data must have shape {own_shape} or {global_shape}, but has shape "
                f"{data.shape}"
            )
        cut.append(slice(None) if n == local else window[axis])
    return windowed(array_of(data[(*cut, ...)]), place, global_shape)


def windowed(local: ArrayImpl, place: Sharding, global_shape: tuple[int, ...]) -> ArrayImpl:
    """Returns the global array of shape `global_shape` whose part on this process is `local`."""
    aval = explicit.typed(local.aval.update(shape=global_shape), place)
    return placed_array(host_array(local), aval, place, windows.first_device(place))


def _placed_shape(
    place: Sharding | Format, shape: Sequence[int]
) -> tuple[Sharding, tuple[int, ...]]:
    global_shape, sharding = tuple(shape), as_sharding(place)
    sharding.check_fits(global_shape)
    return sharding, global_shape


@overload
def reshard(xs: ArrayLike, out_shardings: PyTree) -> Array: ...


@overload
def reshard(xs: T, out_shardings: PyTree) -> T: ...


def reshard(xs: PyTree, out_shardings: PyTree) -> object:
    """Moves `xs` to the shardings `out_shardings`, along Explicit mesh axes.

    The types of the results include their shardings along these axes.

    Args:
      xs: a pytree of arrays.
      out_shardings: a Sharding, or a PartitionSpec on the context mesh, for all of them, or a
        pytree of these that is a prefix of `xs`.

    Returns: a pytree like `xs`, with the same shapes, dtypes and values.

    Raises:
      ValueError: if a PartitionSpec is given without a context mesh, if arrays cannot be sharded as
        requested, or for axes that are not Explicit; use `with_sharding_constraint` for Auto axes.

    Example:
      >>> x = jnp.arange(3)
      >>> jax.reshard(x, x.sharding)
      Array([0, 1, 2], dtype=int32)
    """
    leaves, tree = pytrees.tree_flatten(xs)
    if isinstance(out_shardings, PartitionSpec | Sharding):
        places = [out_shardings] * len(leaves)
    else:
        places = pytrees.broadcast_prefix(out_shardings, xs, is_leaf=lambda place: place is None)
    moved = [_moved(as_value(x), _explicit(p)) for x, p in zip(leaves, places, strict=True)]
    return pytrees.tree_unflatten(tree, moved)


def _moved(x: Any, place: Sharding) -> Array:
    """Moves `x` along Explicit axes, and constrains it along others."""
    if isinstance(x, ArrayImpl):
        if asks_nothing(place):
            return settled(x)
        if no_collectives.value and isinstance(place, NamedSharding):
            return resharded(x, place)  # bound as an operation, which is checked
        aval = explicit.typed(x.aval, place)
        return x.placed(explicit.place_of(aval, as_mesh(place)) or place)
    return resharded(x, place) if isinstance(place, NamedSharding) else device_put(x, place)


def _explicit(place: PartitionSpec | Sharding) -> Sharding:
    """Returns `place` as a sharding.

    Raises:
      ValueError: if it shards along an axis that is not Explicit.
    """
    if isinstance(place, PartitionSpec):
        place = sharding_on_context_mesh(place, "reshard: out_shardings")
    if not isinstance(place, NamedSharding):
        return as_sharding(place)
    kinds = dict(zip(place.mesh.axis_names, place.mesh.axis_types, strict=True))
    for entry in place.spec:
        for name in () if entry is PartitionSpec.UNCONSTRAINED else names_of(entry):
            if kinds[name] is not AxisType.Explicit:
                raise ValueError(
                    f"jax.sharding.reshard: {place.spec} must name axes of type Explicit, but "
                    f"{name} is of type "
                    f"{kinds[name]}; use jax.lax.with_sharding_constraint for Auto axes"
                )
    return place


@overload
def auto_axes(
    f: Callable[..., R], /, *, axes: AxisName = None, out_sharding: PyTree = None
) -> Callable[..., R]: ...


@overload
def auto_axes(
    f: None = None, /, *, axes: AxisName = None, out_sharding: PyTree = None
) -> Callable[[Callable[..., R]], Callable[..., R]]: ...


def auto_axes(
    f: Callable[..., PyTree] | None = None, /, *, axes: AxisName = None, out_sharding: PyTree = None
) -> object:
    """Returns a function that runs `f` with Auto mesh axes: its types do not include shardings.

    Args:
      f: a function of pytrees of arrays that returns a pytree of arrays.
      axes: names of the axes; all axes of the context mesh by default.
      out_sharding: shardings of the results: a PartitionSpec or Sharding for all of them, or a
        pytree of these that is a prefix of the result. If omitted, it is a keyword argument of each
        call.

    Returns: a function of the same arguments, whose results have `out_sharding` in their types. If
      `axes` are already Auto, it calls `f` directly.

    Raises:
      TypeError: in a call, if `out_sharding` is given neither to the decorator nor to the call.
      NotImplementedError: in a call within a `shard_map` in which the axes are Manual.
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)

    @wraps(f)
    def called(*args: PyTree, **kwargs: PyTree) -> object:
        place = _option_or_argument("out_sharding", out_sharding, kwargs)
        outer = _mesh_of(args, place)
        _check_not_manual(axes, "Auto")
        if _are(outer, axes, AxisType.Auto):
            return f(*args, **kwargs)
        inner = _with_types(outer, axes, AxisType.Auto)

        def cast_in(x: Value) -> Value:
            return _cast(x, inner)

        inside = pytrees.tree_map(cast_in, (args, kwargs))
        with with_context_mesh(inner):
            results = f(*inside[0], **inside[1])
        with with_context_mesh(outer):
            return reshard(results, place)

    return called


@overload
def explicit_axes(
    f: Callable[..., R], /, *, axes: AxisName = None, in_sharding: PyTree = None
) -> Callable[..., R]: ...


@overload
def explicit_axes(
    f: None = None, /, *, axes: AxisName = None, in_sharding: PyTree = None
) -> Callable[[Callable[..., R]], Callable[..., R]]: ...


def explicit_axes(
    f: Callable[..., PyTree] | None = None, /, *, axes: AxisName = None, in_sharding: PyTree = None
) -> object:
    """Returns a function that runs `f` with Explicit mesh axes: its types include shardings.

    Args:
      f: a function of pytrees of arrays that returns a pytree of arrays.
      axes: names of the axes; all axes of the context mesh by default.
      in_sharding: shardings of the arguments: a PartitionSpec or Sharding for all of them, or a
        pytree of these that is a prefix of the tuple of arguments. If omitted, it is a keyword
        argument of each call.

    Returns: a function of the same arguments.

    Raises:
      TypeError: in a call, if `in_sharding` is given neither to the decorator nor to the call.
      NotImplementedError: in a call within a `shard_map` in which the axes are Manual.
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)

    @wraps(f)
    def called(*args: PyTree, **kwargs: PyTree) -> object:
        place = _option_or_argument("in_sharding", in_sharding, kwargs)
        outer = _mesh_of(args, place)
        _check_not_manual(axes, "Explicit")
        if outer.empty:
            return f(*args, **kwargs)
        inner = _with_types(outer, axes, AxisType.Explicit)
        with with_context_mesh(inner):
            results = f(*reshard(args, place), **kwargs)

        def cast_out(x: Value) -> Value:
            return _cast(x, outer)

        return pytrees.tree_map(cast_out, results)

    return called


def _option_or_argument(option: str, value: PyTree, kwargs: dict[str, PyTree]) -> object:
    """Returns an option of `auto_axes` or `explicit_axes`, given to them or else to the call."""
    if value is not None:
        return value
    if option not in kwargs:
        raise TypeError(
            f"{option} must be passed to {_AXES_OF[option]} or to the call, but was passed to neither"
        )
    return kwargs.pop(option)


_AXES_OF = {"out_sharding": "auto_axes", "in_sharding": "explicit_axes"}


def _check_not_manual(axes: AxisName, kind: str) -> None:
    around = get_abstract_mesh()
    manual = set(around.axis_names if axes is None else names_of(axes)) & set(around.manual_axes)
    if manual:
        raise NotImplementedError(
            f"{kind} axes are required, but the axes {sorted(map(str, manual))} of {around} are "
            "Manual within this shard_map, and cannot become `Auto` or `Explicit`"
        )


def _are(mesh: Mesh, axes: AxisName, kind: AxisType) -> bool:
    """Returns whether `axes` of `mesh` (all if None) are of type `kind`; true for an empty mesh."""
    kinds = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    names = mesh.axis_names if axes is None else names_of(axes)
    return all([kinds.get(name, kind) is kind for name in names])


def _mesh_of(args: PyTree, shardings: PyTree) -> Mesh:
    """Returns the context mesh, or without one, the first mesh of a sharding or an argument."""
    mesh = get_mesh()
    if not mesh.empty:
        return mesh
    leaves = [*pytrees.tree_leaves(shardings), *[getattr(x, "placement", None)
              for x in pytrees.tree_leaves(args)]]  # fmt: skip
    meshes = [p.mesh for p in leaves if isinstance(p, NamedSharding)]
    return next((m for m in meshes if isinstance(m, Mesh)), mesh)


def _with_types(mesh: Mesh, axes: AxisName, kind: AxisType) -> Mesh:
    """Returns `mesh` with `axes`, or all axes, of type `kind`."""
    names = mesh.axis_names if axes is None else names_of(axes)
    pairs = zip(mesh.axis_names, mesh.axis_types, strict=True)
    return mesh.update(axis_types=tuple([kind if name in names else own for name, own in pairs]))


def _cast(x: Value, mesh: Mesh) -> Value:
    """Returns `x` unchanged, reinterpreted on `mesh` with other axis types."""
    if not is_valid_operand(x):
        return x  # an index, such as a slice
    if isinstance(x, ArrayImpl):
        place = x.placement
        return x.placed(place.update(mesh=mesh)) if isinstance(place, NamedSharding) else x
    sharding = explicit.sharding_of(get_aval(x))
    return x if sharding is None else resharded(x, sharding.update(mesh=mesh))
