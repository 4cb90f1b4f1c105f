"""The pretty-printer of jaxprs, whose output equals JAX's character for character.

The layout algorithm is that of Wadler's "A prettier printer": a document is a text, a line break, a
concatenation, an indented document, or a group, which is laid out on one line if it fits into
`WIDTH` columns. `render` traverses documents with an explicit stack.

The conventions for jaxprs:

- variables are named a, b, ... z, ba, ... in order of appearance, across nested programs as well;
- results of the outermost program that nothing reads print as `_`;
- a program that is a parameter of several equations, or that has more than ten equations, is
  printed once, before the rest, as `let name = {...} in`;
- the program of a `jit` equation, if it is printed in place, uses the outer names of the
  equation's operands and results.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jitney.core.program.jaxpr import (
    Atom,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    jaxprs_in_params,
)
from jitney.core.pytree import pytrees
from jitney.core.source import source_info
from jitney.core.types.avals import AbstractValue, ShapedArray
from jitney.core.util.record import field, record

if TYPE_CHECKING:
    from typing import TypeGuard

    from typing_extensions import TypeIs

WIDTH = 80  # columns

# --- documents --------------------------------------------------------------------------------


@record(frozen=True)
class Text:
    """Characters on one line."""

    text: str


@record(frozen=True)
class Break:
    """A line break, or `flat` within a group that is laid out flat."""

    flat: str = " "


@record(frozen=True)
class Concat:
    """A concatenation of documents."""

    parts: tuple[Doc, ...]


@record(frozen=True)
class Nest:
    """A document whose line breaks are followed by additional indentation."""

    columns: int
    body: Doc


@record(frozen=True)
class Group:
    """A document that is laid out on one line if it fits."""

    body: Doc


@record(frozen=True)
class Note:
    """A remark at the end of a line, aligned with other remarks; the layout ignores its width."""

    text: str


Doc = Text | Break | Concat | Nest | Group | Note

NIL = Concat(())


def concat(*parts: Doc) -> Doc:
    """Returns the concatenation of documents."""
    return Concat(parts)


def join(separator: Doc, docs: Iterable[Doc]) -> Doc:
    """Returns the concatenation of `docs` with `separator` between them."""
    parts: list[Doc] = []
    for doc in docs:
        if parts:
            parts.append(separator)
        parts.append(doc)
    return Concat(tuple(parts))


def _fits(doc: Doc, space: int) -> bool:
    """Returns whether `doc`, laid out flat, fits into `space` columns.

    Neither the text that follows the document on its line nor the last piece of the document is
    counted, because JAX computes the layout in this way and the texts must be equal.
    """
    stack: list[Doc] = [doc]
    while stack:
        if space < 0:
            return False
        match stack.pop():
            case Text(text) | Break(text):
                space -= len(text)
            case Concat(parts):
                stack.extend(reversed(parts))
            case Nest(_, body) | Group(body):
                stack.append(body)
            case Note():
                pass
    return True


def render(doc: Doc, width: int = WIDTH) -> str:
    """Returns `doc` as text, with groups broken into lines if they exceed `width` columns."""
    lines: list[str] = []
    notes: list[list[str]] = [[]]  # for each line
    out: list[str] = []  # the current line
    column = 0
    stack: list[tuple[int, bool, Doc]] = [(0, False, doc)]
    while stack:
        indent, flat, current = stack.pop()
        match current:
            case Text(text):
                out.append(text)
                column += len(text)
            case Break(text):
                if flat:
                    out.append(text)
                    column += len(text)
                else:
                    lines.append("".join(out))
                    notes.append([])
                    out = [" " * indent]
                    column = indent
            case Concat(parts):
                stack.extend((indent, flat, part) for part in reversed(parts))
            case Nest(columns, body):
                stack.append((indent + columns, flat, body))
            case Group(body):
                fits = flat or _fits(body, width - column)
                stack.append((indent, fits, body))
            case Note(text):
                notes[-1].append(text)
    lines.append("".join(out))
    return "\n".join(_with_notes(lines, notes) if any(notes) else lines)


def _with_notes(lines: Sequence[str], notes: Sequence[Sequence[str]]) -> Iterable[str]:
    """Yields lines with aligned remarks; further remarks of a line follow below it."""
    width = max(map(len, lines))
    for line, remarks in zip(lines, notes, strict=True):
        if not remarks:
            yield line
        for i, remark in enumerate(remarks):
            yield f"{'' if i else line:{width}} # {remark}"


# --- names --------------------------------------------------------------------------------------


class Settings(NamedTuple):
    """Options for what to print besides the program."""

    source_info: bool = False
    print_shapes: bool = True
    name_stack: bool = False
    print_effects: bool = False


def encode_digits(n: int) -> str:
    """Returns variable name number n: a, b, ..., z, ba, bb, ..."""
    name = ""
    while True:
        n, digit = divmod(n, 26)
        name = chr(ord("a") + digit) + name
        if n == 0:
            return name


@record
class Context:
    """The names that have been assigned to variables and shared programs."""

    var_names: dict[Var, str] = field(default_factory=dict)
    var_counter: itertools.count[int] = field(default_factory=itertools.count)
    shared: dict[Jaxpr, str] = field(default_factory=dict)
    shared_names: set[str] = field(default_factory=set)
    unused: set[Var] = field(default_factory=set)

    def name(self, var: Var) -> str:
        if isinstance(var, DropVar) or var in self.unused:
            return "_"
        name = self.var_names.get(var)
        if name is None:
            names = map(encode_digits, self.var_counter)
            name = self.var_names[var] = next(n for n in names if n not in self.shared_names)
        return name

    def suggest_shared_name(self, base: str) -> str:
        name = base
        for i in itertools.count(1):
            if name not in self.shared_names:
                break
            name = f"{base}{i}"
        self.shared_names.add(name)
        return name


# --- programs -------------------------------------------------------------------------------------


def _note_unused(jaxpr: Jaxpr, context: Context) -> None:
    """Records the results of `jaxpr`'s equations that nothing reads."""
    used = {a for eqn in jaxpr.eqns for a in eqn.invars if isinstance(a, Var)}
    used.update(a for a in jaxpr.outvars if isinstance(a, Var))
    context.unused.update(v for eqn in jaxpr.eqns for v in eqn.outvars if v not in used)


