"""`shard_map` and `smap`: functions that each device of a mesh runs on its shards."""

# Arguments from users are checked, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence, Set as AbstractSet
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from jitney.api.parallel import shard_map_specs as specs_of
from jitney.api.parallel.shard_map_specs import Infer, InferFromArgs
from jitney.core.diagnostics.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerIntegerConversionError,
)
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.pytree import pytrees
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.sharding.mesh import (
    AbstractMesh,
    AxisType,
    Mesh,
    get_abstract_mesh,
    get_mesh,
    use_abstract_mesh,
)
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.source import source_info
from jitney.core.tracing.trace import state
from jitney.core.types.avals import get_aval
from jitney.core.util.wraps import wraps
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.parallel import shard_map as primitive, spmd
from jitney.primitives.parallel.shard_map import Region

if TYPE_CHECKING:
    from jitney.core.typing import Array, AxisName, PyTree, Value

R = TypeVar("R")


@overload
def shard_map(
    f: Callable[..., R],
    /,
    *,
    out_specs: PyTree,
    in_specs: PyTree = Infer,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: AbstractSet[AxisName] = frozenset(),
    check_vma: bool = True,
) -> Callable[..., R]: ...


@overload
def shard_map(
    f: None = None,
    /,
    *,
    out_specs: PyTree,
    in_specs: PyTree = Infer,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: AbstractSet[AxisName] = frozenset(),
    check_vma: bool = True,
) -> Callable[[Callable[..., R]], Callable[..., R]]: ...


def shard_map(
    f: Callable[..., PyTree] | None = None,
    /,
    *,
    out_specs: PyTree,
    in_specs: PyTree = Infer,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: AbstractSet[AxisName] = frozenset(),
    check_vma: bool = True,
) -> object:
    """Returns a function that runs `f` on each device of a mesh, on the device's shards.

    Args:
      f: a function of pytrees of arrays, which are the shards of one device. If omitted, a
        decorator is returned.
      out_specs: how the results are assembled from the devices' shards: a `PartitionSpec`, or a
        pytree of them that is a prefix of the result.
      in_specs: how the arguments are sharded: a `PartitionSpec` for all of them, or a pytree of
        specs that is a prefix of the tuple of positional arguments. None marks arguments that are
        not arrays and are passed unchanged. By default, the specs are those of the arguments'
        shardings.
      mesh: the mesh; by default the context mesh (`jax.set_mesh`).
      axis_names: the mesh axes that `f` is mapped over; all of them if empty.
      check_vma: whether types within `f` track the mesh axes along which values vary. If they do, a
        result that may differ between devices but is not sharded raises an error, and derivatives
        are cheaper.

    Returns: a function of global arrays.

    Raises:
      ValueError: if there is no mesh; if a specification contains an axis that the mesh does not
        have, has more entries than the array has axes, does not divide it evenly, or does not fit
        the structure of the arguments; if a result is not sharded along an axis along which it
        varies.
      TypeError: if a leaf of the specifications is not a `PartitionSpec`.

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
        raise TypeError(f"shard_map: expected a function, got {f} of type {type(f).__name__}")
    mapped = Mapped(f, in_specs, out_specs, mesh, axis_names, check_vma)

    @wraps(f)
    @api_boundary
    def whole(*args: PyTree) -> object:
        return mapped(args)

    return whole


@overload
def smap(
    f: Callable[..., R],
    /,
    *,
    in_axes: PyTree = Infer,
    out_axes: PyTree,
    axis_name: AxisName,
) -> Callable[..., R]: ...


@overload
def smap(
    f: None = None,
    /,
    *,
    in_axes: PyTree = Infer,
    out_axes: PyTree,
    axis_name: AxisName,
) -> Callable[[Callable[..., R]], Callable[..., R]]: ...


def smap(
    f: Callable[..., PyTree] | None = None,
    /,
    *,
    in_axes: PyTree = Infer,
    out_axes: PyTree,
    axis_name: AxisName,
) -> object:
    """Returns a function that runs `f` on each device along one axis of the context mesh.

    Args:
      f: as in `shard_map`.
      in_axes: the sharded axis of each argument, as in `vmap`; None for replicated arguments.
      out_axes: the axis along which the shards of each result are concatenated, specified like
        `in_axes`.
      axis_name: the axis of the mesh.

    Returns: a function of global arrays.

    Raises:
      TypeError: if axes are not integers, or `axis_name` is not a single name.
      ValueError: if there is no context mesh.

    Example:
      >>> auto = (jax.sharding.AxisType.Auto,)
      >>> with jax.set_mesh(jax.make_mesh((1,), ("i",), axis_types=auto)):
      ...   jax.smap(lambda x: x.sum(keepdims=True), in_axes=0, out_axes=0, axis_name="i")(jnp.ones(3))
      Array([3.], dtype=float32)
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    if isinstance(axis_name, tuple | list | set | frozenset):
        raise TypeError(f"smap: axis_name must be one name, such as 'i', but is {axis_name!r}")
    in_specs = in_axes
    if not isinstance(in_axes, InferFromArgs):
        in_specs = _specs_of_axes("in_axes", in_axes, axis_name)
    return shard_map(
        f, in_specs=in_specs, out_specs=_specs_of_axes("out_axes", out_axes, axis_name),
        axis_names={axis_name},
    )  # fmt: skip


