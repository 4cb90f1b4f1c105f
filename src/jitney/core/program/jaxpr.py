"""Jaxprs: typed, pure, first-order programs as data.

    jaxpr  ::= { lambda constvars ; invars . let eqn* in outvars } [consts]
    eqn    ::= outvars = primitive[params] invars
    atom   ::= Var | Literal

A jaxpr is closed if it has no constants or includes their values; otherwise it is open, and the
caller supplies them. Both are instances of one class. A jaxpr is a flat list of equations in
execution order, and each variable is bound once. Variables and jaxprs compare by identity. Passes
are loops over `eqns`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np

from jitney.core.settings import config
from jitney.core.sharding.mesh import get_abstract_mesh, use_abstract_mesh
from jitney.core.types.avals import AbstractValue, ShapedArray
from jitney.core.types.effects import Effect, InputEffect, no_effects

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from jitney.core.sharding.mesh import AbstractMesh
    from jitney.core.source.source_info import SourceInfo
    from jitney.core.tracing.primitive import Primitive
    from jitney.core.typing import Value

Fact = TypeVar("Fact")

_counter = itertools.count()


class Names(Protocol):
    """An object that assigns names to variables, such as `jax.core.JaxprPpContext`."""

    def name(self, var: Var, /) -> str:
        """Returns the name of a variable; assigns a new one if it has none."""
        ...


class Printer(Protocol):
    """The interface to the pretty-printer of jaxprs, `text`, which depends on this module."""

    Settings: Callable[..., Any]

    def result_paths(self, result: object, /) -> tuple[str, ...]:
        """Returns the path of each leaf of a result, such as "result['a'][0]"."""
        ...

    def literal_text(self, literal: Literal, /) -> str:
        """Returns the text of a literal: its value and type."""
        ...

    def format_eqn(self, eqn: JaxprEqn, /) -> str:
        """Returns the text of one equation."""
        ...

    def format_jaxpr(self, jaxpr: Jaxpr, settings: Any, /) -> str:
        """Returns the text of a jaxpr."""
        ...


_printer: Callable[[], Printer] | None = None


def use_printer(load: Callable[[], Printer]) -> None:
    """Sets the function that loads the printer when something is first printed."""
    global _printer
    _printer = load


def printer() -> Printer:
    """Returns the pretty-printer of jaxprs."""
    assert _printer is not None, "jitney.wiring sets the printer"
    return _printer()


class Var:
    """A variable, bound once; equal only to itself."""

    __slots__ = ("__weakref__", "aval", "count")

    def __init__(self, aval: AbstractValue) -> None:
        self.aval = aval
        self.count = next(_counter)

    def pretty_print(self, context: Names, *, print_dtype: bool = True) -> str:
        """Returns the variable's name in `context`, which assigns names in order of appearance."""
        return context.name(self)

    def __repr__(self) -> str:
        return f"Var(id={self.count}):{self.aval.str_short()}"


class DropVar(Var):
    """The variable of an unused result, printed as `_`."""

    __slots__ = ()

    def pretty_print(self, context: Names, *, print_dtype: bool = True) -> str:
        """Returns an underscore."""
        return "_"

    def __repr__(self) -> str:
        return "_"


class Literal:
    """A scalar constant within an equation.

    Attributes:
      val: the value, a NumPy scalar array with the dtype of the aval.
      aval: its type; weak if it comes from a Python scalar.
    """

    __slots__ = ("aval", "val")

    def __init__(self, val: object, aval: AbstractValue) -> None:
        self.val: Any = val
        self.aval = aval

    @property
    def hash(self) -> int | None:
        """A hash of the value; None if it is not hashable (`Literal` itself is not hashable)."""
        try:
            return hash((self.val.item(), self.val.dtype))
        except (TypeError, AttributeError):
            return None

    def pretty_print(self, context: Names, *, print_dtype: bool = True) -> str:
        """Returns the value, with its type if `print_dtype`."""
        text = printer().literal_text(self)
        return text if print_dtype else text.rpartition(":")[0]

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # unhashable, as in JAX

    def __repr__(self) -> str:
        val = self.val
        return f"Literal({val.item() if isinstance(val, np.ndarray) and val.ndim == 0 else val})"


