"""`shard_map`: a function of the parts of arrays that the devices of a mesh hold.

A process has one device, so a mesh's axes have one index each, and a part is the whole array. What is
left is the meaning of the axes: collectives over them, and the checks of specifications.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence, Set as AbstractSet
from typing import TYPE_CHECKING, Any

from jitney.api.vmap import vmap
from jitney.core.errors import api_boundary
from jitney.core.pytree import pytrees
from jitney.core.sharding.mesh import AbstractMesh, Mesh, get_abstract_mesh, get_mesh
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.primitives.array.shape import shape_of

if TYPE_CHECKING:
    from jitney.core.typing import AxisName, PyTree


class InferFromArgs:
    """Stands for specifications that are taken from the arguments' own shardings."""

    def __repr__(self) -> str:
        return "jax.sharding.Infer"

    def __reduce__(self) -> str:
        return "Infer"


Infer = InferFromArgs()


def shard_map(
    f: Callable[..., PyTree] | None = None,
    /,
    *,
    out_specs: PyTree,
    in_specs: PyTree = Infer,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: AbstractSet[AxisName] = frozenset(),
    check_vma: bool = True,
) -> Callable[..., Any]:
    """`f`, run by each device of a mesh on its parts of the arguments.

    Args:
      f: takes and returns pytrees of arrays, which are the parts of one device. Without it: a function
        that takes it, so that this serves as a decorator.
      out_specs: how results are put together from the devices' parts: a `PartitionSpec`, or a pytree
        of them, of which the result's structure is an extension.
      in_specs: how arguments are divided, likewise, one for each positional argument; by default as
        they are divided already.
      mesh: the devices; the mesh in force by default (`jax.set_mesh`).
      axis_names: the axes of the mesh that `f` knows; all of them if empty.
      check_vma: accepted for compatibility: along axes of one device nothing varies.

    Returns: a function of whole arrays.

    Raises:
      ValueError: if there is no mesh, or one of more devices than there are; if a specification names
        another axis than the mesh's, has more entries than the array has axes, or does not fit the
        structure of the arguments.

    Example:
      >>> mesh = jax.make_mesh((1,), ("i",))
      >>> spec = jax.P("i")
      >>> total = jax.shard_map(
      ...   lambda x: jax.lax.psum(x.sum(), "i"), mesh=mesh, in_specs=spec, out_specs=jax.P())
      >>> total(jnp.arange(4))
      Array(6, dtype=int32)
    """
    if f is None:
        return functools.partial(
            shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh, axis_names=axis_names,
            check_vma=check_vma,
        )  # fmt: skip
    if not callable(f):
        raise TypeError(f"shard_map: expected a callable value, got {f}")
    function = f

    @functools.wraps(function, updated=())
    @api_boundary
    def whole(*args: PyTree) -> Any:
        devices = _mesh(mesh)
        names = _manual_axes(devices, axis_names)
        if not isinstance(in_specs, InferFromArgs):
            specs = tuple(in_specs) if isinstance(in_specs, list) else in_specs
            _check_specs("in_specs", specs, args, devices)
        body = function
        for name in reversed(names):
            body = _along_axis_of_one(body, name)
        out = body(*args)
        _check_specs("out_specs", out_specs, out, devices)
        return out

    return whole


def _mesh(given: Mesh | AbstractMesh | None) -> Mesh | AbstractMesh:
    mesh: Mesh | AbstractMesh = given if given is not None else get_mesh()
    if given is None and mesh.empty:
        mesh = get_abstract_mesh()
    if not mesh.axis_names:
        raise ValueError(
            "shard_map: there is no mesh; pass `mesh=`, or put one in force by jax.set_mesh(mesh)"
        )
    if mesh.size != 1:
        raise ValueError(
            f"shard_map: {mesh} has {mesh.size} devices, and this process has one; make a mesh of one "
            f"device, as by jax.make_mesh((1,), ...)"
        )
    return mesh


def _manual_axes(
    mesh: Mesh | AbstractMesh, axis_names: AbstractSet[AxisName]
) -> Sequence[AxisName]:
    unknown = sorted(set(axis_names) - set(mesh.axis_names), key=str)
    if unknown:
        raise ValueError(f"shard_map: axis_names={unknown} are no axes of {mesh}")
    return [name for name in mesh.axis_names if not axis_names or name in axis_names]


def _along_axis_of_one(body: Callable[..., PyTree], name: AxisName) -> Callable[..., PyTree]:
    """`body` where the axis `name` has one index."""
    batched = vmap(body, in_axes=None, axis_name=name, axis_size=1)
    return lambda *args: pytrees.tree_map(lambda x: x[0], batched(*args))


def _check_specs(what: str, specs: PyTree, values: PyTree, mesh: Mesh | AbstractMesh) -> None:
    try:
        flat = pytrees.broadcast_prefix(specs, values, is_leaf=_is_spec)
    except ValueError as error:
        raise ValueError(
            f"shard_map: {what} must be a tree prefix of the values they are for, got {specs} for "
            f"{pytrees.tree_structure(values)}"
        ) from error
    for spec, x in zip(flat, pytrees.tree_leaves(values), strict=True):
        if not isinstance(spec, PartitionSpec | type(None)):
            raise TypeError(f"shard_map: {what} must be PartitionSpecs, got {spec!r}")
        if spec is not None:
            _check_spec(what, spec, shape_of(x), mesh)


def _is_spec(x: object) -> bool:
    return x is None or isinstance(x, PartitionSpec)


def _check_spec(
    what: str, spec: PartitionSpec, shape: Iterable[int], mesh: Mesh | AbstractMesh
) -> None:
    unknown = [name for entry in spec for name in names_of(entry) if name not in mesh.axis_names]
    if unknown:
        raise ValueError(f"shard_map: {what} has {spec}, but {unknown} are no axes of {mesh}")
    if len(spec) > len(tuple(shape)):
        raise ValueError(
            f"shard_map: {what} has {spec} with {len(spec)} entries for a value of shape "
            f"{tuple(shape)}"
        )
