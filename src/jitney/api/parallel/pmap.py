"""`pmap`: a function mapped over an axis of its arguments, with one index per device.

It is `jit` of a `shard_map` over a mesh with one axis. The shard of each device has one index of
the mapped axis, and this axis is removed before the function is called. If the devices belong to
several processes, arguments and results are the shards of this process (`pmap_processes`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jitney.api.jit.jit import JitFunction, jit
from jitney.api.parallel import pmap_processes
from jitney.api.parallel.shard_map import Mapped
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.messages import messages
from jitney.core.pytree import pytrees
from jitney.core.sharding.mesh import AxisType, Mesh, get_abstract_mesh
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.util.wraps import wraps
from jitney.primitives.array import broadcasting, shape as shapes
from jitney.primitives.elementwise.convert import as_value
from jitney.runtime.devices import client, processes

if TYPE_CHECKING:
    from jitney.api.jit.jit import Jitted
    from jitney.core.typing import Array, AxisName, PyTree
    from jitney.runtime.devices.device import Device

R = TypeVar("R")

OWN_AXIS = "_internal_pmap_axis_name"  # the name of an axis that the user has not named, as in JAX


def pmap(
    fun: Callable[..., R],
    axis_name: AxisName = None,
    *,
    in_axes: int | Sequence[PyTree] | None = 0,
    out_axes: PyTree = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
) -> Jitted[..., R]:
    """Returns a compiled function that maps `fun` over an axis, with one index on each device.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      axis_name: the name of the mapped axis for collectives within `fun`.
      in_axes: the mapped axis of each positional argument, as in `vmap`; None for arguments that
        are replicated. Keyword arguments are mapped along their first axis.
      out_axes: the position of the mapped axis in each result, specified like `in_axes`. None for
        results that are the same on all devices.
      static_broadcasted_argnums: positions of arguments that are compile-time constants, not
        arrays.
      devices: the devices; by default the first available ones, as many as the axis has indices.
      backend: the platform of the devices.
      axis_size: the size of the mapped axis; required if no argument is mapped.
      donate_argnums: as in `jit`.

    Returns: a compiled function whose arguments and results have one additional axis. Each device
      holds one index of a result. If the devices belong to several processes, each process passes
      the data of its own devices, and receives the results of these devices.

    Raises:
      TypeError: if `fun` is not callable, or axes are not integers.
      ValueError: if the axis is larger than the number of devices, or, with `devices` or over
        several processes, differs from the number of devices of this process; if sizes of mapped
        axes differ; if an argument has too few axes.
      RuntimeError: if a `pmap` over several processes is called under a transformation.

    Example:
      >>> def deviation(row):
      ...     return row - jax.lax.pmean(row, "device")
      >>> jax.pmap(deviation, axis_name="device")(jnp.array([[1.0, 2.0]]))
      Array([[0., 0.]], dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"pmap needs a function, but got {fun} of type {type(fun).__name__}")
    if devices is not None and not len(devices):
        raise ValueError("pmap: `devices` must not be empty; pass None for all devices")
    _check_axes(in_axes, out_axes)
    static, donated = _positions(static_broadcasted_argnums), _positions(donate_argnums)
    mapped = _Mapped(
        fun, OWN_AXIS if axis_name is None else axis_name,
        tuple(in_axes) if isinstance(in_axes, list) else in_axes, out_axes, static, devices, backend,
        axis_size,
    )  # fmt: skip

    @wraps(fun)
    def over_devices(*args: PyTree, **kwargs: PyTree) -> object:
        if static and max(static) >= len(args):
            raise ValueError(
                f"pmap of {mapped.name}: static_broadcasted_argnums={static} must be positions of "
                f"positional arguments, but the call has only {len(args)} of these; pass static "
                "arguments by position"
            )
        return mapped(args, kwargs)

    compiled: Any = jit(over_devices, static_argnums=static, donate_argnums=donated)
    function: Any = PmapFunction(compiled.call, over_devices)
    function.mapped = mapped
    function.__wrapped__ = fun
    return function


class PmapFunction(JitFunction):
    """A function transformed by `pmap`."""

    mapped: _Mapped

    @api_boundary
    def call_slowly(self, args: tuple[PyTree, ...], kwargs: dict[str, PyTree]) -> object:
        mapped = self.mapped
        if not mapped.is_over_processes():
            return super().call_slowly(args, kwargs)
        mesh, args, kwargs = mapped.on_all_devices(args, kwargs)
        return pmap_processes.own_parts(super().call_slowly(args, kwargs), mesh)


def _positions(numbers: int | Iterable[int]) -> tuple[int, ...]:
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)


