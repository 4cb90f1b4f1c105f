"""`custom_partitioning`: calls of programs with user-defined partitioning.

On a single device, the program is called. On several devices, sharding propagation calls the user's
rule to determine the shardings of the results. When the program is lowered for its devices, the
user's callback `partition` receives all shardings, and returns the function that each device runs
on its shards, as in a `shard_map`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jitney.compiler import lower as lowering
from jitney.compiler.hlo.ir import HostCall, Project
from jitney.compiler.hlo.sharding_propagation import (
    PartBuilder,
    PlacementBuilder,
    SaysDivision,
    fitting,
    whole,
)
from jitney.core.program.closed_programs import constants_as_operands
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.shape_dtype import ShapeDtypeStruct
from jitney.core.pytree import pytrees
from jitney.core.sharding.mesh import AbstractMesh, AxisType, Mesh, use_abstract_mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.core.sharding.sharding_rule import BoundRule, SdyShardingRule, parse
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import AbstractValue, ShapedArray
from jitney.primitives.call.inlined import calls_program
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.parallel import spmd
from jitney.primitives.parallel.shard_map import WHOLE, Region, traced
from jitney.transforms.batch import AxisData, batch_jaxpr_at

if TYPE_CHECKING:
    from jitney.compiler.hlo.sharding_propagation import Spec
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.typing import Array, PyTree
    from jitney.primitives.rule_types import BatchDim, Builder, Dims, Node, Value

custom_partitioning_p = declare("custom_partitioning", multiple_results=True)
calls_program(custom_partitioning_p, "call", lowered=False)
custom_partitioning_p.divides_itself = True
_CURE = "jax.custom_{} around the function adds {}"
custom_partitioning_p.absent("jvp", why=_CURE.format("jvp or jax.custom_vjp", "one"))
custom_partitioning_p.absent("transpose", why=_CURE.format("vjp", "derivatives"))
custom_partitioning_p.absent("batch", why=_CURE.format("batching.custom_vmap", "one"))


@custom_partitioning_p.def_impl
def _custom_partitioning_def_impl(*operands: Value, call: ClosedJaxpr, **_: object) -> list[Value]:
    return eval_jaxpr(call.jaxpr, call.consts, *operands)


custom_partitioning_p.absent("eager", why="is called with arrays, by its own impl")


@custom_partitioning_p.over_devices
def _custom_partitioning_over_devices(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, call: ClosedJaxpr, **_: object
) -> tuple[Sequence[Value], Sequence[BatchDim]]:
    """Runs the program on each device within `shard_map`, whose operands are already shards."""
    program, out_dims = batch_jaxpr_at(call, axis_data, tuple(dims))
    return eval_jaxpr(program.jaxpr, program.consts, *args), list(out_dims)


@custom_partitioning_p.lower
def _custom_partitioning_lower(
    b: Builder, *nodes: Node, call: ClosedJaxpr, **params: object
) -> list[Node]:
    if isinstance(b, PlacementBuilder):
        types = [lowering.tensor_type(a) for a in call.out_avals]
        name = custom_partitioning_p.name
        outs = b.host_call(name, _Division(call, params, b.mesh), nodes, types)
        for out in outs[:1]:
            if isinstance(out, Project) and isinstance(out.node, HostCall):
                b.calls_on_parts.append(out.node)
        return outs
    shardings = (b.places_of(call) if isinstance(b, PartBuilder) else None) or ()
    named = [sharding for sharding in shardings if isinstance(sharding, NamedSharding)]
    if not named or len(named) < len(shardings):
        return lowering.inline(b, call, nodes)
    return _by_parts(b, nodes, call, params, named)


# --- how results are divided ------------------------------------------------------------------------


class _Division(SaysDivision):
    """The shardings of the results of a call, as computed by the user's rule."""

    def __init__(
        self, call: ClosedJaxpr, params: Mapping[str, Any], mesh: Mesh | AbstractMesh | None
    ) -> None:
        self.key = call  # not its id, which could be reused after the program is freed
        self.ins = _arrays(call.in_avals)
        self.outs = _arrays(call.out_avals)
        self.params = params
        self.mesh = None if mesh is None else _auto(mesh)

    def of_results(self, operands: Sequence[Spec], extents: Mapping[Any, int]) -> list[Spec] | None:
        rule = self._bound_rule()
        if rule is not None:
            return list(rule.of_results(operands, extents))
        infer = self.params["infer_sharding_from_operands"]
        if infer is None or self.mesh is None:
            return None
        inferred = infer(*self.told(operands, [whole(a.ndim) for a in self.outs]))
        shardings = self.places_of_results(inferred, "infer_sharding_from_operands")
        return [_spec(sharding, a.ndim) for sharding, a in zip(shardings, self.outs, strict=True)]

    def of_operands(
        self, operands: Sequence[Spec], is_open: Sequence[bool], extents: Mapping[Any, int]
    ) -> list[Spec]:
        rule = self._bound_rule()
        if rule is None:
            return list(operands)
        suggested = rule.of_operands(operands, is_open, extents)
        return list(fitting(suggested, [a.shape for a in self.ins], extents))

    def told(self, operands: Sequence[Spec], results: Sequence[Spec]) -> tuple[object, ...]:
        """Returns the arguments of the user's callbacks from the specs of operands and results."""
        assert self.mesh is not None
        args, outs = [
            [
                ShapeDtypeStruct(a.shape, a.dtype, sharding=_place(self.mesh, spec))
                for a, spec in zip(avals, specs, strict=True)
            ]
            for avals, specs in ((self.ins, operands), (self.outs, results))
        ]
        params = self.params
        return (
            *params["static_args"], self.mesh, params["in_tree"].unflatten(args),
            params["out_tree"].unflatten(outs),
        )  # fmt: skip

    def places_of_results(self, returned: PyTree, callback: str) -> list[NamedSharding]:
        tree = self.params["out_tree"]
        return _leaves(returned, tree, f"{callback} must return a NamedSharding for each result")

    def _bound_rule(self) -> BoundRule | None:
        """Returns the sharding rule for the shapes of the call, or None."""
        rule = self.params["sharding_rule"]
        if rule is None:
            return None
        if not isinstance(rule, SdyShardingRule):
            types = [
                [ShapeDtypeStruct(a.shape, a.dtype) for a in avals]
                for avals in (self.ins, self.outs)
            ]
            returned = rule(self.mesh, *types)
            rule = parse(returned) if isinstance(returned, str) else returned
            if not isinstance(rule, SdyShardingRule):
                raise ValueError(
                    "custom_partitioning: the function sharding_rule must return a string such "
                    f"as 'i j -> i', or an SdyShardingRule, but returned {returned!r}"
                )
        return rule.bound([a.shape for a in self.ins], [a.shape for a in self.outs])


