"""Evaluation of jaxprs on sparse values for `sparsify`, and the tables of rules.

A `SparsifyValue` represents a dense or sparse value by references to arrays in a `SparsifyEnv`. A
rule

    rule(spenv, *spvalues, **params) -> sequence of spvalues

computes a primitive for sparse operands. The rules are registered by `sparse_rules.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from jitney.core.program.evaluate import value_of
from jitney.core.program.jaxpr import Literal
from jitney.core.pytree import pytrees
from jitney.core.types.avals import ShapedArray, get_aval, shaped_array
from jitney.experimental.sparse.base import JAXSparse
from jitney.experimental.sparse.bcoo.matrix import BCOO
from jitney.experimental.sparse.bcsr import BCSR

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import Atom, Jaxpr, Var
    from jitney.core.tracing.primitive import Primitive
    from jitney.core.typing import Array, ArrayLike, PyTree
    from jitney.experimental.sparse.util import Shape

ArrayOrSparse = Any  # a dense array, BCOO or BCSR


class SparsifyValue(NamedTuple):
    """A value in the evaluation of a sparsified function.

    Attributes:
      shape: shape of the dense value.
      data_ref, indices_ref, indptr_ref: references to its arrays; None for arrays that its format
        does not have.
      indices_sorted, unique_indices: flags of its indices.
    """

    shape: Shape
    data_ref: int | None
    indices_ref: int | None = None
    indptr_ref: int | None = None
    indices_sorted: bool | None = False
    unique_indices: bool | None = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def is_sparse(self) -> bool:
        """Returns whether the value is sparse."""
        return self.indices_ref is not None

    def is_dense(self) -> bool:
        """Returns whether the value is a dense array."""
        return self.indices_ref is None

    def is_bcoo(self) -> bool:
        """Returns whether the value is a BCOO array."""
        return self.is_sparse() and self.indptr_ref is None

    def is_bcsr(self) -> bool:
        """Returns whether the value is a BCSR array."""
        return self.indptr_ref is not None


class SparsifyEnv:
    """The arrays of the values in the evaluation of a sparsified function.

    Attributes:
      buffers: the arrays; references are positions in this list.
    """

    def __init__(self, bufs: Sequence[Any] = ()) -> None:
        self.buffers: list[Any] = list(bufs)

    def _push(self, array: ArrayLike | None) -> int:
        self.buffers.append(array)
        return len(self.buffers) - 1

    def _of(self, place: int | None, what: str) -> Array:
        if place is None:
            raise RuntimeError(f"the sparse value has no {what}")
        return self.buffers[place]

    def data(self, spvalue: SparsifyValue) -> Array:
        """Returns the data of a sparse value, or the whole dense array."""
        return self._of(spvalue.data_ref, "data")

    def indices(self, spvalue: SparsifyValue) -> Array:
        """Returns the indices of a sparse value."""
        return self._of(spvalue.indices_ref, "indices")

    def indptr(self, spvalue: SparsifyValue) -> Array:
        """Returns the row pointers of a BCSR value."""
        return self._of(spvalue.indptr_ref, "indptr")

    def dense(self, data: ArrayLike) -> SparsifyValue:
        """Returns a value for a dense array."""
        return SparsifyValue(np.shape(data), self._push(data))

    def sparse(
        self,
        shape: Sequence[int],
        data: Array | None = None,
        indices: Array | None = None,
        indptr: Array | None = None,
        *,
        data_ref: int | None = None,
        indices_ref: int | None = None,
        indptr_ref: int | None = None,
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> SparsifyValue:
        """Returns a sparse value, whose components are given as arrays or as references.

        Raises:
          ValueError: if data or indices are given twice or not at all.
        """
        if (data is None) == (data_ref is None) or (indices is None) == (indices_ref is None):
            raise ValueError(
                "SparsifyEnv.sparse: data must be passed either as `data` or as `data_ref`, and "
                "indices either as `indices` or as `indices_ref`"
            )
        data_ref = self._push(data) if data_ref is None else data_ref
        indices_ref = self._push(indices) if indices_ref is None else indices_ref
        if indptr is not None:
            indptr_ref = self._push(indptr)
        return SparsifyValue(
            tuple(shape), data_ref, indices_ref, indptr_ref, indices_sorted, unique_indices
        )


def _is_spvalue(x: object) -> bool:
    return isinstance(x, SparsifyValue)


def _is_sparse(x: object) -> bool:
    return isinstance(x, JAXSparse)


def to_spvalue(spenv: SparsifyEnv, x: ArrayOrSparse) -> SparsifyValue:
    """Converts a dense or sparse array to a value.

    Raises:
      TypeError: if the format is neither BCOO nor BCSR.
    """
    if isinstance(x, BCOO | BCSR):
        return spenv.sparse(
            x.shape,
            x.data,
            x.indices,
            x.indptr if isinstance(x, BCSR) else None,
            indices_sorted=x.indices_sorted,
            unique_indices=x.unique_indices,
        )
    if isinstance(x, JAXSparse):
        raise TypeError(
            f"sparsify: sparse arguments must be BCOO or BCSR arrays, but got {type(x).__name__}"
        )
    return spenv.dense(x)


def to_array(spenv: SparsifyEnv, value: SparsifyValue) -> ArrayOrSparse:
    """Converts a value to a dense or sparse array."""
    if value.is_dense():
        return spenv.data(value)
    flags: Any = {
        "shape": value.shape,
        "indices_sorted": bool(value.indices_sorted),
        "unique_indices": bool(value.unique_indices),
    }
    data, indices = spenv.data(value), spenv.indices(value)
    if value.is_bcsr():
        return BCSR((data, indices, spenv.indptr(value)), **flags)
    return BCOO((data, indices), **flags)


def arrays_to_spvalues(spenv: SparsifyEnv, args: PyTree) -> Any:
    """Converts a pytree of dense and sparse arrays to a pytree of values."""
    return pytrees.tree_map(lambda x: to_spvalue(spenv, x), args, is_leaf=_is_sparse)


def spvalues_to_arrays(spenv: SparsifyEnv, spvalues: PyTree) -> Any:
    """Converts a pytree of values to a pytree of dense and sparse arrays."""
    return pytrees.tree_map(lambda v: to_array(spenv, v), spvalues, is_leaf=_is_spvalue)


@overload
def spvalues_to_avals(spenv: SparsifyEnv, spvalues: SparsifyValue) -> ShapedArray: ...


@overload
def spvalues_to_avals(spenv: SparsifyEnv, spvalues: list[SparsifyValue]) -> list[ShapedArray]: ...


def spvalues_to_avals(spenv: SparsifyEnv, spvalues: PyTree) -> object:
    """Returns the types of the corresponding dense arrays."""

    def aval(value: SparsifyValue) -> ShapedArray:
        stored = get_aval(spenv.data(value))
        assert isinstance(stored, ShapedArray)
        if value.is_dense():
            return stored
        return shaped_array(value.shape, stored.dtype)

    return pytrees.tree_map(aval, spvalues, is_leaf=_is_spvalue)


Rule = Callable[..., Sequence[SparsifyValue]]
sparse_rules_bcoo: dict[Primitive, Rule] = {}
sparse_rules_bcsr: dict[Primitive, Rule] = {}

# Primitives that do not map zero to zero, so that their results are not sparse.
_DENSIFYING = frozenset(
    "acos acosh bessel_i0e cos cosh digamma eq erfc exp exp2 ge gt le log log2 logistic lt "
    "lgamma ne not pow rsqrt".split()
)


def _no_rule(primitive: Primitive, format_name: str) -> NotImplementedError:
    if primitive.name in _DENSIFYING:
        return NotImplementedError(
            f"{primitive} of a sparse array would be dense, since it does not map 0 to 0; convert "
            "the operand with x.todense()"
        )
    return NotImplementedError(
        f"sparsify has no rule for {primitive} of {format_name} arrays; convert the operand with "
        "x.todense()"
    )


def apply(
    spenv: SparsifyEnv,
    primitive: Primitive,
    values: Sequence[SparsifyValue],
    params: dict[str, Any],
) -> Sequence[SparsifyValue]:
    """Applies a primitive to values.

    Raises:
      NotImplementedError: if an operand is sparse and the primitive has no rule.
    """
    if not any(v.is_sparse() for v in values):
        out = primitive.bind(*[spenv.data(v) for v in values], **primitive.get_bind_params(params))
        return [spenv.dense(x) for x in (out if primitive.multiple_results else [out])]
    is_bcsr = any(v.is_bcsr() for v in values)
    rules = sparse_rules_bcsr if is_bcsr else sparse_rules_bcoo
    rule = rules.get(primitive)
    if rule is None:
        raise _no_rule(primitive, "BCSR" if is_bcsr else "BCOO")
    return rule(spenv, *values, **params)


def eval_sparse(
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    spvalues: Sequence[SparsifyValue],
    spenv: SparsifyEnv,
) -> Sequence[SparsifyValue]:
    """Evaluates a jaxpr on dense and sparse values.

    Raises:
      NotImplementedError: if a primitive has no rule for sparse operands; the message names it.
    """
    env: dict[Var, SparsifyValue] = {}
    for var, const in zip(jaxpr.constvars, consts, strict=True):
        env[var] = spenv.dense(const)
    env.update(zip(jaxpr.invars, spvalues, strict=True))

    def operand(atom: Atom) -> SparsifyValue:
        return spenv.dense(value_of(atom, {})) if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        outs = apply(spenv, eqn.primitive, [operand(x) for x in eqn.invars], eqn.params)
        env.update(zip(eqn.outvars, outs, strict=True))
    return [operand(x) for x in jaxpr.outvars]


def evaluate(
    jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[ArrayOrSparse]
) -> list[ArrayOrSparse]:
    """Evaluates a jaxpr on dense and sparse arrays, by `eval_sparse`."""
    spenv = SparsifyEnv()
    values = [to_spvalue(spenv, x) for x in args]
    return [to_array(spenv, v) for v in eval_sparse(jaxpr, consts, values, spenv)]