def _specs_of_axes(what: str, axes: PyTree, name: AxisName) -> object:
    leaves, tree = pytrees.tree_flatten(axes, is_leaf=lambda x: x is None)
    for axis in leaves:
        if axis is not None and (not isinstance(axis, int) or axis < 0):
            raise TypeError(
                f"smap: {what} must be non-negative integers, None, or pytrees of these, got {axes}"
            )
    specs = [
        PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, name) for axis in leaves
    ]
    return pytrees.tree_unflatten(tree, specs)


# Errors of functions that need values during tracing.
_NEED_VALUES = (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerIntegerConversionError,
)


class Mapped:
    """A function transformed by `shard_map`, before it is called.

    With `adds_axes`, a call within a `shard_map` over another mesh adds the axes of its own mesh to
    that mesh, as nested `pmap`s do.
    """

    def __init__(
        self,
        fun: Callable[..., PyTree],
        in_specs: PyTree,
        out_specs: PyTree,
        mesh: Mesh | AbstractMesh | None,
        axis_names: AbstractSet[AxisName],
        check_vma: bool,
        *,
        adds_axes: bool = False,
    ) -> None:
        self.fun = fun
        self.name = getattr(fun, "__name__", None) or repr(fun)
        self.in_specs: PyTree = in_specs
        if isinstance(in_specs, list):
            self.in_specs = tuple(cast("list[object]", in_specs))
        self.out_specs = out_specs
        self.mesh = mesh
        self.axis_names = axis_names
        self.check_vma = check_vma
        self.adds_axes = adds_axes

    def __call__(self, args: tuple[PyTree, ...]) -> Any:
        region = self.region()
        leaves, tree = pytrees.tree_flatten(args, is_leaf=lambda x: x is None)
        specs = self.specs_of_arguments(region, args, leaves)
        is_operand = [spec is not None for spec in specs]
        operands = [as_value(x) for x, is_taken in zip(leaves, is_operand, strict=True) if is_taken]
        own_specs = tuple([spec for spec in specs if spec is not None])
        if isinstance(region.mesh, AbstractMesh) and state.trace is state.eval_trace:
            region = specs_of.concrete(region, operands)
        avals = [get_aval(x) for x in operands]
        specs_of.check_arguments(
            self.name, region, own_specs, avals, self.argument_names(args, is_operand)
        )
        parts = [region.part(a, spec) for a, spec in zip(avals, own_specs, strict=True)]
        result_info: list[Any] = []

        def on_one_device(*values: Any) -> list[Array]:
            remaining = iter(values)
            whole = [next(remaining) if t else x for t, x in zip(is_operand, leaves, strict=True)]
            out = self.fun(*pytrees.tree_unflatten(tree, whole))
            specs = self.specs_of_results(region, out)
            outs, out_tree = pytrees.tree_flatten(out)
            paths = [pytrees.keystr(path) for path, _ in pytrees.tree_flatten_with_path(out)[0]]
            result_info[:] = [specs, out_tree, [f"{self.name}(*args){path}" for path in paths]]
            return [as_value(x) for x in outs]

        def body(*values: Any) -> list[Value]:
            outs = on_one_device(*values)
            return [
                specs_of.as_result(region, x, spec)
                for x, spec in zip(outs, result_info[0], strict=True)
            ]

        info = DebugInfo("shard_map", source_info.fun_sourceinfo(self.fun))
        try:
            with region.scope(), use_abstract_mesh(_inner_mesh(region)):
                jaxpr, out_avals, consts = trace_to_jaxpr(body, parts, info)
        except _NEED_VALUES:
            # In eager mode values are available: the function may read those that all devices
            # share.
            every = frozenset(region.mesh.axis_names)
            if state.trace is not state.eval_trace or region.manual != every:
                raise
            return self.run_on_values(region, operands, own_specs, on_one_device, result_info)
        out_specs, out_tree, names = result_info
        specs_of.check_results(self.name, region, out_specs, out_avals, names)
        specs_of.check_constants(self.name, region, consts)
        outs = primitive.bind(region, ClosedJaxpr(jaxpr, consts), operands, own_specs, out_specs)
        if state.trace is state.eval_trace:
            outs = [specs_of.named(region, x, s) for x, s in zip(outs, out_specs, strict=True)]
        return pytrees.tree_unflatten(out_tree, outs)

    def run_on_values(
        self,
        region: Region,
        operands: Sequence[Any],
        in_specs: tuple[PartitionSpec, ...],
        on_one_device: Callable[..., list[Any]],
        result_info: Sequence[Any],
    ) -> object:
        """Runs the function eagerly, on the shards of all devices at once.

        Args:
          region: the mesh and its manual axes.
          operands: global arrays.
          in_specs: their shardings.
          on_one_device: the flat function.
          result_info: specifications, structure and names of the results of `on_one_device`, filled
            when it has run.
        """
        with use_abstract_mesh(_inner_mesh(region)):
            outs, own = spmd.on_parts(
                on_one_device, region.axes, in_specs, [specs_of.bare(x) for x in operands]
            )
        out_specs, out_tree, names = result_info
        specs_of.check_known_results(self.name, region, out_specs, outs, own, names)
        sizes = region.mesh.shape
        outs = [spmd.joined(*each, sizes) for each in zip(outs, own, out_specs, strict=True)]
        outs = [specs_of.put(region, x, s) for x, s in zip(outs, out_specs, strict=True)]
        return pytrees.tree_unflatten(out_tree, outs)

    # --- the mesh -------------------------------------------------------------------------------

    def region(self) -> Region:
        """Returns the mesh and the axes over which the function runs."""
        around = get_abstract_mesh()
        manual = frozenset(around.manual_axes)
        mesh = self.mesh
        if self.adds_axes:
            manual = frozenset[Any]()
        if mesh is None:
            concrete = get_mesh()
            mesh = around if manual or concrete.empty else concrete
        elif manual and mesh.abstract_mesh != around:
            raise ValueError(
                "shard_map: a nested shard_map must have the mesh of the enclosing one, "
                f"{around}, but `mesh` is {mesh.abstract_mesh}; omit `mesh`"
            )
        if not isinstance(mesh, Mesh | AbstractMesh):
            raise TypeError(f"shard_map: mesh must be a Mesh, not {mesh!r}")
        if mesh.empty:
            raise ValueError(
                "shard_map: a mesh is needed, but there is no context mesh: pass `mesh=`, or set "
                "one with jax.set_mesh(mesh)"
            )
        names = frozenset(self.axis_names)
        unknown = names.difference(mesh.axis_names)
        if unknown:
            raise ValueError(
                f"jax.shard_map requires axis_names={set(names)} to be a subset of the axes of the "
                f"mesh, {mesh.axis_names}, but the mesh has no axes {sorted(map(str, unknown))}"
            )
        again = names & manual
        if again:
            raise ValueError(
                f"shard_map: axis_names={set(names)} contains the axes {set(again)} of mesh "
                f"{mesh}, which are already manual in the enclosing shard_map"
            )
        return Region(mesh, (names or frozenset(mesh.axis_names)) - manual, self.check_vma)

    # --- specifications -------------------------------------------------------------------------

    def specs_of_arguments(
        self, region: Region, args: tuple[PyTree, ...], leaves: Sequence[Any]
    ) -> list[PartitionSpec | None]:
        """Returns the specification of each leaf of the arguments; None if it is not an operand."""
        if isinstance(self.in_specs, InferFromArgs):
            specs_of.check_explicit(region)
            return [specs_of.inferred(region, x) for x in leaves]
        specs = self.in_specs
        if isinstance(specs, PartitionSpec):
            specs = (specs,) * len(args)
        each = specs_of.leaves("in_specs", region, specs, args)
        # A None leaf has no specification, whatever the prefix is.
        return [None if x is None else spec for x, spec in zip(leaves, each, strict=True)]

    def specs_of_results(self, region: Region, out: PyTree) -> tuple[PartitionSpec, ...]:
        specs = self.out_specs() if callable(self.out_specs) else self.out_specs
        each = specs_of.leaves("out_specs", region, specs, out)
        leaves = pytrees.tree_leaves(out, is_leaf=lambda x: x is None)
        return tuple([
            primitive.WHOLE if spec is None else spec
            for spec, x in zip(each, leaves, strict=True) if x is not None
        ])  # fmt: skip

    def argument_names(self, args: tuple[PyTree, ...], is_operand: Sequence[bool]) -> list[str]:
        paths = [f"args{path}" for path in _paths(args)]
        return [path for path, is_taken in zip(paths, is_operand, strict=True) if is_taken]


def _inner_mesh(region: Region) -> AbstractMesh:
    """Returns the mesh within the function, whose axes are Manual."""
    manual = dict.fromkeys(region.manual, AxisType.Manual)
    return region.mesh.abstract_mesh.update_axis_types(manual)


def _paths(tree: PyTree) -> list[str]:
    def is_none(x: object) -> bool:
        return x is None

    return [
        pytrees.keystr(path) for path, _ in pytrees.tree_flatten_with_path(tree, is_leaf=is_none)[0]
    ]