Atom = Var | Literal


class DebugInfo(NamedTuple):
    """The origin of a traced function, for messages.

    Attributes:
      traced_for: the transformation, such as "jit".
      func_src_info: "name at file:line".
      arg_names: a name for each flat argument, such as "x['k'][0]"; None where unknown.
      result_paths: likewise for results, such as "result['a']".
      made_by: the transformations applied before `traced_for`, in order of application.
    """

    traced_for: str
    func_src_info: str
    arg_names: tuple[str | None, ...] | None = None
    result_paths: tuple[str, ...] | Callable[[], tuple[str, ...]] | None = None
    made_by: tuple[str, ...] = ()

    def then(
        self, transformation: str, arg_names: tuple[str | None, ...] | None = None
    ) -> DebugInfo:
        """Returns the debug info of the transformed program, without paths of its results.

        Args:
          transformation: the name of the transformation.
          arg_names: the names of the transformed program's arguments.
        """
        made_by = (*self.made_by, self.traced_for)
        return DebugInfo(transformation, self.func_src_info, arg_names, None, made_by)

    @property
    def func_name(self) -> str:
        return self.func_src_info.split(" ")[0]

    @property
    def func_filename(self) -> str | None:
        _, separator, where = self.func_src_info.partition(" at ")
        return where.rpartition(":")[0] if separator else None

    @property
    def func_lineno(self) -> int | None:
        line = self.func_src_info.rpartition(":")[2]
        return int(line) if line.isdigit() else None

    def safe_arg_names(self, n: int) -> tuple[str, ...]:
        """Returns names for `n` arguments, even if they are not known."""
        names = self.arg_names
        if names is None or len(names) != n:
            return ("",) * n
        return tuple(name or "" for name in names)

    def safe_result_paths(self, n: int) -> tuple[str, ...]:
        """Returns paths for `n` results, even if they are not known."""
        paths = self.result_paths
        if paths is None or callable(paths) or len(paths) != n:
            return ("",) * n
        return paths

    def assert_arg_names(self, expected_count: int) -> None:
        """Asserts that the number of argument names, if known, is `expected_count`."""
        names = self.arg_names
        assert names is None or len(names) == expected_count, (expected_count, self)

    def assert_result_paths(self, expected_count: int) -> None:
        """Asserts that the number of result paths, if known, is `expected_count`."""
        paths = self.result_paths
        assert paths is None or callable(paths) or len(paths) == expected_count, (
            expected_count,
            self,
        )

    def filter_arg_names(self, keep: Sequence[bool]) -> tuple[str | None, ...] | None:
        """Returns the names of the kept arguments; None if names are unknown."""
        names = self.arg_names
        if names is None:
            return None
        return tuple([name for name, kept in zip(names, keep, strict=True) if kept])

    def filter_result_paths(self, keep: Sequence[bool]) -> tuple[str, ...] | None:
        """Returns the paths of the kept results; None if paths are unknown."""
        paths = self.resolve_result_paths().result_paths
        if paths is None or callable(paths):
            return None
        return tuple([path for path, kept in zip(paths, keep, strict=True) if kept])

    def replace_func_name(self, name: str) -> DebugInfo:
        """Returns a copy with another function name."""
        _, space, where = self.func_src_info.partition(" ")
        return self._replace(func_src_info=f"{name}{space}{where}")

    def resolve_result_paths(self) -> DebugInfo:
        """Returns a copy in which lazy result paths have been computed."""
        paths = self.result_paths
        return self._replace(result_paths=paths()) if callable(paths) else self

    def set_result_paths(self, ans: object) -> DebugInfo:
        """Returns a copy with the paths of the leaves of a result."""
        return self._replace(result_paths=printer().result_paths(ans))

    def with_unknown_names(self) -> DebugInfo:
        """Returns a copy without names of arguments and results."""
        return self._replace(arg_names=None, result_paths=None)


