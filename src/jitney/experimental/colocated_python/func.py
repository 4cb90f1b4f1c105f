"""Functions that run on the hosts of their arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.core.pytree import pytrees
from jitney.core.tracing.trace import Tracer
from jitney.core.util.lazy import listing, refusing
from jitney.core.util.record import record, replace
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.devices.device import Device

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

R = TypeVar("R")

__all__ = ["FunctionInfo", "Specialization", "make_callable"]

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)


@record(frozen=True)
class FunctionInfo:
    """A function, with its source location and signature.

    Attributes:
      fun: the function.
      fun_sourceinfo: source location of the function; None if unknown.
      fun_signature: signature of the function; None if unknown.
    """

    fun: Callable[..., Any]
    fun_sourceinfo: str | None
    fun_signature: inspect.Signature | None


@record(frozen=True)
class Specialization:
    """Static information about the calls of a function.

    Attributes:
      in_specs: types of (positional, keyword) arguments, a pytree of ShapeDtypeStructs.
      out_specs_fn: function that maps ShapeDtypeStructs of the arguments to those of the results.
      devices: devices on which a function without arguments runs.
    """

    in_specs: PyTree = None
    out_specs_fn: Callable[..., PyTree] | None = None
    devices: tuple[Device, ...] | None = None

    def update(self, **changes: Any) -> Specialization:
        """Returns a copy of the specialization with further fields set.

        Raises:
          ValueError: if a field is already set.
        """
        updates = {name: value for name, value in changes.items() if value is not None}
        for name in updates:
            if getattr(self, name) is not None:
                raise ValueError(
                    f"specialize: {name} already specified by an earlier call of `specialize`; apply "
                    "`colocated_python` to the function again to specify a different value"
                )
        return replace(self, **updates)


def colocated_python(fun: Callable[..., R]) -> Callable[..., R]:
    """Returns `fun` as a function that runs on the hosts of its arguments.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays. It is not traced; it is
        called with concrete arrays, and can have side effects.

    Returns: a function with the same parameters. Its method
      `specialize(in_specs=None, out_specs_fn=None, devices=None)` returns a version for which the
      types of arguments and results, or the devices of a function without arguments, are specified.

    Raises:
      ValueError: when the function is called, if an argument or result is not an array, or if there
        are neither arguments nor devices.

    Example:
      >>> @colocated_python
      ... def next_batch(step):
      ...     return jnp.asarray(read_from_disk(int(step)))
    """
    return _specialized(fun, Specialization())


def make_callable(
    fun: Callable[..., R],
    fun_sourceinfo: str | None,
    fun_signature: inspect.Signature | None,
) -> Callable[..., R]:
    """Returns `fun` as a function that runs on the hosts of its arguments; see `colocated_python`.

    Args:
      fun: the function.
      fun_sourceinfo: accepted for compatibility.
      fun_signature: signature of the result; by default the signature of `fun`.
    """
    call = colocated_python(fun)
    if fun_signature is not None:
        call.__dict__["__signature__"] = fun_signature
    return call


def _specialized(fun: Callable[..., R], known: Specialization) -> Callable[..., R]:
    @functools.wraps(fun)
    def call(*args: PyTree, **kwargs: PyTree) -> R:
        leaves = pytrees.tree_leaves((args, kwargs))
        _check_arrays(leaves)
        if not leaves and known.devices is None:
            raise ValueError(
                "colocated_python: the devices of a function that is called without arrays are "
                "unknown; specify them with `.specialize(devices=jax.devices())` first"
            )
        results = fun(*args, **kwargs)
        _check_arrays(pytrees.tree_leaves(results))
        return results

    def specialize(
        in_specs: PyTree = None,
        out_specs_fn: Callable[..., PyTree] | None = None,
        devices: Sequence[Device] | None = None,
    ) -> Callable[..., R]:
        """Returns a specialized version of the function; see `colocated_python`."""
        placement = None if devices is None else tuple(devices)
        changed = known.update(in_specs=in_specs, out_specs_fn=out_specs_fn, devices=placement)
        return _specialized(fun, changed)

    call.__dict__["specialize"] = specialize
    return call


def _check_arrays(leaves: Sequence[Any]) -> None:
    for leaf in leaves:
        if isinstance(leaf, Tracer):
            raise ValueError(
                "colocated_python functions can be called only with concrete arrays, but got "
                f"{leaf}; use jax.pure_callback in traced functions"
            )
        if not isinstance(leaf, ArrayImpl):
            raise ValueError(
                "colocated_python: functions can take and return only arrays, but got "
                f"{type(leaf)}; convert it with jax.numpy.asarray"
            )
