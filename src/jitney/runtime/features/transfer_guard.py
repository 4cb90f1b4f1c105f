"""`jax.transfer_guard`: finds unintended copies that a program makes.

Devices share the memory of this machine, so a transfer changes the device to which an array
belongs, but moves no data over a bus. It is *explicit* if the program requests it
(`jax.device_put`), and *implicit* if an operation or a jitted function has an operand elsewhere: a
scalar or a NumPy array ("host to device"), or an array that has to move to another device. The host
reads the data of arrays in place, so there is nothing to guard in that direction.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.diagnostics.errors import JaxRuntimeError
from jitney.core.settings import config
from jitney.core.tracing.primitive import Primitive
from jitney.core.tracing.trace import intercept_evaluation, state
from jitney.core.types.avals import get_aval
from jitney.runtime.arrays import array_interceptors
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.arrays.array_interceptors import ArrayInterceptor
from jitney.runtime.devices import client
from jitney.runtime.devices.sharding import SingleDeviceSharding
from jitney.runtime.execution import call_interceptors
from jitney.runtime.execution.call_interceptors import ProgramCall
from jitney.runtime.execution.eager import EvalTrace, evaluator_for

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.typing import Value
    from jitney.runtime.execution.assignment import Assignment

_log = logging.getLogger(__name__)

_HOST_TO_DEVICE, _DEVICE_TO_DEVICE = "host-to-device", "device-to-device"
_OPTIONS = {
    _HOST_TO_DEVICE: config.transfer_guard_host_to_device,
    _DEVICE_TO_DEVICE: config.transfer_guard_device_to_device,
}


def is_on() -> bool:
    """Returns whether some kind of transfer may have to be logged or refused."""
    return any([option.value not in (None, "allow") for option in _OPTIONS.values()])


def check_operands(leaves: Sequence[Any], assignment: Assignment, what: str) -> None:
    """Guards the implicit transfers of a call.

    Args:
      leaves: operands of the call.
      assignment: its devices and shardings.
      what: the name of the callee, for messages.

    Raises:
      JaxRuntimeError: if an operand is on another device, and may not be transferred.
    """
    places = assignment.in_shardings or (None,) * len(leaves)
    for x, place in zip(leaves, places, strict=True):
        target = place or SingleDeviceSharding(assignment.devices[0])
        if type(x) is not ArrayImpl:
            _guard(_HOST_TO_DEVICE, x, target, what)
        elif x.sharding.device_order != assignment.devices:
            _guard(_DEVICE_TO_DEVICE, x, target, what)


def check_operand(x: object, what: str) -> None:
    """Guards the implicit transfer of an operand that is not a runtime array.

    Args:
      x: a scalar or a NumPy array.
      what: the name of the operation, for messages.

    Raises:
      JaxRuntimeError: if the operand may not be transferred to the device.
    """
    _guard(_HOST_TO_DEVICE, x, SingleDeviceSharding(client.default_device()), what)


def check_put(x: object, where: Sharding | None) -> None:
    """Guards the explicit transfer of a value by `device_put`.

    Args:
      x: the value.
      where: the target; None for the current placement, or the default device.

    Raises:
      JaxRuntimeError: if it may not be transferred.
    """
    target = where or SingleDeviceSharding(client.default_device())
    if not isinstance(x, ArrayImpl):
        _guard(_HOST_TO_DEVICE, x, target, "device_put", is_explicit=True)
    elif where is not None and x.sharding.device_set != where.device_set:
        _guard(_DEVICE_TO_DEVICE, x, target, "device_put", is_explicit=True)


def _guard(
    direction: str, x: object, target: Sharding, what: str, *, is_explicit: bool = False
) -> None:
    option = _OPTIONS[direction]
    mode = option.value
    if mode in (None, "allow") or (is_explicit and not mode.endswith("explicit")):
        return
    description = f"{direction} transfer: {what} copies {get_aval(x)!r} to {target}"
    if mode.startswith("log"):
        _log.warning(description)
        return
    cure = (
        "the transfer is explicit, and the option ends in _explicit"
        if is_explicit
        else "move it there first, by jax.device_put, or create it where it is used"
    )
    raise JaxRuntimeError(
        f"INVALID_ARGUMENT: Disallowed {description}. {option.name} is {mode!r}: {cure}"
    )


class TransferGuards(EvalTrace):
    """A trace that guards transfers of operands that are not arrays (`jax_transfer_guard`)."""

    __slots__ = ()

    def process_primitive(
        self,
        primitive: Primitive,
        args: Sequence[Value],
        params: dict[str, Any],
        built_in: bool = False,
    ) -> object:
        if not primitive.is_evaluated_by_user(built_in):
            for x in args:
                if type(x) is not ArrayImpl and evaluator_for(x) is None:
                    check_operand(x, str(primitive))
        return super().process_primitive(primitive, args, params, built_in)


class GuardsOfCalls:
    """An interceptor that guards transfers of operands of programs (`jax_transfer_guard`)."""

    def is_on(self) -> bool:
        """See `CallInterceptor`."""
        return is_on()

    def intercept(
        self, call: ProgramCall, proceed: Callable[[], list[ArrayImpl]]
    ) -> list[ArrayImpl]:
        """See `CallInterceptor`."""
        check_operands(call.leaves, call.assignment, f"jit({call.name})")
        return proceed()


class GuardsOfArrays(ArrayInterceptor):
    """An interceptor that guards transfers of values that become arrays (`jax_transfer_guard`)."""

    def check_from_host(self, x: object, what: str) -> None:
        if state.trace is state.eval_trace:
            check_operand(x, what)

    def check_put(self, x: object, where: Sharding | None) -> None:
        check_put(x, where)


_OF_CALLS, _OF_ARRAYS = GuardsOfCalls(), GuardsOfArrays()


def _start() -> None:
    intercept_evaluation(TransferGuards)
    call_interceptors.features.install(_OF_CALLS)
    array_interceptors.features.install(_OF_ARRAYS)


def install() -> None:
    """Registers the guards, which start when one of their options is first set."""
    config.transfer_checks.installs(_start)
