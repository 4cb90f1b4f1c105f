"""The sharding options of `jit`, `in_shardings` and `out_shardings`.

The arguments form a tuple, of which `in_shardings` is a tree prefix; `out_shardings` is a tree
prefix of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from jitney.core.messages import messages
from jitney.core.pytree import pytrees
from jitney.core.pytree.errors import prefix_errors
from jitney.core.sharding.mesh import AbstractMesh, Mesh, entered_mesh, mesh_of_specs
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.sharding.sharding import Sharding
from jitney.core.source.user_warnings import warn
from jitney.core.util.record import record
from jitney.runtime.devices import client
from jitney.runtime.devices.device import Device
from jitney.runtime.devices.sharding import (
    UNSPECIFIED,
    DeviceOfJit,
    Format,
    as_sharding,
    single_device,
)
from jitney.runtime.execution import placements
from jitney.runtime.execution.assignment import NO_REQUESTS, RequestedShardings

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import PyTree


_LEAF = pytrees.tree_structure(0)


class _WholeOnMesh:
    """The type of None in `pjit`: replicated within `with mesh:`, otherwise unspecified."""

    def __repr__(self) -> str:
        return "None"

    def __reduce__(self) -> str:
        return "WHOLE_ON_MESH"


WHOLE_ON_MESH = _WholeOnMesh()


@record(frozen=True)
class GivenPlaces:
    """One of the two sharding options, as passed by the user.

    Attributes:
      option: the name of the option.
      leaves: Shardings, PartitionSpecs on the context mesh, Formats, `UNSPECIFIED`, or
        `WHOLE_ON_MESH`.
      tree: the structure of the option, whose leaves are `leaves`.
      api_name: the public function: "jit", or "pjit", which also uses the mesh of `with mesh:`.
    """

    option: str
    leaves: tuple[Any, ...]
    tree: pytrees.PyTreeDef
    api_name: str = "jit"

    @property
    def is_of_one_device(self) -> bool:
        """Whether this is the device from `jit(device=)`, which applies to all arguments."""
        return any([isinstance(sharding, DeviceOfJit) for sharding in self.leaves])

    def spread(
        self, full: PyTree, avals: Sequence[AbstractValue], name_of: Callable[[int], str]
    ) -> tuple[object, ...]:
        """Returns the sharding of each leaf of `full`, or `UNSPECIFIED`.

        Args:
          full: the tuple of arguments, or the result.
          avals: the types of the leaves of `full`.
          name_of: returns the name of leaf number i, for messages.

        Raises:
          ValueError: if the option is not a prefix of `full`, or an array cannot be sharded as
            requested.
          RuntimeError: if the option contains a PartitionSpec, but there is no context mesh.
        """
        prefix = self.tree.unflatten(self.leaves)
        try:
            shardings = pytrees.broadcast_prefix(prefix, full)
        except ValueError:
            raise self._misfit(prefix, full) from None
        out = [self._resolved(sharding) for sharding in shardings]
        for i, (sharding, aval) in enumerate(zip(shardings, avals, strict=True)):
            if isinstance(sharding, Format):
                self._check_layout(sharding, aval, name_of(i))
        for i, (sharding, aval) in enumerate(zip(out, avals, strict=True)):
            if sharding is not UNSPECIFIED:
                self._check(sharding, aval, name_of(i))
        return tuple(out)

    def _misfit(self, prefix: PyTree, full: PyTree) -> ValueError:
        if self.option == "in_shardings" and _is_tuple(prefix) and len(prefix) != len(full):
            return ValueError(
                f"{self.api_name}: in_shardings must have one entry for each positional argument, "
                f"or be one sharding for all, but has length {len(prefix)} for "
                f"{messages.counted(len(full), 'argument')}"
            )
        if self.option == "in_shardings" and not _is_tuple(prefix):
            return ValueError(
                f"{self.api_name}: in_shardings must be a tuple with one entry for each "
                f"positional argument, or one sharding for all, but is of type {type(prefix)}; "
                "wrap it in a tuple"
            )
        label = f"{self.api_name} {self.option}"
        mismatches = [str(make(label)) for make in prefix_errors(prefix, full)]
        return ValueError(
            f"{self.api_name}: {self.option} has to be a tree prefix of the values that it "
            "applies to, but is not:\n" + "\n".join(mismatches)
        )

    def _resolved(self, sharding: object) -> Any:
        if isinstance(sharding, Format):
            sharding = sharding.sharding or UNSPECIFIED
        if sharding is UNSPECIFIED:
            return UNSPECIFIED
        mesh = self._mesh()
        if sharding is WHOLE_ON_MESH:
            mesh = entered_mesh()
            return UNSPECIFIED if mesh.empty else NamedSharding(mesh, PartitionSpec())
        if not isinstance(sharding, PartitionSpec):
            return as_sharding(sharding)
        if mesh.empty:
            raise RuntimeError(
                f"{self.api_name}: a PartitionSpec in {self.option} refers to the context mesh, "
                "but none is set: set one with `jax.set_mesh(mesh)`, or pass a `NamedSharding`, "
                "which includes a mesh"
            )
        return NamedSharding(mesh, sharding)

    def _check_layout(self, sharding: Format, aval: AbstractValue, name: str) -> None:
        try:
            sharding.check_fits(getattr(aval, "shape", ()))
        except ValueError as error:
            raise ValueError(
                f"{self.api_name}: {self.option} of {name} does not fit: {error}"
            ) from None

    def _mesh(self) -> Mesh | AbstractMesh:
        """Returns the mesh to which PartitionSpecs refer."""
        mesh = mesh_of_specs()
        return entered_mesh() if mesh.empty and self.api_name == "pjit" else mesh

    def _check(self, sharding: Sharding, aval: AbstractValue, name: str) -> None:
        kind = "arguments" if self.option == "in_shardings" else "outputs"
        shape: tuple[int, ...] | None = getattr(aval, "shape", None)
        if shape is None:
            return
        try:
            sharding.check_compatible_aval(shape)
        except ValueError as error:
            raise ValueError(
                f"{self.api_name}: the sharding of {name}, one of its {kind}, does not fit its shape: "
                f"{error}"
            ) from None
        try:
            sharding.check_fits(shape)
        except ValueError as error:
            raise ValueError(
                f"{self.api_name}: {name}, one of its {kind}, cannot have this sharding: {error}"
            ) from None


def _is_tuple(x: object) -> bool:
    return type(x) is tuple


def given_places(option: str, prefix: PyTree, api_name: str = "jit") -> GivenPlaces | None:
    """Checks a sharding option of `jit` or `pjit`; returns None if the option specifies nothing.

    Raises:
      TypeError: if a leaf is not a sharding.
      ValueError: if a PartitionSpec has UNCONSTRAINED axes.
    """
    if prefix is None and api_name != "pjit":
        return None
    if isinstance(prefix, list) and option == "in_shardings":
        prefix = tuple(cast("list[object]", prefix))  # one entry for each argument
    leaves, tree = pytrees.tree_flatten(prefix, lambda sharding: sharding is None)
    for sharding in leaves:
        if not (sharding is None or sharding is UNSPECIFIED) and not isinstance(
            sharding, Sharding | PartitionSpec | Format
        ):
            raise TypeError(
                f"{option} must be a pytree of Sharding, PartitionSpec or None, but has a leaf "
                f"{sharding} of type "
                f"{type(sharding).__name__}"
            )
        spec = sharding.spec if isinstance(sharding, NamedSharding) else sharding
        if isinstance(spec, PartitionSpec) and PartitionSpec.UNCONSTRAINED in tuple(spec):
            raise ValueError(
                f"Unconstrained dims are not allowed in {option} of jit, which must specify the "
                f"sharding of every axis, but got {spec}; jax.lax.with_sharding_constraint "
                "accepts such specs"
            )
    nothing = WHOLE_ON_MESH if api_name == "pjit" else UNSPECIFIED
    shardings = [nothing if sharding is None else sharding for sharding in leaves]
    if tree == _LEAF and shardings[0] is UNSPECIFIED:
        return None
    return GivenPlaces(option, tuple(shardings), tree, api_name)


def places_on(
    device: Device | None, backend: str | None, in_shardings: PyTree, out_shardings: PyTree
) -> tuple[DeviceOfJit, Sharding]:
    """Returns `in_shardings` and `out_shardings` for the deprecated options `device` and `backend`.

    Raises:
      ValueError: if mutually exclusive options are given.
      TypeError: if `device` is not a device.
      RuntimeError: if there is no such backend.
    """
    warn(
        "jit: the options `device` and `backend` are deprecated; move the arguments to the "
        "device with jax.device_put(x, device)",
        DeprecationWarning,
    )
    if device is not None and backend is not None:
        raise ValueError(
            f"jit: at most one of `device` and `backend` can be passed, but got {device=} and "
            f"{backend=}"
        )
    for option, shardings in (("in_shardings", in_shardings), ("out_shardings", out_shardings)):
        if shardings is not None and not isinstance(shardings, type(UNSPECIFIED)):
            raise ValueError(
                f"jit: {option} cannot be combined with `device` or `backend`, but got {device=}, "
                f"{backend=} and {option}={shardings}"
            )
    if device is None:
        device = client.client(backend).local_devices()[0]
    if not isinstance(device, Device):  # pyright: ignore[reportUnnecessaryIsInstance]  # a user's
        raise TypeError(
            f"jit: `device` must be one of jax.devices(), but is {device!r}, of type {type(device)}"
        )
    return DeviceOfJit(device), single_device(device)


def requests_of(closed: ClosedJaxpr, params: Mapping[str, Any]) -> RequestedShardings:
    """Returns the shardings that the program of a `jit` equation with `params` requests."""
    operands, results = params["in_shardings"], params["out_shardings"]
    within = placements.requests_of(closed)
    if within is NO_REQUESTS and {*map(id, operands), *map(id, results)} <= _UNSPECIFIED:
        return NO_REQUESTS
    requests = RequestedShardings(_specified(operands), _specified(results), within.within)
    return NO_REQUESTS if requests == NO_REQUESTS else requests


_UNSPECIFIED = {id(UNSPECIFIED)}


def _specified(places: tuple[Any, ...]) -> tuple[Sharding | None, ...]:
    """Replaces `UNSPECIFIED` by None; returns an empty tuple if nothing is specified."""
    shardings = tuple([None if sharding is UNSPECIFIED else sharding for sharding in places])
    return shardings if any([sharding is not None for sharding in shardings]) else ()