# Programs of equations that are longer than this are printed once, before the rest.
SHARING_THRESHOLD = 10


def _shared_programs(jaxpr: Jaxpr) -> list[tuple[Jaxpr, str]]:
    """Returns the programs to print before the rest, outer ones first, with suggested names."""
    uses: Counter[Jaxpr] = Counter()
    names: dict[Jaxpr, str] = {}
    queue: deque[Jaxpr] = deque([jaxpr])
    while queue:
        for eqn in queue.popleft().eqns:
            for program in [p.jaxpr for p in jaxprs_in_params(eqn.params)]:
                uses[program] += 1
                named = eqn.primitive.name == "jit"
                names.setdefault(program, eqn.params["name"] if named else "jaxpr")
                # Programs within a program used twice are used twice, too; larger counts do not
                # matter.
                if uses[program] <= 2:
                    queue.append(program)
    return [
        (program, name)
        for program, name in names.items()
        if uses[program] > 1 or len(program.eqns) > SHARING_THRESHOLD
    ]


_PLAIN = Settings()


def format_jaxpr(jaxpr: Jaxpr, settings: Settings = _PLAIN) -> str:
    """Returns the text of a program."""
    return render(document(jaxpr, Context(), settings))


def format_eqn(eqn: JaxprEqn) -> str:
    """Returns the text of one equation."""
    return render(_eqn_doc(eqn, Context(), Settings()))