class JaxprEqnContext(NamedTuple):
    """The settings in effect when an equation was recorded that affect its computation.

    Attributes:
      cur_abstract_mesh: the context mesh, if there was one.
    """

    threefry_partitionable: bool = True
    xla_metadata: Any = None
    compute_type: str | None = None
    cur_abstract_mesh: AbstractMesh | None = None


class JaxprEqn:
    """An equation: outvars = primitive[params] invars."""

    __slots__ = ("ctx", "effects", "invars", "outvars", "params", "primitive", "source_info")

    def __init__(
        self,
        invars: list[Atom],
        outvars: list[Var],
        primitive: Primitive,
        params: dict[str, Any],
        effects: frozenset[Effect] | set[Effect],
        source_info: SourceInfo | None,
        ctx: JaxprEqnContext | None = None,
    ) -> None:
        self.invars = invars
        self.outvars = outvars
        self.primitive = primitive
        self.params = params
        self.effects = effects
        self.source_info = source_info
        self.ctx = ctx

    def replace(self, **changes: Any) -> JaxprEqn:
        """Returns a copy with some fields replaced."""
        fields = {name: changes.pop(name, getattr(self, name)) for name in _EQN_FIELDS}
        assert not changes, f"JaxprEqn has no fields {sorted(changes)}"
        return JaxprEqn(**fields)

    def __repr__(self) -> str:
        return printer().format_eqn(self)


def has_other_settings(eqn: JaxprEqn) -> bool:
    """Returns whether the current settings differ from those under which `eqn` was recorded."""
    wanted = eqn.ctx
    return wanted is not None and (
        wanted.threefry_partitionable is not config.threefry_partitionable_enabled()
        or (wanted.cur_abstract_mesh is not None and _are_other_axes(wanted.cur_abstract_mesh))
    )


def _are_other_axes(mesh: AbstractMesh) -> bool:
    """Returns whether the context mesh arranges the devices along other axes than `mesh`."""
    now = get_abstract_mesh()
    return (
        now is not mesh
        and not now.empty
        and not now.manual_axes
        and now != mesh
        and now.size == mesh.size
    )


def settings_of(eqn: JaxprEqn) -> AbstractContextManager[object]:
    """Returns a context that restores the settings under which `eqn` was recorded."""
    wanted = eqn.ctx
    if wanted is None or not has_other_settings(eqn):
        return _AS_THEY_ARE
    as_recorded = ExitStack()
    as_recorded.enter_context(config.threefry_partitionable(wanted.threefry_partitionable))
    mesh = wanted.cur_abstract_mesh
    if mesh is not None and _are_other_axes(mesh):
        as_recorded.enter_context(use_abstract_mesh(mesh))
    return as_recorded


_AS_THEY_ARE = nullcontext()
_EQN_FIELDS = ("invars", "outvars", "primitive", "params", "effects", "source_info", "ctx")


def new_jaxpr_eqn(
    invars: Sequence[Atom],
    outvars: Sequence[Var],
    primitive: Primitive,
    params: Mapping[str, Any],
    effects: frozenset[Effect] | set[Effect] = no_effects,
    source_info: SourceInfo | None = None,
    ctx: JaxprEqnContext | None = None,
) -> JaxprEqn:
    """Returns a new equation (public as `jax.extend.core.new_jaxpr_eqn`)."""
    return JaxprEqn(list(invars), list(outvars), primitive, dict(params), effects, source_info, ctx)


_NO_DEBUG_INFO = DebugInfo("unknown", "<unknown>")


