"""Shapes with symbolic sizes: the public functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from jitney.core.program.shape_dtype import ShapeDtypeStruct, abstractify
from jitney.core.pytree import pytrees
from jitney.core.symbolic.expressions import DimSize
from jitney.core.symbolic.parse import parse_shape
from jitney.core.symbolic.scope import SymbolicScope
from jitney.core.types.avals import Shape


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[DimSize, ...]:
    """Parses a shape whose sizes are variables, or expressions of them.

    Args:
      shape_spec: the sizes, separated by commas. A size consists of names, numbers, `+`, `-`, `*`,
        `^`, and the binary functions `floordiv`, `mod`, `max` and `min`; or it is `_`, the size at
        the same position in `like`. A final `...` stands for all remaining sizes of `like`, and
        None stands for all of its sizes.
      constraints: constraints on the variables of a new scope, such as "a >= 2 * b". In addition,
        each variable is at least 1.
      scope: the scope of the variables; by default a new one. Shapes that are used together need
        the same scope.
      like: a shape; see `shape_spec`.

    Returns: a tuple of ints and symbolic sizes.

    Raises:
      ValueError: if a text cannot be parsed, constraints contradict each other, or both a scope and
        constraints are given.

    Example:
      >>> b, n = jax.export.symbolic_shape("b, 2*n + 1")
      >>> b * n - n
      2*b*n + b - 2*n - 1
    """
    untyped_spec = cast("object", shape_spec)
    if untyped_spec is not None and not isinstance(untyped_spec, str):
        raise ValueError(
            f"symbolic_shape: shape_spec must be None or a string, got {untyped_spec!r} of type "
            f"{type(untyped_spec)}"
        )
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise ValueError(
            "symbolic_shape: `constraints` and `scope` cannot both be passed; pass the "
            "constraints to SymbolicScope."
        )
    return parse_shape(shape_spec, scope, like)


def symbolic_args_specs(
    args: Any,
    shapes_specs: Any,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
) -> Any:
    """Returns types of arguments with symbolic shapes.

    Args:
      args: a pytree of arrays, or of any objects with a shape and a dtype.
      shapes_specs: a pytree of texts, a prefix of `args`; see `symbolic_shape`. None keeps the
        shape of an array.
      constraints: constraints on the variables.
      scope: the scope of the variables; by default a new one.

    Returns: a pytree like `args` of `ShapeDtypeStruct`s, with variables of one scope.

    Example:
      >>> jax.export.symbolic_args_specs((jnp.ones((2, 3)), jnp.ones(4)), ("b, ...", "2*b"))
      (ShapeDtypeStruct(shape=(b, 3), dtype=float32), ShapeDtypeStruct(shape=(2*b,), dtype=float32))
    """
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise ValueError("symbolic_args_specs: `constraints` and `scope` cannot both be passed.")
    leaves, tree = pytrees.tree_flatten(args)
    if shapes_specs is None or isinstance(shapes_specs, str):
        specs: list[Any] = [shapes_specs] * len(leaves)
    else:
        specs = pytrees.broadcast_prefix(shapes_specs, args, is_leaf=lambda x: x is None)
    avals = [abstractify(x) for x in leaves]
    structs = [
        ShapeDtypeStruct(cast("Shape", parse_shape(spec, scope, like=a.shape)), a.dtype)
        for spec, a in zip(specs, avals, strict=True)
    ]
    return pytrees.tree_unflatten(tree, structs)
