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
    """Returns a flat list of the types in `xs`, whose elements are types or tuples of types."""
    return list(_flat(xs))


def flatten_ir_values(xs: Iterable[Any]) -> list[Any]:
    """Returns a flat list of the nodes in `xs`, whose elements are nodes or tuples of nodes.

    Example:
      >>> from jax.interpreters import mlir
      >>> mlir.flatten_ir_values([1, (2, 3)])
      [1, 2, 3]
    """
    return list(_flat(xs))


def unflatten_ir_values_like_types(xs: Iterable[Any], ys: Sequence[Any]) -> list[Any]:
    """Groups the nodes `xs` in the same way as the types in `ys`.

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
            f"unflatten_ir_values_like_types: expected {n} values, one for each type, but got "
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
    """Lowers a call; a rule for primitives that call the program in their parameter `call_jaxpr`.

    Args:
      ctx: context of the rule.
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
    """Lowers a jaxpr into the program that is being built.

    Args:
      ctx: module context of a lowering rule.
      jaxpr: program to be lowered.
      name_stack: accepted for compatibility; nodes have the scopes of their equations.
      tokens: tokens, which are returned.
      consts_for_constvars: nodes of the constants of `jaxpr`.
      *args: nodes of the operands of `jaxpr`.
      dim_var_values, const_lowering, outer_traceback: accepted for compatibility.

    Returns: (nodes of the results, `tokens`).

    Raises:
      ValueError: if `ctx` is not the module context of a lowering rule.
    """
    builder = ctx.builder
    if builder is None:
        raise ValueError(
            "jaxpr_subcomp: the context must be the `module_context` of the context that a lowering "
            "rule receives"
        )
    operands = jaxpr.replace(constvars=(), invars=[*jaxpr.constvars, *jaxpr.invars])
    own = ClosedJaxpr(operands, ())
    return lowering.inline(builder, own, [*consts_for_constvars, *args]), tokens


class LoweringResult(NamedTuple):
    """A lowered program.

    Attributes:
      module: the program in the tensor IR.
      keepalive: None, since the program itself keeps the Python functions that it calls alive.
      host_callbacks: empty, for the same reason.
      shape_poly_state: None, since all shapes are known.
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
      module_name: name of the lowered program.
      jaxpr: a program without free constants.
      num_const_args: accepted for compatibility.
      in_avals, out_avals: types of the operands and results, which are checked.
      platforms: platforms to compile for; the CPU must be among them.
      **options: further options of JAX (shardings, donation, layouts, ...), accepted for
        compatibility. Use `jax.jit` to lower a program with shardings.

    Returns: the lowered program; its module can be compiled by `Client.compile_and_load`.

    Raises:
      ValueError: if the types are not those of the program, or the CPU is not among `platforms`.

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
                f"lower_jaxpr_to_module: {what} must be {list(own)}, as in the program, but got "
                f"{list(given)}"
            )
    if "cpu" not in platforms:
        raise ValueError(
            f"lower_jaxpr_to_module: platforms must contain 'cpu', but got {tuple(platforms)}"
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
    """Converts a program in the tensor IR to bytes, which `Client.compile_and_load` accepts.

    They contain the text of the program, with all elements of constants.
    """
    return print_module(module, elide_above=2**62).encode()
