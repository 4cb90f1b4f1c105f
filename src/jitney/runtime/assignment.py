"""Where a program runs: executables are keyed by it, beside the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from jitney.core import caches
from jitney.runtime import client
from jitney.runtime.array import ArrayImpl

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding
    from jitney.runtime.device import Device


class Assignment:
    """Devices, shardings and donation that an executable is for. Equal ones are one object.

    Attributes:
      devices: those that run the program.
      in_shardings: for each operand, where the user put it, or None; empty if nobody put any anywhere.
      donated: for each operand, whether its buffer is given up; empty if none is.
    """

    __slots__ = ("devices", "donated", "in_shardings")

    def __init__(
        self,
        devices: tuple[Device, ...],
        in_shardings: tuple[Sharding | None, ...],
        donated: tuple[bool, ...],
    ) -> None:
        self.devices = devices
        self.in_shardings = in_shardings
        self.donated = donated

    def __repr__(self) -> str:
        return (
            f"Assignment(devices={self.devices}, in_shardings={self.in_shardings}, "
            f"donated={self.donated})"
        )


_interned: dict[tuple[object, ...], Assignment] = {}
caches.register(
    "assignments of programs", "devices, shardings, donation", __name__,
    entries=_interned.__len__, clear=_interned.clear,
)  # fmt: skip


def assign(leaves: Sequence[Any], donated: Sequence[bool] = ()) -> Assignment:
    """The assignment of a call on `leaves`: where those are that somebody put there, or the default.

    Args:
      leaves: the operands.
      donated: for each, whether its buffer is given up; empty if none is.
    """
    places = [x.placement if type(x) is ArrayImpl else None for x in leaves]
    key: tuple[object, ...] = ()
    if any([place is not None for place in places]):
        key = tuple(places)
    given_up = tuple(donated) if any(donated) else ()
    default = client.default_device()
    found = _interned.get((default, key, given_up))
    if found is None:
        devices = (default,)
        for place in places:
            if place is not None:
                devices = tuple(sorted(cast("set[Device]", place.device_set), key=_number))
                break
        made = Assignment(devices, tuple(places) if key else (), given_up)
        found = _interned.setdefault((default, key, given_up), made)
    return found


def _number(device: Device) -> int:
    return device.id
