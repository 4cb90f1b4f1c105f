"""The stages of compiling a jitted function: `Traced`, `Lowered`, `Compiled`.

jit(f).trace(x) -> Traced -> .lower() -> Lowered -> .compile() -> Compiled -> (x) -> result
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from jitney.api.jit.compiler_options import check_compiler_options
from jitney.api.jit.jit_call import JitCall, TracedProgram
from jitney.api.jit.make_jaxpr import result_structure
from jitney.api.jit.stage_devices import NamedDevices, has_devices
from jitney.core.program.jaxpr import ClosedJaxpr, is_high
from jitney.core.program.typecheck import same_type
from jitney.core.pytree import pytrees
from jitney.core.pytree.errors import equality_errors_pytreedef
from jitney.core.sharding.mesh import Mesh, get_abstract_mesh, get_mesh
from jitney.core.sharding.named import NamedSharding, constraint
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.sharding.sharding import Sharding
from jitney.core.sharding_in_types import explicit
from jitney.core.tracing.hi_types import with_state
from jitney.core.tracing.trace import Tracer
from jitney.core.types.avals import AbstractValue, ShapedArray, get_aval, is_valid_operand
from jitney.core.types.refs import any_refs
from jitney.core.util.record import replace
from jitney.primitives.elementwise.convert import as_value
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.arrays.donation import used_up
from jitney.runtime.devices import sharding
from jitney.runtime.devices.layout import rows
from jitney.runtime.execution import dispatch, placements
from jitney.runtime.execution.assignment import (
    NO_REQUESTS,
    RequestedShardings,
    any_on_mesh,
    assign,
    of_places,
)
from jitney.transforms.discharge import discharge
from jitney.transforms.lojax import lower_program, lowered as on_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set as AbstractSet

    from jitney.compiler.hlo.ir import Module
    from jitney.core.types.dtypes import DType
    from jitney.core.types.effects import Effect
    from jitney.core.typing import PyTree, Value
    from jitney.runtime.devices.device import Device
    from jitney.runtime.execution.assignment import Assignment
    from jitney.runtime.execution.executable import Executable, MemoryAnalysis


class ArgInfo:
    """The type of one flat argument, and whether it is donated."""

    __slots__ = ("_aval", "donated")

    def __init__(self, aval: AbstractValue, donated: bool) -> None:
        self._aval = aval
        self.donated = donated

    @property
    def shape(self) -> tuple[int, ...]:
        return self._aval.shape

    @property
    def dtype(self) -> DType:
        return self._aval.dtype

    def __repr__(self) -> str:
        return f"ArgInfo(_aval={self._aval!r}, donated={self.donated})"


class Stage:
    """The base class of all stages, which describes the function's arguments and results."""

    def __init__(self, program: TracedProgram, in_tree: pytrees.PyTreeDef, name: str) -> None:
        self.program = program
        self._in_tree = in_tree
        self._name = name

    _no_kwargs = False  # keyword arguments are always accepted; libraries read this attribute

    @property
    def in_tree(self) -> pytrees.PyTreeDef:
        """The structure of the arguments, (args, kwargs) without the static ones."""
        return self._in_tree

    @property
    def out_tree(self) -> pytrees.PyTreeDef:
        """The structure of the result."""
        return self.program.out_tree

    @property
    def fun_name(self) -> str:
        """The function's name."""
        return self._name

    @property
    def in_avals(self) -> Any:
        n_outer = len(self.program.outer_tracers)
        avals = zip(self.program.closed.in_avals, self.program.params["in_shardings"], strict=True)
        return pytrees.tree_unflatten(self.in_tree, [_lying(*pair) for pair in avals][n_outer:])

    @property
    def out_avals(self) -> Any:
        return pytrees.tree_unflatten(self.out_tree, self.program.closed.out_avals)

    @property
    def args_info(self) -> Any:
        """A pytree of `ArgInfo`s in the structure of (args, kwargs)."""
        donated = self.program.params["donated_invars"]
        infos = [ArgInfo(a, d) for a, d in zip(self.program.closed.in_avals, donated, strict=True)]
        return pytrees.tree_unflatten(self.in_tree, infos[len(self.program.outer_tracers) :])

    @property
    def out_info(self) -> Any:
        """A pytree of `ShapeDtypeStruct`s in the structure of the result."""
        avals = [a.strip_weak_type() for a in self.program.closed.out_avals]
        return result_structure(avals, self.out_tree)

    @property
    def _result_places(self) -> tuple[Sharding | None, ...]:
        """The shardings of flat results according to `out_shardings`; empty without it."""
        return self.program.requests().results

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The positions of donated flat arguments."""
        return tuple(i for i, d in enumerate(self.program.params["donated_invars"]) if d)


class Traced(Stage):
    """A function traced for arguments with certain types."""

    def __init__(
        self,
        program: TracedProgram,
        in_tree: pytrees.PyTreeDef,
        name: str,
        seconds: float,
        places: tuple[Sharding | None, ...],
    ) -> None:
        super().__init__(program, in_tree, name)
        self.seconds = seconds
        self._places = places

    @property
    def out_info(self) -> Any:
        """A pytree of `ShapeDtypeStruct`s in the structure of the result."""
        return result_structure(self.program.closed.out_avals, self.out_tree)

    @property
    def jaxpr(self) -> ClosedJaxpr:
        return self.program.closed

    @property
    def effects(self) -> AbstractSet[Effect]:
        """The effects of the program."""
        return self.program.closed.effects

    @property
    def lojax(self) -> LoJax:
        """The program on arrays, in which values of user-defined types are expanded into arrays."""
        return LoJax(self.program, self.in_tree, self.fun_name)

    def closure_convert(self) -> tuple[list[Any], Callable[..., Any]]:
        """Returns the captured values, and a function that takes them as its first argument.

        Returns: a pair (consts, fun). `consts` is a list of the constants of the program and the
          captured tracers of enclosing traces; `fun` is a function of (consts, *args, **kwargs),
          without the static arguments.

        Example:
          >>> scale = jnp.array(3.0)
          >>> consts, fun = jax.jit(lambda x: scale * x).trace(2.0).closure_convert()
          >>> fun(consts, 2.0), fun([10.0], 2.0)
          (Array(6., dtype=float32), Array(20., dtype=float32))
        """
        from jitney.api.jit import closure_conversion as conversion  # used by few programs

        function = conversion.converted_function(self.program, self.in_tree)
        return conversion.closed_over(self.program), function

    def with_consts_as_arg(self) -> tuple[list[Value], Traced]:
        """Returns the captured values, and a stage whose function takes them as its first argument.

        Returns: a pair (consts, traced): the list that `closure_convert` returns, and the stage of
          a function of (consts, *args, **kwargs) without donated arguments.
        """
        from jitney.api.jit import closure_conversion as conversion  # used by few programs

        consts = conversion.closed_over(self.program)
        return consts, Traced(
            conversion.with_values_as_operands(self.program),
            conversion.tree_with_consts(len(consts), self.in_tree),
            self.fun_name,
            self.seconds,
            (None,) * len(self.program.closed.consts) + self._places,
        )

    def physicalize(self, ctx: Any) -> Traced:
        """Returns a stage with the program that `ctx.physicalize_closed_jaxpr(jaxpr)` returns."""
        closed = ctx.physicalize_closed_jaxpr(self.jaxpr)
        program = replace(self.program, closed=closed, _given_up=None, _requests=None)
        return Traced(program, self.in_tree, self.fun_name, self.seconds, self._places)

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Lowers the program to the compiler's tensor IR.

        `lowering_platforms` is accepted for compatibility; it has no effect.
        """
        start = time.perf_counter()
        closed = self.program.closed
        if is_high(closed):
            closed = lower_program(closed).closed
        elif any_refs(closed.in_avals):
            closed, _ = discharge(closed, tuple([a.is_ref for a in closed.in_avals]))
        lowering = dispatch.lower(closed, self.fun_name)
        placements.observe(lowering.module, self._places, self._result_places)
        timings = {"trace": self.seconds, "lower": time.perf_counter() - start}
        return Lowered(self.program, self.in_tree, self.fun_name, lowering, timings, self._places)


