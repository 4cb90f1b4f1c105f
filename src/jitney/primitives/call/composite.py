"""`lax.composite`: a call of a program that defines a named operation.

    b = composite[attributes=... call_jaxpr=... name=my.norm version=1] a

A compiler that recognizes the name may substitute its own implementation; the compiler of jitney
always inlines the program. Since the name denotes the operation itself, a composite has neither
derivatives nor a batching rule. To add them, wrap it in `custom_jvp` or `custom_vmap`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

import numpy as np

from jitney.core.array import Array
from jitney.core.diagnostics import errors
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.pytree import pytrees
from jitney.core.recording import jaxpr_trace
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.trace import Tracer
from jitney.core.types.avals import get_aval
from jitney.primitives.call.inlined import calls_program

if TYPE_CHECKING:
    from typing import NoReturn

    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import PyTree
    from jitney.primitives.rule_types import Cotangent, Dims, Operand, Primals, Tangents

P = ParamSpec("P")
T = TypeVar("T")

composite_p = declare("composite", multiple_results=True)
calls_program(composite_p, "call_jaxpr")
composite_p.absent("eager", why="evaluated whole, as a compiled program (runtime.eager)")

_CURE = "jax.custom_jvp or jax.custom_vjp around the composite adds one"


@composite_p.jvp
def _composite_jvp(_primals: Primals, _tangents: Tangents, *, name: str, **_: object) -> NoReturn:
    raise ValueError(f"composite {name!r} has no derivative rule, which jvp and grad need; {_CURE}")


@composite_p.transpose
def _composite_transpose(
    _cts: list[Cotangent], *_operands: Operand, name: str, **_: object
) -> NoReturn:
    raise ValueError(f"composite {name!r} has no rule for linear_transpose; {_CURE}")


@composite_p.batch
def _composite_batch(_args: Primals, _dims: Dims, *, name: str, **_: object) -> NoReturn:
    raise NotImplementedError(
        f"composite {name!r} has no batching rule, which vmap needs; jax.custom_batching.custom_vmap "
        "around the composite adds one"
    )


class HashableArray:
    """A hashable NumPy array for attributes, compared by dtype, shape and elements."""

    def __init__(self, val: np.ndarray) -> None:
        self.val = val.copy()
        self.val.setflags(write=False)

    def _key(self) -> tuple[np.dtype, tuple[int, ...], bytes]:
        return self.val.dtype, self.val.shape, self.val.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashableArray) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"HashableArray({self.val!r})"


def _attribute(
    name: str, operation: str, value: PyTree
) -> tuple[str, tuple[object, ...], PyTreeDef]:
    """Returns an attribute as a parameter of the composite: (name, leaves, treedef)."""
    leaves, tree = pytrees.tree_flatten(value)
    if any(isinstance(leaf, Tracer) for leaf in leaves):
        raise errors.UnexpectedTracerError(
            f"composite {operation!r}: attribute {name!r} is traced, but attributes must be constants; "
            "pass a NumPy array or a number, or make it a positional argument"
        )
    hashable = [
        HashableArray(np.asarray(cast("Any", x))) if isinstance(x, np.ndarray | Array) else x
        for x in leaves
    ]
    return name, tuple(hashable), tree


def composite(decomposition: Callable[P, T], name: str, version: int = 0) -> Callable[P, T]:
    """Returns a function that is traced as a single operation called `name`.

    Args:
      decomposition: a function that computes the operation. Its positional arguments are the
        operands, pytrees of arrays; its keyword arguments are the attributes, constants or pytrees
        of constants.
      name: name of the operation, such as "my_library.softmax".
      version: version of the operation.

    Returns: a function with the signature of `decomposition`, but without derivatives and without a
      batching rule.

    Raises:
      UnexpectedTracerError: when the function is called, if an attribute is traced, or if
        `decomposition` closes over a traced value.

    Example:
      >>> def sines_over_cosines(x):
      ...   return lax.sin(x) / lax.cos(x)
      >>> tangent = lax.composite(sines_over_cosines, name="my.tangent")
      >>> tangent(jnp.array([0.0, 1.0]))
      Array([0.       , 1.5574077], dtype=float32)
    """

    @functools.wraps(decomposition)
    def operation(*args: P.args, **kwargs: P.kwargs) -> T:
        leaves, tree = pytrees.tree_flatten(args)
        attributes = tuple(_attribute(key, name, value) for key, value in kwargs.items())
        flat = FlatFunction(functools.partial(decomposition, **kwargs), tree)
        info = DebugInfo("composite", getattr(decomposition, "__name__", name))
        avals = [get_aval(x) for x in leaves]
        jaxpr, _, consts = jaxpr_trace.trace_to_jaxpr(flat, avals, info)
        if any(isinstance(c, Tracer) for c in consts):
            raise errors.UnexpectedTracerError(
                f"composite {name!r}: its decomposition closes over a traced value; pass the value as "
                "an argument"
            )
        outs = composite_p.bind(
            *leaves,
            name=name,
            version=version,
            attributes=attributes,
            call_jaxpr=ClosedJaxpr(jaxpr, consts),
        )
        return pytrees.tree_unflatten(flat.out_tree, outs)

    return operation
