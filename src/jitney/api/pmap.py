"""`pmap`: a function applied along an axis of its arguments, one index for each device."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.api.jit import jit
from jitney.api.vmap import vmap
from jitney.core.pytree import pytrees
from jitney.core.trace import state
from jitney.runtime import client

if TYPE_CHECKING:
    from jitney.api.jit import Jitted
    from jitney.core.typing import AxisName, PyTree
    from jitney.runtime.device import Device


class _OwnAxis:
    """The name of an axis that the user has not named; equal to no other."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<axis of pmap of {self._name}>"


def pmap(
    fun: Callable[..., PyTree],
    axis_name: AxisName = None,
    *,
    in_axes: int | Sequence[PyTree] | None = 0,
    out_axes: PyTree = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
) -> Jitted[..., Any]:
    """`fun`, compiled, for all indices of an axis of its arguments, one on each device.

    Args:
      fun: takes and returns pytrees of arrays.
      axis_name: how collectives within `fun` call the axis.
      in_axes: which axis of each argument, as in `vmap`; None for arguments that all devices share.
      out_axes: where the axis is in the result: likewise.
      static_broadcasted_argnums: positions of arguments that are no arrays, but part of the program.
      devices: the devices; all that there are by default.
      backend: the platform of the devices.
      axis_size: the axis's extent, where no argument has it.
      donate_argnums: as in `jit`.

    Returns: a compiled function of the same arguments with one more axis.

    Raises:
      TypeError: if `fun` is not callable, or axes are no integers.
      ValueError: if the axis is longer than there are devices; if extents differ.

    Example:
      >>> jax.pmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(jnp.array([[1.0, 2.0]]))
      Array([[1., 1.]], dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"pmap: expected a callable value, got {fun}")
    static, donated = _positions(static_broadcasted_argnums), _positions(donate_argnums)
    name = axis_name if axis_name is not None else _OwnAxis(getattr(fun, "__name__", "function"))
    places = client.client(backend).local_devices() if devices is None else list(devices)
    axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes

    @functools.wraps(fun, updated=())
    def over_devices(*args: PyTree, **kwargs: PyTree) -> PyTree:
        fixed = {i % len(args): args[i] for i in static if -len(args) <= i < len(args)}
        mapped = [i for i in range(len(args)) if i not in fixed]

        def on_one_device(*values: PyTree, **named: PyTree) -> PyTree:
            _check_devices(fun, dict(state.axis_env)[name], len(places))
            found = iter(values)
            whole = [fixed[i] if i in fixed else next(found) for i in range(len(args))]
            return fun(*whole, **named)

        own_axes: Any = axes
        if isinstance(axes, tuple) and len(axes) == len(args):
            own_axes = tuple(axes[i] for i in mapped)
        batched = vmap(on_one_device, own_axes, out_axes, axis_name=name, axis_size=axis_size)
        _check_ranks(fun, [args[i] for i in mapped], own_axes)
        return batched(*[args[i] for i in mapped], **kwargs)

    return jit(over_devices, static_argnums=static, donate_argnums=donated)


def _positions(numbers: int | Iterable[int]) -> tuple[int, ...]:
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)


def _check_devices(fun: Callable[..., Any], size: int, n_devices: int) -> None:
    if size > n_devices:
        name = getattr(fun, "__name__", repr(fun))
        raise ValueError(
            f"pmap of {name}: the mapped axis has {size} indices, and there are {n_devices} devices; "
            f"each index needs one. Use jax.vmap, or map over parts of {n_devices}."
        )


def _check_ranks(fun: Callable[..., Any], args: Sequence[PyTree], axes: PyTree) -> None:
    if isinstance(axes, int) and any(not x.shape for x in pytrees.tree_leaves(list(args))):
        name = getattr(fun, "__name__", repr(fun))
        raise ValueError(
            f"pmap of {name}: was requested to map its argument along axis {axes}, which implies that "
            f"its rank should be at least {axes + 1 if axes >= 0 else -axes}, but it is a scalar"
        )