def document(jaxpr: Jaxpr, context: Context, settings: Settings) -> Doc:
    """Returns the complete document: the shared programs, then `jaxpr`."""
    shared = _shared_programs(jaxpr)
    for program, suggestion in shared:
        context.shared[program] = context.suggest_shared_name(suggestion.strip("<>"))
    parts: list[Doc] = []
    for program, _ in shared:
        body = jaxpr_doc(program, context, settings)
        parts += [Text(f"let {context.shared[program]} = "), body, Text(" in"), Break()]
    _note_unused(jaxpr, context)
    return concat(*parts, jaxpr_doc(jaxpr, context, settings))


def jaxpr_doc(jaxpr: Jaxpr, context: Context, settings: Settings) -> Doc:
    """Returns the document of one program, `{ lambda ... }`."""
    constvars = _binders(jaxpr.constvars, context, settings)
    invars = _binders(jaxpr.invars, context, settings)
    eqns = join(Break("; "), [_eqn_doc(eqn, context, settings) for eqn in jaxpr.eqns])
    outs = [_atom_doc(atom, context, settings) for atom in jaxpr.outvars]
    results = concat(
        Text("("), join(Text(", "), outs), Text(",)" if len(outs) == 1 else ")"), Text(" ")
    )
    if settings.print_effects:
        listed = ", ".join(sorted(map(str, jaxpr.effects)))
        results = concat(results, Text(f": {{ {listed} }} "))
    head = concat(Text("{ lambda "), Nest(4, constvars), Text("; "), Nest(4, invars), Text(". "))
    body = concat(
        Text("let"), Nest(4, concat(Break(), eqns)), Nest(2, concat(Break(), Text("in ")))
    )
    # The empty text at the end makes `_fits` count the brace.
    return Group(concat(head, body, results, Text("}"), Text("")))


def _binders(variables: Iterable[Var], context: Context, settings: Settings) -> Doc:
    """Returns variables, as many per line as fit, since each break is a group of its own."""
    return join(Group(Break()), [binder_doc(v, context, settings) for v in variables])


def binder_doc(var: Var, context: Context, settings: Settings) -> Doc:
    """Returns a variable as printed where it is bound."""
    name = context.name(var)
    if not settings.print_shapes:
        return Text(name)
    return Text(f"{name}:{_short(var.aval)}")


def _short(aval: AbstractValue) -> str:
    return aval.str_short(short_dtypes=True)


def atom_text(atom: Atom, context: Context) -> str:
    """Returns the name of a variable, or the text of a literal."""
    return literal_text(atom) if isinstance(atom, Literal) else context.name(atom)


def _atom_doc(atom: Atom, context: Context, settings: Settings) -> Doc:
    return Text(atom_text(atom, context))


def result_paths(result: object) -> tuple[str, ...]:
    """Returns the path of each leaf of a function's result, such as "result['a'][0]"."""
    leaves = pytrees.tree_leaves_with_path(result)
    return tuple([f"result{pytrees.keystr(path)}" for path, _ in leaves])


def literal_text(literal: Literal) -> str:
    """Returns the text of a literal with its type, such as `2.0:f32[]`."""
    if isinstance(literal.aval, ShapedArray) and _is_array(literal.val) and literal.val.ndim == 0:
        return f"{literal.val.item()}:{_short(literal.aval)}"
    return str(literal.val)


def _is_array(x: object) -> TypeIs[np.ndarray]:
    return isinstance(x, np.ndarray)


# --- equations ------------------------------------------------------------------------------------


def _eqn_doc(eqn: JaxprEqn, context: Context, settings: Settings) -> Doc:
    rule = printing_rules.get(eqn.primitive.name, _generic_eqn_doc)
    return rule(eqn, context, settings)


def _name_doc(eqn: JaxprEqn, settings: Settings) -> Doc:
    """Returns the primitive's name, with the remarks that the settings request."""
    parts: list[Doc] = [Text(eqn.primitive.name)]
    if settings.source_info:
        parts.append(Note(source_info.summarize(eqn.source_info)))
    if settings.name_stack:
        parts.append(Note(f"[{source_info.name_stack_of(eqn.source_info)}]"))
    return concat(*parts)