def _check_axes(in_axes: PyTree, out_axes: PyTree) -> None:
    is_tree = isinstance(in_axes, list | tuple | int | type(None))
    axes = pytrees.tree_leaves((in_axes, out_axes))
    if not is_tree or not all([isinstance(x, int) and not isinstance(x, bool) for x in axes]):
        raise TypeError(
            "pmap: all axes must be integers or None, and in_axes must be one axis for all "
            f"arguments or a tuple with an entry for each, but got {in_axes=} and {out_axes=}"
        )


class _Mapped:
    """The function that `pmap` compiles, with its options."""

    def __init__(
        self,
        fun: Callable[..., PyTree],
        axis_name: AxisName,
        in_axes: int | Sequence[PyTree] | None,
        out_axes: PyTree,
        static: tuple[int, ...],
        devices: Sequence[Device] | None,
        backend: str | None,
        axis_size: int | None,
    ) -> None:
        self.fun = fun
        self.name = getattr(fun, "__name__", repr(fun))
        self.axis_name = axis_name
        self.in_axes = in_axes
        self.out_axes = out_axes
        self.static = static
        self.devices = devices
        self.backend = backend
        self.axis_size = axis_size

    def __call__(self, args: tuple[PyTree, ...], kwargs: dict[str, PyTree]) -> object:
        fixed, values, tree, axes = self.flattened_call(args, kwargs)
        mesh = self.mesh(self.extent(values, axes))
        out_axes: list[Any] = []
        out_trees: list[Any] = []

        def on_one_device(*parts: PyTree) -> list[Array]:
            own = [
                x if axis is None else shapes.squeeze(x, (axis,))
                for x, axis in zip(parts, axes, strict=True)
            ]
            positional, named = pytrees.tree_unflatten(tree, own)
            remaining = iter(positional)
            whole = [fixed[i] if i in fixed else next(remaining) for i in range(len(args))]
            out = self.fun(*whole, **named)
            outs, out_tree = pytrees.tree_flatten(out)
            outs = [as_value(x) for x in outs]
            out_axes[:] = self.axes_of_results(out, outs)
            out_trees[:] = [out_tree]
            return [
                x if axis is None else broadcasting.expand_dims(x, (axis,))
                for x, axis in zip(outs, out_axes, strict=True)
            ]

        on_all = Mapped(
            on_one_device, tuple([self.spec(axis) for axis in axes]),
            lambda: [self.spec(axis) for axis in out_axes], mesh, frozenset(), check_vma=False,
            adds_axes=True,
        )  # fmt: skip
        outs = on_all(tuple(values))
        return pytrees.tree_unflatten(out_trees[0], outs)

    def flattened_call(
        self, args: tuple[PyTree, ...], kwargs: dict[str, PyTree]
    ) -> tuple[dict[int, object], list[Array], pytrees.PyTreeDef, list[int | None]]:
        """Returns (static arguments by position, flat other arguments, their tree, mapped axes)."""
        fixed = {i % len(args): args[i] for i in self.static if -len(args) <= i < len(args)}
        dynamic = tuple([args[i] for i in range(len(args)) if i not in fixed])
        leaves, tree = pytrees.tree_flatten((dynamic, kwargs))
        values: list[Any] = [as_value(x) for x in leaves]
        axes = [
            axis if axis is None or axis >= 0 else axis + len(x.shape)
            for axis, x in zip(
                self.axes_of_arguments(args, kwargs, dynamic, fixed), values, strict=True
            )
        ]
        self.check_ranks(values, axes)
        return fixed, values, tree, axes

    # --- several processes ----------------------------------------------------------------------

    def is_over_processes(self) -> bool:
        """Returns whether the devices belong to several processes."""
        return processes.size() > 1 and not all([x.is_addressable for x in self.there()])

    def on_all_devices(
        self, args: tuple[PyTree, ...], kwargs: dict[str, PyTree]
    ) -> tuple[Mesh, tuple[object, ...], dict[str, object]]:
        """Returns the mesh of all devices, and this process's arguments as arrays on it."""
        fixed, values, tree, axes = self.flattened_call(args, kwargs)
        there = self.there()
        own = [device for device in there if device.is_addressable]
        extent = self.extent(values, axes)
        if extent != len(own):
            raise ValueError(
                f"pmap of {self.name}: the mapped axis has {messages.counted(extent, 'index')}, "
                f"but this process has {len(own)} of the {len(there)} devices: each process "
                "passes one index for each of its own devices"
            )
        mesh = self.mesh(len(there))
        specs = [self.spec(axis) for axis in axes]
        arrays = pmap_processes.to_all_devices(values, specs, mesh, self.name)
        positional, named = pytrees.tree_unflatten(tree, arrays)
        remaining = iter(positional)
        whole = tuple([fixed[i] if i in fixed else next(remaining) for i in range(len(args))])
        return mesh, whole, named

    # --- axes -----------------------------------------------------------------------------------

    def spec(self, axis: int | None) -> PartitionSpec:
        """Returns the PartitionSpec of an array that is mapped along `axis`."""
        return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, self.axis_name)

    def axes_of_arguments(
        self,
        args: tuple[PyTree, ...],
        kwargs: dict[str, PyTree],
        dynamic: tuple[PyTree, ...],
        fixed: dict[int, Any],
    ) -> list[int | None]:
        """Returns the mapped axis of each leaf of the arguments that are not static."""
        given, axes = self.in_axes, ()
        if isinstance(given, tuple):
            axes = given
            if len(axes) != len(args):
                raise ValueError(
                    f"pmap of {self.name}: in_axes must have one entry for each positional "
                    f"argument, but has {len(axes)}, {axes}, for {len(args)}; arguments passed by "
                    "keyword are mapped along axis 0"
                )
            axes = tuple([axes[i] for i in range(len(args)) if i not in fixed])
        else:
            axes = (given,) * len(dynamic)
        flat: list[int | None] = []
        for k, (own, arg) in enumerate(zip(axes, dynamic, strict=True)):
            try:
                flat += pytrees.broadcast_axes(own, arg)
            except ValueError as error:
                raise ValueError(
                    f"pmap of {self.name}: in_axes[{k}] has to be a tree prefix of its argument, "
                    f"but is {own} for {pytrees.tree_structure(arg)}: {error}"
                ) from error
        return [*flat, *[0] * len(pytrees.tree_leaves(kwargs))]

    def axes_of_results(self, out: PyTree, outs: Sequence[Any]) -> list[int | None]:
        try:
            axes = pytrees.broadcast_axes(self.out_axes, out)
        except ValueError as error:
            raise ValueError(
                f"pmap of {self.name}: out_axes has to be a tree prefix of its result, but is "
                f"{self.out_axes} for {pytrees.tree_structure(out)}: {error}"
            ) from error
        return [
            axis if axis is None or axis >= 0 else axis + len(x.shape) + 1
            for axis, x in zip(axes, outs, strict=True)
        ]

    def check_ranks(self, values: Sequence[Any], axes: Sequence[int | None]) -> None:
        for x, axis in zip(values, axes, strict=True):
            if axis is not None and not 0 <= axis < len(x.shape):
                own = axis if axis >= 0 else axis - len(x.shape)  # as in in_axes
                raise ValueError(
                    f"pmap of {self.name}: an argument is mapped along axis {own}, so its rank must "
                    f"be at least {own + 1 if own >= 0 else -own}, but its shape is {x.shape}"
                )

    def extent(self, values: Sequence[Any], axes: Sequence[int | None]) -> int:
        """Returns how many indices the mapped axis has.

        Raises:
          ValueError: if sizes differ, or if no argument is mapped and `axis_size` is not given.
        """
        extents = {
            x.shape[axis] for x, axis in zip(values, axes, strict=True) if axis is not None
        }  # fmt: skip
        if self.axis_size is not None:
            extents.add(self.axis_size)
        if not extents:
            raise ValueError(
                f"pmap of {self.name}: no argument is mapped, so the size of the axis must be "
                "passed as axis_size="
            )
        if len(extents) > 1:
            raise ValueError(
                f"pmap of {self.name}: the mapped axes of the arguments must have the same size, "
                f"but have {sorted(extents)}"
            )
        return extents.pop()

    # --- devices --------------------------------------------------------------------------------

    def mesh(self, size: int) -> Mesh:
        """Returns a mesh with one device for each index.

        Raises:
          ValueError: if there are too few devices; if the option `devices` has another number of
            devices of this process than `size`, or is used in a nested `pmap`.
        """
        if get_abstract_mesh().manual_axes and self.devices is not None:
            raise ValueError(
                f"pmap of {self.name}: the option `devices` is only accepted by the outermost pmap"
            )
        there = self.there()
        if self.is_over_processes() and size != len(there):  # only its own shards
            there = [device for device in there if device.is_addressable]
        if self.devices is not None and size != len(there):
            raise ValueError(
                f"pmap of {self.name}: the mapped axis must have one index for each device of this "
                f"process in `devices`, of which there are {len(there)}, but has size {size}"
            )
        around = get_abstract_mesh()
        outer = math.prod([around.shape[name] for name in around.manual_axes])
        if outer * size > len(there):
            within = f", within an axis of {outer}" if outer > 1 else ""
            raise ValueError(
                f"pmap of {self.name}: the mapped axis has "
                f"{messages.counted(size, 'index')}{within}, but "
                f"{messages.there_are(len(there), 'device')}; each index needs a device. Use "
                "jax.vmap, or map over fewer indices."
            )
        grid = np.array(there[:size], dtype=object)
        return Mesh(grid, (self.axis_name,), (AxisType.Auto,))

    def there(self) -> list[Device]:
        """Returns the available devices."""
        if self.devices is not None:
            return list(self.devices)
        return client.client(self.backend).devices()