class LoJax(Stage):
    """A traced function in which values of user-defined types are expanded into arrays."""

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The program on arrays."""
        return on_arrays(self.program.closed)


class Lowered(Stage):
    """A traced function lowered to the tensor IR, before optimization."""

    def __init__(
        self,
        program: TracedProgram,
        in_tree: pytrees.PyTreeDef,
        name: str,
        lowering: dispatch.Lowering,
        timings: dict[str, float],
        places: tuple[Sharding | None, ...],
    ) -> None:
        super().__init__(program, in_tree, name)
        self._lowering = lowering
        self._timings = timings
        self._places = places
        self._axes = get_abstract_mesh()  # the context mesh at lowering
        requests = placements.in_context(program.requests(), knows_entered=False)
        self._named = NamedDevices(name, places, requests, get_mesh())
        self._named.check_sizes()

    def compile(
        self,
        compiler_options: dict[str, Any] | None = None,
        device_assignment: Sequence[Device] | None = None,
    ) -> Compiled:
        """Compiles the program to machine code.

        Args:
          compiler_options: XLA options by name; they have no effect.
          device_assignment: the devices of a program that was lowered for an `AbstractMesh`.

        Raises:
          JaxRuntimeError: if an option is unknown; names that begin with "xla_" are not checked.
          RuntimeError: if no devices are known, or their number is not the size of the mesh for
            which the program was lowered.
          ValueError: if arguments or shardings are on devices other than `device_assignment`.
        """
        check_compiler_options(compiler_options)
        named = self._named.resolved(device_assignment)
        requests = named.requests
        if device_assignment is not None and requests is NO_REQUESTS:
            requests = RequestedShardings(operands=named.places)
        return Compiled(
            self.program, self.in_tree, self.fun_name, self._lowering, self._timings,
            named.places, requests,
        )  # fmt: skip

    def as_text(self, dialect: str = "hlo", *, debug_info: bool = False) -> str:
        """Returns the program as text.

        Args:
          dialect: the representation: "jaxpr", "hlo" (as lowered), one of
            `compiler.pipeline.STAGES`, "optimized", "kernels", "llvm", or "asm"; or "partitioned",
            the program that each device of the mesh runs.
          debug_info: accepted for compatibility.
        """
        if dialect == "jaxpr":
            return str(self.program.closed)
        if dialect == "partitioned":
            return placements.partitioned_text(
                self._lowering.module, self._places, self._result_places
            )
        text = self._lowering.as_text(dialect)
        n = self._n_partitions() if dialect in ("hlo", "stablehlo") else 1
        if n == 1:
            return text
        head = f"# over {n} devices: mhlo.num_partitions = {n}, mhlo.num_replicas = 1\n"
        return head + "".join(self._lines_of_places()) + text

    def _lines_of_places(self) -> Iterator[str]:
        """Yields a comment line for each operand and each result with a known sharding."""
        closed, params = self.program.closed, self.program.params
        pairs = zip(self._places, params["in_shardings"], strict=True)
        inputs = [own if wanted is sharding.UNSPECIFIED else wanted for own, wanted in pairs]
        sides = (
            ("p", closed.in_avals, inputs),
            ("result ", closed.out_avals, params["out_shardings"]),
        )
        for name, avals, places in sides:
            for i, (aval, place) in enumerate(zip(avals, places, strict=True)):
                if not isinstance(place, NamedSharding):
                    place = explicit.sharding_of(aval)
                if place is not None and not place.mesh.empty:
                    yield f"#   {name}{i} is sharded {constraint(place, aval.ndim)}\n"

    def _n_partitions(self) -> int:
        """Returns the size of the largest mesh of the arguments, the program or the context."""
        requests, mesh = self.program.requests(), placements.mesh_of(self.program.closed)
        places = (*self._places, *requests.operands, *requests.results, requests.within)
        named = [place.mesh for place in places if isinstance(place, NamedSharding)]
        sizes = [grid.size for grid in (mesh, self._axes, *named) if grid is not None]
        return max([1, *sizes])

    def compiler_ir(self, dialect: str | None = None) -> Module:
        """Returns the module of the tensor IR."""
        return self._lowering.module

    def cost_analysis(self) -> dict[str, float]:
        """Returns estimates of "flops" (floating-point operations) and "bytes accessed"."""
        return self._lowering.cost_analysis()


class CompiledCallParams(NamedTuple):
    """The components of a compiled program that are used in calls, for libraries that read them.

    Attributes:
      executable: the machine code.
      no_kwargs: whether keyword arguments are rejected; always False.
      in_tree, out_tree: the structures of (args, kwargs) and of the result.
      const_args: constants that are passed as arguments; always empty, as programs hold their
        constants.
      compiled: the stage.
    """

    executable: Executable
    no_kwargs: bool
    in_tree: pytrees.PyTreeDef
    out_tree: pytrees.PyTreeDef
    const_args: list[ArrayImpl]
    compiled: Compiled


class Compiled(Stage):
    """An executable for arguments of certain types; calling it never traces."""

    def __init__(
        self,
        program: TracedProgram,
        in_tree: pytrees.PyTreeDef,
        name: str,
        lowering: dispatch.Lowering,
        timings: dict[str, float],
        places: tuple[Sharding | None, ...] = (),
        requests: RequestedShardings | None = None,
    ) -> None:
        super().__init__(program, in_tree, name)
        self._places = places
        self._axes = get_mesh()
        self._requests = program.requests() if requests is None else requests
        if placements.calls_on_parts(program.closed.jaxpr):
            builder = placements.builder_of_parts(program.closed, self._assignment)
            if builder is not None:
                lowering = dispatch.lower(program.closed, name, builder)
        self._lowering = lowering
        self._executable = lowering.compile()
        self._timings = {**timings, **self._executable.timings}

    def timings(self) -> dict[str, float]:
        """The seconds spent in each stage: "trace", "lower", then the compiler's stages."""
        return dict(self._timings)

    @property
    def lowering(self) -> dispatch.Lowering:
        """The lowered program, and its executable."""
        return self._lowering

    @property
    def places(self) -> tuple[Sharding | None, ...]:
        """The shardings of the arguments at lowering; None for uncommitted arguments."""
        return self._places

    @property
    def _params(self) -> CompiledCallParams:
        return CompiledCallParams(self._executable, False, self.in_tree, self.out_tree, [], self)

    def as_text(self, stage: str | None = None) -> str:
        """Returns the program as text.

        Args:
          stage: "jaxpr", "hlo", a stage of the compiler, "kernels", "llvm", "asm", or
            "partitioned". The default is "kernels", or if the arguments are on a mesh of several
            devices "partitioned", the program of one device.
        """
        if stage == "jaxpr":
            return str(self.program.closed)
        if stage == "partitioned" or (stage is None and _on_several_devices(self._places)):
            return placements.partitioned_text(
                self._lowering.module, self._places, self._result_places
            )
        return self._lowering.as_text(stage or "kernels")

    def cost_analysis(self) -> dict[str, float]:
        """Returns estimates of "flops" (floating-point operations) and "bytes accessed"."""
        return self._lowering.cost_analysis()

    def memory_analysis(self) -> MemoryAnalysis:
        """Returns the sizes of arguments, results, temporaries and code, in bytes."""
        params = self.program.params
        donated, _ = used_up(self.program.closed, params["donated_invars"], params["keep_unused"])
        return self._executable.memory_analysis(donated)

    def runtime_executable(self) -> Executable:
        return self._executable

    @property
    def input_shardings(self) -> Any:
        assignment = self._assignment
        default = _default_on(assignment)
        places = assignment.in_shardings or (None,) * len(self.program.closed.in_avals)
        shardings = [default if place is None else place for place in places]
        return pytrees.tree_unflatten(self.in_tree, shardings[len(self.program.outer_tracers) :])

    @property
    def output_shardings(self) -> Any:
        closed = self.program.closed
        assignment = self._assignment
        propagated = placements.of_results(closed, assignment)
        places = propagated or (_default_on(assignment),) * len(closed.out_avals)
        return pytrees.tree_unflatten(self.out_tree, places)

    @property
    def out_info(self) -> Any:
        """A pytree of `ShapeDtypeStruct`s with shardings, in the structure of the result."""
        info = pytrees.tree_leaves(super().out_info)
        places = placements.of_results(self.program.closed, self._assignment)
        if places is not None:
            info = [x.update(sharding=place) for x, place in zip(info, places, strict=True)]
        return pytrees.tree_unflatten(self.out_tree, info)

    @property
    def _assignment(self) -> Assignment:
        """The device assignment of a call whose arguments have the shardings given at lowering."""
        avals = self.program.closed.in_avals
        places = [p if p is None or has_devices(p) else None for p in self._places]
        places = places or [None] * len(avals)
        return of_places(places, avals, requests=placements.or_on(self._axes, self._requests))

    @property
    def input_formats(self) -> Any:
        return pytrees.tree_map(_format_of, self.in_avals)

    @property
    def output_formats(self) -> Any:
        return pytrees.tree_map(_format_of, self.out_avals)

    @staticmethod
    def call(
        params: CompiledCallParams, *args: PyTree, **kwargs: PyTree
    ) -> tuple[object, list[Value], list[Value]]:
        """Runs the program of `params`; returns (result, its leaves, argument leaves)."""
        result = params.compiled(*args, **kwargs)
        return result, pytrees.tree_leaves(result), pytrees.tree_leaves((args, kwargs))

    def __call__(self, *args: PyTree, **kwargs: PyTree) -> Any:
        """Runs the program.

        Raises:
          TypeError: if the structure or the types of the arguments are not those for which the
            program was compiled.
        """
        leaves, tree = pytrees.tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise TypeError(
                f"{self.fun_name}: the program was compiled for arguments of tree structure "
                f"{self.in_tree}, "
                f"but was called with {tree}" + "".join(_differences(self.in_tree, tree))
            )
        avals = self.program.closed.in_avals
        leaves = [*self.program.outer_tracers, *leaves]
        if explicit.is_explicit(avals):
            leaves = [self._brought(x, aval) for x, aval in zip(leaves, avals, strict=True)]
        self._check_types(leaves)
        if any_refs(self.program.closed.in_avals):
            from jitney.primitives.refs.evaluate import run_on_refs  # rarely needed

            outs = run_on_refs(
                self.program.closed,
                leaves,
                lambda closed, args: self._executable.assigned(assign(args), closed).run(args),
            )
            return pytrees.tree_unflatten(self.out_tree, outs)
        if is_high(self.program.closed):
            low = lower_program(self.program.closed)
            low_operands = low.operands(leaves)
            outs = self._executable.assigned(assign(low_operands), low.closed).run(low_operands)
            return pytrees.tree_unflatten(self.out_tree, low.results(outs, leaves))
        assignment = assign(
            leaves, self.program.consumed(any_on_mesh(leaves)), requests=self._requests
        )
        executable = self._executable.assigned(assignment, self.program.closed)
        of_terms = None
        if assignment.mesh is not None:
            from jitney.api.jit import unreduced  # needed on several devices only

            of_terms = unreduced.call(self.program.closed, leaves, assignment, self.fun_name)
        outs = executable.run(leaves) if of_terms is None else of_terms
        return pytrees.tree_unflatten(self.out_tree, outs)

    def _brought(self, x: Any, aval: AbstractValue) -> Value:
        """Moves the argument `x`, if it is uncommitted, to the sharding in its type `aval`."""
        if explicit.sharding_of(aval) is None or not is_valid_operand(x):
            return x
        if isinstance(x, Tracer) or getattr(x, "placement", None) is not None:
            return x
        mesh = self._assignment.mesh
        place = explicit.place_of(aval, mesh if isinstance(mesh, Mesh) else None)
        value = as_value(x)
        return value.placed(place) if isinstance(value, ArrayImpl) and place is not None else x

    def _check_types(self, leaves: list[Any]) -> None:
        wrong: list[str] = []
        closed = self.program.closed
        names = closed.jaxpr.debug_info.safe_arg_names(len(leaves))
        for name, x, aval in zip(names, leaves, closed.in_avals, strict=True):
            if isinstance(x, Tracer):
                raise TypeError(
                    f"{self.fun_name}: a compiled program takes arrays, but argument '{name}' is a "
                    f"{type(x).__name__}: transform the function before compiling it"
                )
            got = with_state(get_aval(x), x)
            if not same_type(got, aval):
                wrong.append(
                    f"    '{name}': compiled for {aval.str_short()}, called with {got.str_short()}"
                )
        if wrong:
            raise TypeError(
                f"{self.fun_name}: the program was compiled for arguments of other types:\n"
                + "\n".join(wrong)
            )


