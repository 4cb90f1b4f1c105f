"""`FlatFunction`: a user's function of pytrees, called with flat values by transformations.

A transformation flattens the arguments of a function, runs a `FlatFunction` on values or tracers
for the leaves, and rebuilds the result from flat results and `out_tree`. The results of users'
functions are checked here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from jitney.core.program.shape_dtype import ShapeDtypeStruct, abstractify
from jitney.core.pytree import pytrees
from jitney.core.tracing.trace import Tracer, state
from jitney.core.types.avals import is_valid_operand

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import PyTree, Value


class FlatFunction:
    """A function of pytrees as a function of flat values, which records the result's structure.

    Attributes:
      fun: the function.
      in_tree: the structure of the tuple of its positional arguments, or of the pair of that tuple
        and the dictionary of its keyword arguments.
      has_kwargs: whether `in_tree` is the structure of the pair.
      has_aux: whether the function returns a pair whose second element is not transformed.
      refusal: (an invalid leaf of the result, its path) -> the error message. If it is None,
        results are checked by the trace that receives them, not here.
      out_tree: the structure of the result of the last call.
      aux: the second element of that result, if `has_aux`.
    """

    __slots__ = ("aux", "fun", "has_aux", "has_kwargs", "in_tree", "out_tree", "refusal")

    out_tree: PyTreeDef

    def __init__(
        self,
        fun: Callable[..., Any],
        in_tree: PyTreeDef,
        refusal: Callable[[object, str], str] | None = None,
        *,
        has_kwargs: bool = False,
        has_aux: bool = False,
    ) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.refusal = refusal
        self.has_kwargs = has_kwargs
        self.has_aux = has_aux
        self.aux: Any = None

    def __call__(self, *leaves: Value) -> list[Value]:
        """Returns the flat results of the function on the arguments with `leaves`.

        While a program is recorded, the function may return a `ShapeDtypeStruct` in place of a
        result of which only the type is needed. Such a program cannot be run.

        Raises:
          TypeError: if a result is not a valid value, or is not a pair if `has_aux`.
        """
        args = self.in_tree.unflatten(leaves)
        out = self.fun(*args[0], **args[1]) if self.has_kwargs else self.fun(*args)
        if self.has_aux:
            out, aux = _pair(out)
            self.aux = pytrees.tree_map(_aside, aux)
        outs, self.out_tree = pytrees.tree_flatten(out)
        if self.refusal is not None:
            for i, x in enumerate(outs):
                if not isinstance(x, Tracer) and not is_valid_operand(x):
                    if not isinstance(x, ShapeDtypeStruct) or not state.trace.is_staging:
                        self._refuse(outs, self.refusal)
                    outs[i] = state.trace.new_valueless(x, abstractify(x))
        return outs

    def _refuse(self, outs: Sequence[object], refusal: Callable[[object, str], str]) -> None:
        tree = pytrees.tree_unflatten(self.out_tree, outs)
        for path, x in pytrees.tree_flatten_with_path(tree)[0]:
            if not is_valid_operand(x):
                raise TypeError(refusal(x, pytrees.keystr(path)))

    def unflatten(self, outs: Sequence[Any]) -> Any:
        """Returns a result with the leaves `outs` and the structure of the last result."""
        return self.out_tree.unflatten(outs)


def _pair(out: PyTree) -> Sequence[object]:
    if not isinstance(out, list | tuple) or len(cast("Sequence[object]", out)) != 2:
        raise TypeError(
            "with has_aux=True, the function must return a pair (output, auxiliary output), but it "
            f"returned {out!r} of type {type(cast('object', out))}"
        )
    return cast("Sequence[Any]", out)


def _aside(x: PyTree) -> object:
    return state.trace.aside(x) if isinstance(x, Tracer) else x