def _generic_eqn_doc(eqn: JaxprEqn, context: Context, settings: Settings) -> Doc:
    params = hidden_params_removed(eqn)
    return eqn_with_params(eqn, sorted(params.items()), context, settings)


def eqn_with_params(
    eqn: JaxprEqn,
    params: Sequence[tuple[str, Any]],
    context: Context,
    settings: Settings,
    operands: Sequence[Atom] | None = None,
) -> Doc:
    """Returns the document `outs = name[params] operands` of an equation."""
    left = Nest(2, _binders(eqn.outvars, context, settings))
    right: list[Doc] = [_name_doc(eqn, settings)]
    if params:
        right.append(_params_doc(params, context, settings))
    right.append(Text(" "))
    atoms = eqn.invars if operands is None else operands
    listed = join(Group(Break()), [_atom_doc(a, context, settings) for a in atoms])
    right.append(Nest(2, listed))
    if not eqn.outvars:
        return concat(*right)
    return concat(left, Text(" = "), *right)


def _params_doc(params: Sequence[tuple[str, Any]], context: Context, settings: Settings) -> Doc:
    items = [
        concat(Text(f"{name}="), _param_doc(value, context, settings)) for name, value in params
    ]
    inner = join(Break(), items)
    # The empty text at the end makes `_fits` count the bracket.
    end = concat(Break(""), Text("]"), Text(""))
    return Group(concat(Text("["), Nest(2, concat(Break(""), inner)), end))


def _param_doc(value: object, context: Context, settings: Settings) -> Doc:
    if isinstance(value, Jaxpr):
        return _program_doc(value.jaxpr, context, settings)
    if _are_programs(value):
        items = [_program_doc(v.jaxpr, context, settings) for v in value]
        return Group(
            concat(
                Text("("),
                Nest(2, concat(Break(""), join(Break(), items))),
                Break(""),
                Text(")"),
            )
        )
    if isinstance(value, np.dtype):
        return Text(value.name)
    if _is_set(value):
        return Text(f"frozenset({{{', '.join(sorted(map(repr, value)))}}})")
    return Text(_ADDRESS.sub("0xXXXXXXXXXXXX", str(value)))


_ADDRESS = re.compile("0x[0-9a-f]+")  # of objects; masked, so that texts are reproducible


def _are_programs(x: object) -> TypeGuard[tuple[Jaxpr, ...]]:
    return _is_tuple(x) and len(x) > 0 and all(isinstance(v, Jaxpr) for v in x)


def _is_tuple(x: object) -> TypeGuard[tuple[object, ...]]:
    return type(x) is tuple


def _is_set(x: object) -> TypeIs[frozenset[object]]:
    return isinstance(x, frozenset)


def _program_doc(jaxpr: Jaxpr, context: Context, settings: Settings) -> Doc:
    shared = context.shared.get(jaxpr)
    return Text(shared) if shared is not None else jaxpr_doc(jaxpr, context, settings)


# Parameters, of any primitive, that are not printed while they have these values.
_HIDDEN_WHEN: dict[str, tuple[Any, ...]] = {
    "accuracy": (None,),
    "out_dtype": (None,),
    "unroll": (None,),
}


def hidden_params_removed(eqn: JaxprEqn) -> dict[str, object]:
    """Returns the parameters of `eqn` except those with values that are not printed."""
    return {
        name: value
        for name, value in eqn.params.items()
        if not (name in _HIDDEN_WHEN and value in _HIDDEN_WHEN[name])
    }


EqnRule = Callable[[JaxprEqn, Context, Settings], Doc]

# Primitive name -> custom printing rule for its equations. The modules that declare primitives add
# to it.
printing_rules: dict[str, EqnRule] = {}