def _arrays(avals: Sequence[AbstractValue]) -> list[ShapedArray]:
    return [a for a in avals if isinstance(a, ShapedArray)]


def _auto(mesh: Mesh | AbstractMesh) -> Mesh | AbstractMesh:
    """Returns `mesh` with Auto axes, as users' callbacks receive it."""
    if isinstance(mesh, Mesh):
        return Mesh(mesh.devices, mesh.axis_names)
    return AbstractMesh(mesh.axis_sizes, mesh.axis_names, AxisType.Auto)


def _place(mesh: Mesh | AbstractMesh, spec: Spec) -> NamedSharding:
    """Converts `spec` to a NamedSharding with an entry for each axis."""
    name_of = {str(name): name for name in mesh.axis_names}
    return NamedSharding(
        mesh, PartitionSpec(*[tuple([name_of[n] for n in e]) or None for e in spec])
    )


def _spec(sharding: NamedSharding, ndim: int) -> Spec:
    entries = [tuple(map(str, names_of(entry))) for entry in sharding.spec]
    return (*entries, *[()] * (ndim - len(entries)))


def _leaves(returned: PyTree, tree: pytrees.PyTreeDef, expected: str) -> list[NamedSharding]:
    leaves, own = pytrees.tree_flatten(returned)
    if own != tree or not all([isinstance(sharding, NamedSharding) for sharding in leaves]):
        raise ValueError(
            f"custom_partitioning: {expected}, in the structure {tree}, but returned {returned!r}"
        )
    return leaves


# --- the program of the devices ---------------------------------------------------------------------