def _on_several_devices(places: Sequence[Sharding | None]) -> bool:
    return any([isinstance(place, NamedSharding) and place.num_devices > 1 for place in places])


def _differences(compiled: pytrees.PyTreeDef, called: pytrees.PyTreeDef) -> Iterator[str]:
    """Yields a line for each place where two structures of (args, kwargs) differ."""
    for path, before, now, reason in equality_errors_pytreedef(compiled, called):
        where = "the call"
        if path:
            part: int = path[0].idx
            where = ("args", "kwargs")[part] + pytrees.keystr(path[1:])
        yield f"\n  * at {where}: compiled for {before}, called with {now}: {reason}"


def _default_on(assignment: Assignment) -> Sharding:
    """Returns the sharding of uncommitted values: replicated if other arguments are on a mesh."""
    mesh = assignment.mesh
    return sharding.default() if mesh is None else NamedSharding(mesh, PartitionSpec())


def _lying(aval: AbstractValue, place: object) -> AbstractValue:
    """Returns the type of an operand with the sharding from `in_shardings`."""
    if not isinstance(place, NamedSharding) or not isinstance(aval, ShapedArray):
        return aval
    return aval.update(sharding=place.update(mesh=place.mesh.abstract_mesh, memory_kind=None))


def _format_of(aval: AbstractValue) -> sharding.Format:
    return sharding.Format(rows(len(aval.shape)), sharding.default())


def trace(call: JitCall, args: tuple[PyTree, ...], kwargs: dict[str, PyTree]) -> Traced:
    """Traces `call` for these arguments."""
    start = time.perf_counter()
    if call.options.compiler_options:
        call.check_compiler_options()
    program, _ = call.trace(args, kwargs, abstract=True)
    dynamic, dynamic_kwargs, _ = call.spec.split(args, kwargs)
    in_tree = pytrees.tree_structure((dynamic, dynamic_kwargs))
    leaves = pytrees.tree_leaves((dynamic, dynamic_kwargs))
    places = (*[None] * len(program.outer_tracers), *map(_place, leaves))
    wanted = program.requests().operands or (None,) * len(places)
    places = tuple([w if p is None else p for p, w in zip(places, wanted, strict=True)])
    return Traced(program, in_tree, call.name, time.perf_counter() - start, places)


def _place(x: object) -> Sharding | None:
    """Returns the sharding of a committed array or of a type, or None."""
    place = x.placement if isinstance(x, ArrayImpl) else getattr(x, "sharding", None)
    return place if isinstance(place, Sharding) else None


__all__ = ["ArgInfo", "Compiled", "Lowered", "Traced", "trace"]
