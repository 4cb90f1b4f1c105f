"""Where a program runs: executables are keyed by it, beside the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from jitney.core import caches
from jitney.runtime import client
from jitney.runtime.array import ArrayImpl

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding
    from jitney.runtime.device import Device
    from jitney.runtime.native._native import Queue


class Assignment:
    """Devices, shardings and donation that an executable is for. Equal ones are one object.

    Attributes:
      devices: those that run the program, in the order of the shardings'.
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

    @property
    def queue(self) -> Queue:
        """What runs calls: that of the one device, or that of all threads."""
        return self.devices[0].queue if len(self.devices) == 1 else client.client().queue

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


def assign(
    leaves: Sequence[Any],
    donated: Sequence[bool] = (),
    live: Sequence[bool] | None = None,
    describe: Callable[[int], str] = "operand {}".format,
) -> Assignment:
    """The assignment of a call on `leaves`: where those are that somebody put there, or the default.

    Args:
      leaves: the operands.
      donated: for each, whether its buffer is given up; empty if none is.
      live: for each, whether the program reads it, and so whether its place matters; by default all.
      describe: what messages call operand number i.

    Raises:
      ValueError: if operands were put on different devices.
    """
    places: list[Sharding | None] = [
        x.placement if type(x) is ArrayImpl else None for x in leaves
    ]  # fmt: skip
    if live is not None:
        places = [place if used else None for place, used in zip(places, live, strict=True)]
    key: tuple[object, ...] = ()
    default: Device | None = None
    if any([place is not None for place in places]):
        key = tuple(places)
    else:
        default = client.default_device()
    given_up = tuple(donated) if any(donated) else ()
    found = _interned.get((default, key, given_up))
    if found is None:
        devices = (default,) if default is not None else devices_of(places, leaves, describe)
        made = Assignment(devices, tuple(places) if key else (), given_up)
        found = _interned.setdefault((default, key, given_up), made)
    return found


def over(devices: tuple[Device, ...], assignment: Assignment, n_operands: int) -> Assignment:
    """`assignment` of a program of `n_operands` that runs on `devices`, wherever these are."""
    places = assignment.in_shardings or (None,) * n_operands
    key = (devices, places, assignment.donated)
    found = _interned.get(key)
    if found is None:
        found = _interned.setdefault(key, Assignment(devices, places, assignment.donated))
    return found


def devices_of(
    places: Sequence[Sharding | None], leaves: Sequence[Any], describe: Callable[[int], str]
) -> tuple[Device, ...]:
    """The devices that all operands were put on, of which one at least was put anywhere.

    Raises:
      ValueError: if operands were put on different devices, or on the same ones in different orders.
    """
    first, order = 0, None
    for i, place in enumerate(places):
        if place is None:
            continue
        if order is None:
            first, order = i, place.device_order
        elif place.device_order != order:
            told = [
                f"{describe(k)}, {leaves[k].aval.str_short()}, on device ids "
                f"{[d.id for d in leaves[k].placement.device_order]}"
                for k in (first, i)
            ]
            raise ValueError(
                f"Received incompatible devices for jitted computation: {told[0]}, and {told[1]}. "
                "Bring them together by jax.device_put"
            )
    assert order is not None
    return cast("tuple[Device, ...]", order)