class Jaxpr:
    """A program.

    `Jaxpr(constvars, invars, outvars, eqns, effects, debug_info)` is open: its constants are
    variables whose values the caller supplies. `Jaxpr(jaxpr, consts)` is closed: it is the program
    `jaxpr` with the values `consts` of its constants.

    Attributes:
      constvars, invars: the variables of constants and operands.
      eqns: the equations, in order.
      outvars: the results.
      effects: the effects of the equations.
      debug_info: the origin of the program.
      consts: a value for each of `constvars`; missing if the program is open and has constants.
      jaxpr: the program without the values of its constants.
      is_open: whether it was created without these values.
      facts: results that `fact_of_program` has cached.
    """

    __slots__ = (
        "__weakref__",
        "consts",
        "constvars",
        "debug_info",
        "effects",
        "eqns",
        "facts",
        "invars",
        "is_open",
        "jaxpr",
        "outvars",
    )
    constvars: list[Var]
    invars: list[Var]
    outvars: list[Atom]
    eqns: list[JaxprEqn]
    effects: frozenset[Effect] | set[Effect]
    debug_info: DebugInfo
    consts: list[Any]
    jaxpr: Jaxpr
    is_open: bool
    facts: dict[Callable[[Jaxpr], Any], Any] | None

    def __init__(
        self,
        constvars: Sequence[Var] | Jaxpr = (),
        invars: Sequence[Any] = (),
        outvars: Sequence[Atom] = (),
        eqns: Sequence[JaxprEqn] = (),
        effects: frozenset[Effect] | set[Effect] = no_effects,
        debug_info: DebugInfo | None = None,
    ) -> None:
        self.facts = None
        if isinstance(constvars, Jaxpr):
            self._close(constvars, invars)
            return
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = list(eqns)
        self.effects = effects
        if effects and any([isinstance(e, InputEffect) for e in effects]):
            self.effects = self._own_effects(effects)
        self.debug_info = debug_info or _NO_DEBUG_INFO
        self.is_open = True

    def _close(self, program: Jaxpr, consts: Sequence[Any]) -> None:
        """Initializes this object as `program` with the values of its constants."""
        assert len(consts) == len(program.constvars), (len(consts), len(program.constvars))
        self.jaxpr = program if program.is_open else program.jaxpr
        self.constvars, self.invars = program.constvars, program.invars
        self.outvars, self.eqns = program.outvars, program.eqns
        self.effects, self.debug_info = program.effects, program.debug_info
        self.consts = list(consts)
        self.is_open = False

    if not TYPE_CHECKING:  # hidden from type checkers, which would accept any name

        def __getattr__(self, name: str) -> Any:
            """Returns `jaxpr` and `consts` of an open program.

            They are not stored: `jaxpr` is the program itself, so there would be a reference cycle.
            """
            if name == "jaxpr":
                return self
            if name != "consts":
                raise AttributeError(f"'Jaxpr' object has no attribute {name!r}")
            if self.constvars:
                raise AttributeError(
                    f"jaxpr.consts: this jaxpr is open, so its constants ({len(self.constvars)}) "
                    "have no values; bind values with jaxpr.with_consts(values)"
                )
            return []

    @property
    def is_closed(self) -> bool:
        """Whether the values of the constants are known."""
        return not (self.is_open and self.constvars)

    @property
    def known_consts(self) -> list[Value]:
        """The values of the constants; an empty list if the program is not closed."""
        return self.consts if self.is_closed else []

    @property
    def literals(self) -> list[Value]:
        return self.consts

    @property
    def num_consts(self) -> int:
        """The number of constants."""
        return len(self.constvars)

    def _own_effects(self, effects: frozenset[Effect] | set[Effect]) -> frozenset[Effect]:
        """Returns the effects of the program, which refer to operands by the program's indices."""
        place = {v: k for k, v in enumerate((*self.constvars, *self.invars))}
        own = {e for e in effects if not isinstance(e, InputEffect)}
        for eqn in self.eqns:
            for effect in eqn.effects:
                if isinstance(effect, InputEffect):
                    operand = eqn.invars[effect.input_index]
                    if isinstance(operand, Var) and operand in place:
                        own.add(effect.replace(place[operand]))
        return frozenset(own)

    @property
    def is_high(self) -> bool:
        """Whether it has values of high-level types, or operations on such values."""
        return is_high(self)

    @property
    def all_invars(self) -> list[Var]:
        return [*self.constvars, *self.invars]

    @property
    def in_avals(self) -> list[AbstractValue]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[AbstractValue]:
        return [v.aval for v in self.outvars]

    def replace(
        self, *, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None, **changes: Any
    ) -> Jaxpr:
        """Returns a copy with some fields, the open program, or the constants replaced."""
        if changes:
            fields = {name: changes.pop(name, getattr(self, name)) for name in _JAXPR_FIELDS}
            assert not changes, f"Jaxpr has no fields {sorted(changes)}"
            jaxpr = Jaxpr(**fields)
        jaxpr = jaxpr or self.jaxpr
        if consts is None:
            return jaxpr if self.is_open else Jaxpr(jaxpr, self.consts)
        return Jaxpr(jaxpr, consts)

    def with_consts(self, consts: Sequence[Any]) -> Jaxpr:
        """Returns the program closed over values of its constants."""
        return Jaxpr(self.jaxpr, consts)

    def map_jaxpr(self, f: Callable[[Jaxpr], Jaxpr]) -> Jaxpr:
        changed = f(self.jaxpr)
        return changed if self.is_open else Jaxpr(changed, self.consts)

    def copy(self) -> Jaxpr:
        """Returns a copy of the program with fresh variables, as if it had been traced again."""
        new: dict[Atom, Var] = {v: Var(v.aval) for v in (*self.constvars, *self.invars)}
        eqns: list[JaxprEqn] = []
        for eqn in self.eqns:
            operands = [a if isinstance(a, Literal) else new[a] for a in eqn.invars]
            new.update((v, type(v)(v.aval)) for v in eqn.outvars)
            eqns.append(eqn.replace(invars=operands, outvars=[new[v] for v in eqn.outvars]))
        return self.replace(
            constvars=[new[v] for v in self.constvars],
            invars=[new[v] for v in self.invars],
            outvars=[a if isinstance(a, Literal) else new[a] for a in self.outvars],
            eqns=eqns,
        )

    def pretty_print(
        self,
        *,
        source_info: bool = False,
        print_shapes: bool = True,
        custom_pp_eqn_rules: bool = True,
        name_stack: bool = False,
        print_effects: bool = False,
        **_: Any,
    ) -> str:
        """Returns the program as text; see `jitney.core.program.text`."""
        text = printer()
        settings = text.Settings(source_info, print_shapes, name_stack, print_effects)
        return text.format_jaxpr(self, settings)

    def __repr__(self) -> str:
        return self.pretty_print()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.pretty_print())