def _by_parts(
    b: Builder, nodes: Sequence[Node], call: ClosedJaxpr, params: Mapping[str, Any],
    shardings: Sequence[NamedSharding],
) -> list[Node]:  # fmt: skip
    """Returns the results of the function from `partition`, run by each device on shards."""
    division = _Division(call, params, shardings[0].mesh)
    assert division.mesh is not None
    extents = {str(name): n for name, n in division.mesh.shape.items()}
    operands = [
        _spec(sharding, a.ndim) for sharding, a in zip(shardings, division.ins, strict=True)
    ]
    results = fitting(
        division.of_results(operands, extents), [a.shape for a in division.outs], extents
    )
    answer: tuple[Any, ...] | None = params["partition"](*division.told(operands, results))
    if not isinstance(answer, tuple) or len(answer) != 4:
        raise ValueError(
            "custom_partitioning: partition must return (mesh, function of shards, shardings of "
            f"results, tuple of shardings of arguments), but returned {answer!r}"
        )
    mesh, fun, out_places, in_places = answer
    out_specs = _checked(division.places_of_results(out_places, "partition"), division.outs)
    expected = "partition must return a tuple with a NamedSharding for each argument"
    in_specs = _checked(_leaves(in_places, params["in_tree"], expected), division.ins)
    region = Region(mesh, frozenset(mesh.axis_names), check_vma=False)
    program = _of_parts(fun, call, params, region, in_specs, out_specs)
    with region.scope():
        of_all = spmd.over_devices(
            constants_as_operands(program.jaxpr),
            region.axes,
            (WHOLE,) * len(program.consts) + in_specs,
            out_specs,
        )
    constants = [b.constant(lowering.host_value(x)) for x in program.consts]
    return lowering.inline(b, of_all, [*constants, *nodes])


def _checked(
    shardings: Sequence[NamedSharding], avals: Sequence[ShapedArray]
) -> tuple[PartitionSpec, ...]:
    """Returns the specs of shardings.

    Raises:
      ValueError: if a sharding has entries for more axes than an array has, or does not shard an
        axis evenly.
    """
    for sharding, aval in zip(shardings, avals, strict=True):
        sharding.check_compatible_aval(aval.shape)
        sharding.check_fits(aval.shape)
    return tuple([sharding.spec for sharding in shardings])


def _of_parts(
    fun: Callable[..., PyTree], call: ClosedJaxpr, params: Mapping[str, Any], region: Region,
    in_specs: Sequence[PartitionSpec], out_specs: Sequence[PartitionSpec],
) -> ClosedJaxpr:  # fmt: skip
    """Traces `fun`, a function of the shards of one device.

    Raises:
      ValueError: if its results do not have the types of shards of the call's results.
    """
    in_tree, out_tree = params["in_tree"], params["out_tree"]

    def flat(*parts: Value) -> list[Array]:
        outs, tree = pytrees.tree_flatten(fun(*in_tree.unflatten(parts)))
        if tree != out_tree:
            raise ValueError(
                "custom_partitioning: the function that partition returns has results with the "
                f"structure {tree}, but those of the original function have {out_tree}"
            )
        return [as_value(x) for x in outs]

    def parts(avals: Sequence[ShapedArray], specs: Sequence[PartitionSpec]) -> list[ShapedArray]:
        return [
            ShapedArray(region.part(a, spec).shape, a.dtype)
            for a, spec in zip(avals, specs, strict=True)
        ]

    kinds = dict.fromkeys(region.manual, AxisType.Manual)
    with use_abstract_mesh(region.mesh.abstract_mesh.update_axis_types(kinds)):
        avals = parts(_arrays(call.in_avals), in_specs)
        program = traced(region, flat, avals, call.jaxpr, "custom_partitioning")
    wanted = parts(_arrays(call.out_avals), out_specs)
    returned = _arrays(program.out_avals)
    if [(a.shape, a.dtype) for a in returned] != [(a.shape, a.dtype) for a in wanted]:
        raise ValueError(
            "custom_partitioning: according to the shardings that partition returns, the shards of "
            f"the results have the types {[a.str_short() for a in wanted]}, but the function that "
            f"it returns computes {[a.str_short() for a in returned]}"
        )
    return program
