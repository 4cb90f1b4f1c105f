"""Lowers jaxprs to the tensor IR, by the `lower` rule of each primitive.

This is the only part of the compiler that handles jaxprs. It visits the equations of a program and
passes the nodes of their operands to the rules of their primitives. No primitive is treated
specially.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.program.jaxpr import (
    Atom,
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    Var,
    has_other_settings,
    settings_of,
)
from jitney.core.program.shape_dtype import ShapeDtypeStruct
from jitney.core.settings import config
from jitney.core.sharding.named import constraint
from jitney.core.sharding_in_types import explicit
from jitney.core.tracing.primitive import declare_slot
from jitney.core.types import dtypes
from jitney.core.types.avals import AbstractValue, ShapedArray, abstract_token
from jitney.core.util.first_use import Features

if TYPE_CHECKING:
    # Imported when the first program is lowered, since primitives import this module, and to keep
    # `import jitney` fast.
    from jitney.compiler.hlo.build import Builder
    from jitney.compiler.hlo.ir import Module, Node, Region, TensorType
    from jitney.core.typing import Value

LOWER = declare_slot("lower", required=True)  # (builder, *nodes, **params) -> node, or list
# For rules that need the operands' types: (builder, avals, *nodes, **params).
LOWER_WITH_AVALS = declare_slot("lower_with_avals", instead_of="lower")


def scalar_type(dtype: np.dtype) -> TensorType:
    """Returns the type of a scalar of `dtype`."""
    from jitney.compiler.hlo.ir import TensorType

    return TensorType((), dtype)


def scalar_region(closed: ClosedJaxpr, dtypes: Sequence[np.dtype]) -> Region:
    """Lowers a jaxpr on scalars, without mutable references, to a region of the tensor IR."""
    from jitney.compiler.hlo.build import Builder

    closed = _transformed(closed)

    def body(b: Builder, *args: Node) -> list[Node]:
        return inline(b, closed, args)

    return Builder().region([scalar_type(d) for d in dtypes], body)


def elementwise_function(region: Region) -> Callable[..., np.ndarray]:
    """Returns a region on scalars as an elementwise function of NumPy arrays."""
    from jitney.compiler.hlo import interpret

    return interpret.elementwise_function(region)


def tensor_type(aval: AbstractValue) -> TensorType:
    """Returns the tensor type in which values of type `aval` are stored.

    Extended dtypes are stored as their carrier dtypes; a token is an array without elements.
    """
    from jitney.compiler.hlo.ir import TensorType

    if aval is abstract_token:
        return TensorType((0,), np.dtype(np.bool_))

    assert isinstance(aval, ShapedArray), aval
    return TensorType(aval.shape, dtypes.physical_dtype(aval.dtype))


# Transformations that are applied to all programs, in order, before they are lowered.
ProgramTransform = Callable[[ClosedJaxpr], ClosedJaxpr]
transforms: Features[ProgramTransform] = Features()


def _transformed(closed: ClosedJaxpr) -> ClosedJaxpr:
    for transform in transforms.installed:
        closed = transform(closed)
    return closed


def lower(
    closed: ClosedJaxpr, name: str = "main", builder: Callable[[], Builder] | None = None
) -> Module:
    """Lowers the jaxpr `closed` to a module of the tensor IR.

    First, mutable references are discharged (`transforms.discharge`), and PRNG keys of several
    words are replaced by arrays of words (`transforms.key_words`), which have the same memory
    layout.

    Args:
      closed: the program.
      name: the name of the module.
      builder: a function that returns the builder of the module; a `Builder` by default.

    Raises:
      NotImplementedError: if a user-defined primitive has no lowering rule; the message names it.
    """
    from jitney.compiler.hlo.build import Builder

    with explicit.as_written():
        closed = _transformed(closed)
        b = Builder() if builder is None else builder()
        parameters = [b.parameter(i, tensor_type(aval)) for i, aval in enumerate(closed.in_avals)]
        results = inline(b, closed, parameters)
        module = b.module(name, parameters, results)
        module.jaxpr = closed.jaxpr
        module.optimization_level = optimization_level()
        return module


# LLVM's optimization levels, by the values of the config option.
_LEVELS = {"O0": 0, "O1": 1, "O2": 2, "O3": 3, "UNKNOWN": 2}


def optimization_level() -> int:
    """Returns the optimization level, 0 to 3, that the config selects for lowered programs."""
    if config.disable_most_optimizations.value:
        return 0
    return _LEVELS[config.optimization_level.value]


def inline(b: Builder, closed: ClosedJaxpr, operands: Sequence[Node]) -> list[Node]:
    """Builds the nodes of `closed` applied to `operands` in `b`, and returns its results."""
    env: dict[Var, Node] = {}
    for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        if isinstance(value, ShapeDtypeStruct):
            raise TypeError(
                f"{value} is a shape and dtype without data, so a compiled function can neither use "
                "nor return it; only abstract evaluation, such as jax.eval_shape, accepts it"
            )
        env[var] = b.constant(host_value(value))
    for var, node in zip(closed.jaxpr.invars, operands, strict=True):
        env[var] = node

    def read(atom: Atom) -> Node:
        if isinstance(atom, Literal):
            return b.constant(np.asarray(atom.val))
        return env[atom]

    outer = b.origin
    for eqn in closed.jaxpr.eqns:
        b.origin = eqn, outer
        rules = eqn.primitive.rules
        rule = rules.get(LOWER.name)
        typed = rules.get(LOWER_WITH_AVALS.name)
        if typed is not None:
            rule = functools.partial(_without_types, typed, tuple([a.aval for a in eqn.invars]))
        if rule is None:
            raise NotImplementedError(
                f"'{eqn.primitive}' has no rule for compilation: a lowering rule, which jit needs, "
                "was not found. Register one with "
                "jax.interpreters.mlir.register_lowering(prim, mlir.lower_fun(fun))"
            )
        nodes = [read(atom) for atom in eqn.invars]
        if eqn.primitive.stretches:
            nodes = _stretched(b, eqn, nodes)
        if has_other_settings(eqn):
            with settings_of(eqn):
                out = rule(b, *nodes, **eqn.params)
        else:
            out = rule(b, *nodes, **eqn.params)
        out = _placed(b, eqn, out)
        if eqn.primitive.multiple_results:
            env.update(zip(eqn.outvars, out, strict=True))
        else:
            env[eqn.outvars[0]] = out
    b.origin = outer
    return [read(atom) for atom in closed.jaxpr.outvars]


def _placed(b: Builder, eqn: JaxprEqn, out: Any) -> Any:
    """Returns the results `out` of an equation, constrained to the shardings of their types."""
    if eqn.primitive.multiple_results:
        return [_at_home(b, var.aval, node) for var, node in zip(eqn.outvars, out, strict=True)]
    return _at_home(b, eqn.outvars[0].aval, out)


def _stretched(b: Builder, eqn: JaxprEqn, nodes: list[Node]) -> list[Node]:
    """Returns the operands of an elementwise function, aligned with its result.

    If types have shardings, scalars are broadcast, and operands with a sharding other than that of
    the result are constrained to the latter.
    """
    aval = eqn.outvars[0].aval
    if explicit.sharding_of(aval) is None:
        return nodes
    out: list[Node] = []
    for atom, node in zip(eqn.invars, nodes, strict=True):
        if not node.shape and aval.shape:
            node = _at_home(b, aval, b.broadcast(node, aval.shape, ()))
        elif node.shape == aval.shape and not explicit.equally_sharded(atom.aval, aval):
            node = _at_home(b, aval, node)
        out.append(node)
    return out


def _at_home(b: Builder, aval: AbstractValue, node: Node) -> Node:
    place = explicit.sharding_of(aval)
    if place is None:
        return node
    has_auto = bool(place.mesh.auto_axes)
    return b.sharding_constraint(node, constraint(place, len(node.shape), is_open=has_auto))


def _without_types(
    rule: Callable[..., Any],
    avals: Sequence[AbstractValue],
    b: Builder,
    *nodes: Node,
    **params: object,
) -> Node | Sequence[Node]:
    """Calls a rule that takes the types of the operands.

    With `rule` and `avals` bound, it has the signature of a rule that does not take them.
    """
    return rule(b, avals, *nodes, **params)


def host_value(x: Value) -> np.ndarray:
    """Returns a constant's data in the form in which the program stores it.

    Later writes to the array do not affect the program.
    """
    data = np.asarray(getattr(x, "_value", x), order="C")
    return np.array(data) if data is x and data.flags.writeable else data
