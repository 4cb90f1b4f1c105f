"""Lowering of jaxprs to the tensor IR, and the values that represent results in it.

The representation of a value is a node, or a tuple of nodes for a value of a high-level type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jitney.compiler import lower as lowering
from jitney.compiler.hlo import ir
from jitney.compiler.hlo.ir import Node, TensorType
from jitney.compiler.hlo.text import print_module
from jitney.core.program.closed_programs import closed_of
from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr
from jitney.core.types.avals import AbstractValue, abstract_token
from jitney.primitives.lowering_context import (
    LoweringRuleContext,
    ModuleContext,
    TokenSet,
)

if TYPE_CHECKING:
    from jitney.core.source.name_stack import NameStack


def aval_to_ir_types(ctx: object, aval: AbstractValue) -> tuple[TensorType, ...]:
    """Returns the tensor IR types of the arrays to which values of type `aval` are lowered."""
    return tuple([lowering.tensor_type(lo) for lo in aval.lo_ty()])


def token_type() -> TensorType:
    """Returns the tensor IR type of tokens."""
    return lowering.tensor_type(abstract_token)


def _flat(xs: Iterable[Any]) -> Iterator[Any]:
    for x in xs:
        if isinstance(x, tuple | list):
            yield from _flat(x)
        else:
            yield x


def flatten_ir_types(xs: Iterable[Any]) -> list[Any]:
    """Returns the types in `xs`, whose elements are types or tuples of them."""
    return list(_flat(xs))


def flatten_ir_values(xs: Iterable[Any]) -> list[Any]:
    """Returns the nodes in `xs`, whose elements are nodes or tuples of them.

    Example:
      >>> from jax.interpreters import mlir
      >>> mlir.flatten_ir_values([1, (2, 3)])
      [1, 2, 3]
    """
    return list(_flat(xs))


def unflatten_ir_values_like_types(xs: Iterable[Any], ys: Sequence[Any]) -> list[Any]:
    """Returns the nodes `xs`, grouped as the types in `ys` are.

    Raises:
      ValueError: if the numbers of nodes and types differ.

    Example:
      >>> from jax.interpreters import mlir
      >>> mlir.unflatten_ir_values_like_types([1, 2, 3], ["a", ("b", "c")])
      [1, (2, 3)]
    """
    nodes = list(xs)
    n = sum(1 for _ in _flat(ys))
    if len(nodes) != n:
        raise ValueError(
            f"unflatten_ir_values_like_types: {n} values are needed, one for each type, but got "
            f"{len(nodes)}"
        )
    remaining = iter(nodes)

    def like(y: object) -> Any:
        if isinstance(y, tuple | list):
            parts: Sequence[object] = y
            return tuple([like(z) for z in parts])
        return next(remaining)

    return [like(y) for y in ys]


def core_call_lowering(
    ctx: LoweringRuleContext,
    *args: Node,
    name: str,
    backend: object = None,
    inline_jax_late: bool = False,
    call_jaxpr: Jaxpr,
    **params: object,
) -> list[Any]:
    """Lowers a call: a rule for primitives that call the program in their parameter `call_jaxpr`.

    Args:
      ctx: the context of the rule.
      *args: nodes of the operands.
      name, backend, inline_jax_late: accepted for compatibility; the program is inlined.
      call_jaxpr: the program.
      **params: further parameters of the call, which have no effect.
    """
    return lowering.inline(ctx.builder, _closed(call_jaxpr), args)


def _closed(jaxpr: Jaxpr) -> ClosedJaxpr:
    return jaxpr if isinstance(jaxpr, ClosedJaxpr) else closed_of(jaxpr)


def jaxpr_subcomp(
    ctx: ModuleContext,
    jaxpr: Jaxpr,
    name_stack: NameStack,
    tokens: TokenSet,
    consts_for_constvars: Sequence[Node],
    *args: Node,
    dim_var_values: Sequence[Node] = (),
    const_lowering: object = None,
    outer_traceback: object = None,
) -> tuple[Sequence[Node], TokenSet]:
    """Builds the operations of a program in the program that is being lowered.

    Args:
      ctx: the module context of a rule.
      jaxpr: the program.
      name_stack: accepted for compatibility: nodes have the scopes of their equations.
      tokens: tokens, which are returned.
      consts_for_constvars: nodes of its constants.
      *args: nodes of its operands.
      dim_var_values, const_lowering, outer_traceback: accepted for compatibility.

    Returns: (nodes of the results, `tokens`).

    Raises:
      ValueError: if `ctx` is not that of a rule.
    """
    builder = ctx.builder
    if builder is None:
        raise ValueError(
            "jaxpr_subcomp: the context must be the `module_context` of a lowering rule's context"
        )
    operands = jaxpr.replace(constvars=(), invars=[*jaxpr.constvars, *jaxpr.invars])
    own = ClosedJaxpr(operands, ())
    return lowering.inline(builder, own, [*consts_for_constvars, *args]), tokens


class LoweringResult(NamedTuple):
    """A lowered program.

    Attributes:
      module: the program in the tensor IR.
      keepalive: None: the program keeps the Python functions that it calls alive.
      host_callbacks: empty, likewise.
      shape_poly_state: None: all shapes are known.
    """

    module: ir.Module
    keepalive: Any = None
    host_callbacks: Sequence[Any] = ()
    shape_poly_state: Any = None


def lower_jaxpr_to_module(
    module_name: str,
    jaxpr: Jaxpr,
    *,
    num_const_args: int = 0,
    in_avals: Sequence[AbstractValue] | None = None,
    out_avals: Sequence[AbstractValue] | None = None,
    platforms: Sequence[str] = ("cpu",),
    **options: object,
) -> LoweringResult:
    """Lowers a program to the tensor IR.

    Args:
      module_name: the name of the result.
      jaxpr: a program without free constants.
      num_const_args: accepted for compatibility.
      in_avals, out_avals: the types of its operands and results, which are checked.
      platforms: the platforms to compile for; the CPU must be among them.
      **options: JAX's further options (shardings, donation, layouts ...) are accepted for
        compatibility; `jax.jit` lowers with shardings.

    Returns: the lowered program; `Client.compile_and_load` compiles its module.

    Raises:
      ValueError: if types differ from those of the program, or the CPU is not among `platforms`.

    Example:
      >>> from jax.interpreters import mlir
      >>> program = jax.make_jaxpr(jnp.negative)(1.0)
      >>> print(mlir.module_to_string(mlir.lower_jaxpr_to_module("minus", program).module))
      module minus(p0: float32[]) {
        %1 = neg p0 : float32[]
        return %1
      }
    """
    closed = _closed(jaxpr)
    for what, given, own in (
        ("in_avals", in_avals, closed.in_avals),
        ("out_avals", out_avals, closed.out_avals),
    ):
        if given is not None and list(given) != list(own):
            raise ValueError(
                f"lower_jaxpr_to_module: {what} are {list(given)}, but those of the program are "
                f"{list(own)}"
            )
    if "cpu" not in platforms:
        raise ValueError(
            f"lower_jaxpr_to_module: platforms must contain 'cpu', but are {tuple(platforms)}"
        )
    return LoweringResult(lowering.lower(closed, module_name))


def module_to_string(module: ir.Module, enable_debug_info: bool | None = None) -> str:
    """Returns the text of a program in the tensor IR.

    Args:
      module: the program.
      enable_debug_info: accepted for compatibility.
    """
    return print_module(module)


def module_to_bytecode(module: ir.Module) -> bytes:
    """Returns a program in the tensor IR as bytes, which `Client.compile_and_load` accepts.

    They contain its text with all elements of constants.
    """
    return print_module(module, elide_above=2**62).encode()
