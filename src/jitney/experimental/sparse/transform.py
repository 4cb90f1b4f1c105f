"""`jax.experimental.sparse.transform`: `sparsify`, for functions of sparse arrays.

The function is traced with dense arrays in place of sparse ones. Then its jaxpr is evaluated on the
sparse arrays, by a rule for each primitive (`sparse_rules.py`). Alternatively, operations are
evaluated immediately while the function runs (`tracer.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.api.autodiff.differentiation import array_values, debug_info
from jitney.core.array import Array as Array
from jitney.core.pytree import pytrees
from jitney.core.recording import linear_util
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.util.lazy import listing, refusing
from jitney.core.util.wraps import wraps
from jitney.experimental.sparse import sparse_rules as _sparse_rules  # noqa: F401  # fills the tables
from jitney.experimental.sparse.base import JAXSparse
from jitney.experimental.sparse.spvalues import (
    ArrayOrSparse as ArrayOrSparse,
    SparsifyEnv as SparsifyEnv,
    SparsifyValue as SparsifyValue,
    arrays_to_spvalues as arrays_to_spvalues,
    eval_sparse as eval_sparse,
    sparse_rules_bcoo as sparse_rules_bcoo,
    sparse_rules_bcsr as sparse_rules_bcsr,
    spvalues_to_arrays as spvalues_to_arrays,
    spvalues_to_avals as spvalues_to_avals,
)
from jitney.experimental.sparse.tracer import (
    SparseTrace as SparseTrace,
    SparseTracer as SparseTracer,
    sparsify_fun as sparsify_fun,
    sparsify_subtrace as sparsify_subtrace,
)

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import PyTree, Value


def _is_sparse(x: object) -> bool:
    return isinstance(x, JAXSparse)


def sparsify_raw(
    f: Callable[..., PyTree],
) -> Callable[..., tuple[Sequence[SparsifyValue], PyTreeDef]]:
    """Transforms `f` like `sparsify`, to a function of values in a `SparsifyEnv`.

    Args:
      f: a function of pytrees of arrays.

    Returns: a function (spenv, *spvalues, **params) -> (spvalues, tree structure of the result).
    """

    def wrapped(
        spenv: SparsifyEnv, *spvalues: PyTree, **params: PyTree
    ) -> tuple[Sequence[SparsifyValue], PyTreeDef]:
        values, tree = pytrees.tree_flatten(
            spvalues, is_leaf=lambda x: isinstance(x, SparsifyValue)
        )
        avals = spvalues_to_avals(spenv, values)
        structure: Any = None

        def flat(*xs: Array) -> list[Value]:
            nonlocal structure
            leaves, structure = pytrees.tree_flatten(f(*pytrees.tree_unflatten(tree, xs), **params))
            return array_values(leaves, False)

        jaxpr, _, consts = trace_to_jaxpr(flat, avals, debug_info(f, "sparsify"))
        return eval_sparse(jaxpr, consts, values, spenv), structure

    return wrapped


def sparsify(f: Callable[..., PyTree], use_tracer: bool = False) -> Callable[..., Any]:
    """Returns a version of `f` that also accepts sparse arrays.

    Args:
      f: a function of pytrees of arrays. Its operations must have rules for sparse operands. Such
        operations are sums and products, `dot_general`, indexing, reshaping, joining, elementwise
        functions that map zero to zero, and loops.
      use_tracer: whether to evaluate operations immediately while `f` runs, instead of tracing `f`
        to a jaxpr first.

    Returns: a function of pytrees of dense, BCOO and BCSR arrays. Its results are sparse if the
      rules of the operations return sparse arrays.

    Raises:
      NotImplementedError: when the function is called, if an operation has no such rule, or its
        result would not be sparse; the message names the operation.

    Example:
      >>> M = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> sparse.sparsify(lambda M, v: 2 * (M.T @ v))(M, jnp.ones(2))
      Array([6., 4.], dtype=float32)
    """
    return _by_tracer(f) if use_tracer else _by_program(f)


def _by_tracer(f: Callable[..., PyTree]) -> Callable[..., object]:
    @wraps(f)
    def wrapped(*args: PyTree, **params: PyTree) -> object:
        leaves, tree = pytrees.tree_flatten(args, is_leaf=_is_sparse)
        structure: Any = None

        def flat(*xs: Array) -> list[Value]:
            nonlocal structure
            out = f(*pytrees.tree_unflatten(tree, xs), **params)
            out_leaves, structure = pytrees.tree_flatten(out)
            return out_leaves

        outs = sparsify_fun(
            linear_util.wrap_init(flat, debug_info=debug_info(f, "sparsify")), leaves
        )
        return pytrees.tree_unflatten(structure, outs)

    return wrapped


def _by_program(f: Callable[..., PyTree]) -> Callable[..., object]:
    raw = sparsify_raw(f)

    @wraps(f)
    def wrapped(*args: PyTree, **params: PyTree) -> object:
        spenv = SparsifyEnv()
        values = arrays_to_spvalues(spenv, args)
        outs, structure = raw(spenv, *values, **params)
        return pytrees.tree_unflatten(structure, spvalues_to_arrays(spenv, list(outs)))

    return wrapped


__all__ = [
    "Array", "ArrayOrSparse", "SparseTrace", "SparseTracer", "SparsifyEnv", "SparsifyValue",
    "arrays_to_spvalues", "eval_sparse", "sparse_rules_bcoo", "sparse_rules_bcsr", "sparsify",
    "sparsify_fun", "sparsify_raw", "sparsify_subtrace",
    "spvalues_to_arrays", "spvalues_to_avals",
]  # fmt: skip

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