_JAXPR_FIELDS = ("constvars", "invars", "outvars", "eqns", "effects", "debug_info")


ClosedJaxpr = Jaxpr  # a jaxpr whose constants have values


def jaxprs_in_params(params: Mapping[str, object]) -> Iterator[Jaxpr]:
    """Yields the jaxprs in an equation's parameters, directly or in tuples, in order."""
    for value in params.values():
        if isinstance(value, Jaxpr):
            yield value
        elif _is_sequence(value):
            yield from [x for x in value if isinstance(x, Jaxpr)]


def fact_of_program(find: Callable[[Jaxpr], Fact]) -> Callable[[Jaxpr], Fact]:
    """Memoizes `find` per program; it must depend only on the program's equations."""

    @functools.wraps(find)
    def fact(program: Jaxpr) -> Fact:
        jaxpr = program.jaxpr
        facts = jaxpr.facts
        if facts is None:
            facts = jaxpr.facts = {}
        result = facts.get(find)
        if result is None:
            result = facts[find] = find(jaxpr)
        return result

    return fact


@fact_of_program
def is_high(jaxpr: Jaxpr) -> bool:
    """Returns whether a program has values of high-level types, or operations on such values."""
    return any(v.aval.is_high for v in (*jaxpr.constvars, *jaxpr.invars)) or any(
        eqn.primitive.is_high_operation or has_high_program(eqn.params) for eqn in jaxpr.eqns
    )


def has_high_program(params: Mapping[str, object]) -> bool:
    """Returns whether `is_high` holds for a program in an equation's parameters."""
    return any(map(is_high, jaxprs_in_params(params)))


def _is_sequence(x: object) -> TypeIs[tuple[object, ...] | list[object]]:
    return isinstance(x, tuple | list)


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """Yields the jaxprs in the parameters of all equations of `jaxpr`."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def is_scalar_type(aval: AbstractValue) -> bool:
    """Returns whether `aval` is the type of an array of rank 0."""
    return isinstance(aval, ShapedArray) and not aval.shape
