"""`jax.experimental.sparse.test_util`: random sparse arrays, and a test case that compares them.

Random data and indices are the same as in JAX if the generators are in the same state.
"""

from __future__ import annotations

import itertools
import math
import unittest
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from jitney.api.autodiff.jacobian import jacfwd, jacrev
from jitney.api.jit.jit import jit
from jitney.core.pytree import pytrees
from jitney.core.types import dtypes
from jitney.core.typing import DTypeLike
from jitney.core.util.lazy import listing, refusing
from jitney.experimental.sparse.base import JAXSparse
from jitney.experimental.sparse.bcoo import BCOO
from jitney.experimental.sparse.bcsr import BCSR
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.linalg.dot import DotDimensionNumbers

if TYPE_CHECKING:
    from jitney.core.typing import ArrayLike, PyTree

T = TypeVar("T")

__all__ = [
    "MATMUL_TOL", "BatchedDotGeneralProperties", "DTypeLike", "DotDimensionNumbers", "SparseLayout",
    "SparseTestCase", "is_sparse", "iter_bcsr_layouts", "iter_sparse_layouts", "iter_subsets",
    "rand_bcoo", "rand_bcsr", "rand_sparse",
]  # fmt: skip

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)

RandomMethod = Callable[[np.random.RandomState], Callable[..., np.ndarray]]
"""A function that maps a generator to a function of (shape, dtype) that draws arrays."""

MATMUL_TOL: dict[type[np.generic], float] = {
    np.float32: 1e-5, np.float64: 1e-10, np.complex64: 1e-5, np.complex128: 1e-10,
}  # fmt: skip
"""Tolerances of matrix products by dtype."""

_SCALE = 3  # standard deviation of random elements


class BatchedDotGeneralProperties(NamedTuple):
    """A product: shapes of the operands, layout of the sparse operand, and dimension numbers."""

    lhs_shape: tuple[int, ...]
    rhs_shape: tuple[int, ...]
    n_batch: int
    n_dense: int
    dimension_numbers: DotDimensionNumbers


class SparseLayout(NamedTuple):
    """The numbers of batch, dense and sparse axes of a sparse array."""

    n_batch: int
    n_dense: int
    n_sparse: int


def is_sparse(x: object) -> bool:
    """Returns whether `x` is a sparse array."""
    return isinstance(x, JAXSparse)


def iter_subsets(s: Sequence[T]) -> Iterable[tuple[T, ...]]:
    """Returns all subsets of the elements of `s`, the smallest first.

    Example:
      >>> from jax.experimental.sparse import test_util
      >>> list(test_util.iter_subsets("ab"))
      [(), ('a',), ('b',), ('a', 'b')]
    """
    return itertools.chain.from_iterable(
        itertools.combinations(s, count) for count in range(len(s) + 1)
    )


def iter_sparse_layouts(shape: Sequence[int], min_n_batch: int = 0) -> Iterator[SparseLayout]:
    """Yields the layouts of BCOO arrays of this shape with at least `min_n_batch` batch axes."""
    for n_batch in range(min_n_batch, len(shape) + 1):
        for n_dense in range(len(shape) + 1 - n_batch):
            yield SparseLayout(n_batch, n_dense, len(shape) - n_batch - n_dense)


def iter_bcsr_layouts(shape: Sequence[int], min_n_batch: int = 0) -> Iterator[SparseLayout]:
    """Yields the layouts of BCSR arrays of this shape, which have two sparse axes."""
    for layout in iter_sparse_layouts(shape, min_n_batch):
        if layout.n_sparse == 2:
            yield layout


# --- random arrays --------------------------------------------------------------------------------


def rand_default(rng: np.random.RandomState) -> Callable[..., np.ndarray]:
    """Returns a function of (shape, dtype) that draws normal samples of standard deviation 3."""

    def draw(shape: Sequence[int], dtype: DTypeLike) -> np.ndarray:
        kind = dtypes.dtype(dtype)
        values = _SCALE * rng.randn(*shape)
        if kind.kind == "c":
            values = values + 1j * (_SCALE * rng.randn(*shape))
        return np.asarray(values).astype(kind)

    return draw


def _entries(nse: float, size: int) -> int:
    """Returns a number of entries from `nse`, which is a number or a fraction of `size`."""
    return math.ceil(nse * size) if 0 < nse < 1 else int(nse)


def rand_sparse(
    rng: np.random.RandomState,
    nse: float = 0.5,
    post: Callable[[np.ndarray], T] = lambda x: x,
    rand_method: RandomMethod = rand_default,
) -> Callable[[Sequence[int], DTypeLike], T]:
    """Returns a function of (shape, dtype) that draws dense arrays with mostly zero elements.

    Args:
      rng: the generator.
      nse: number of nonzero elements or, if less than 1, their fraction.
      post: function applied to the arrays.
      rand_method: function that draws the elements.

    Example:
      >>> from jax.experimental.sparse import test_util
      >>> make = test_util.rand_sparse(np.random.RandomState(0), nse=3)
      >>> int((make((4, 5), "float32") != 0).sum())
      3
    """

    def draw(shape: Sequence[int], dtype: DTypeLike) -> T:
        x = np.array(rand_method(rng)(shape, dtype))
        kept = int(nse * x.size) if nse < 1 else int(nse)
        zeros = rng.choice(x.size, size=x.size - kept, replace=False)
        x.flat[zeros] = 0
        return post(x)

    return draw


def rand_bcoo(
    rng: np.random.RandomState,
    rand_method: RandomMethod = rand_default,
    nse: float = 0.5,
    n_batch: int = 0,
    n_dense: int = 0,
) -> Callable[[Sequence[int], DTypeLike], BCOO]:
    """Returns a function of (shape, dtype) that draws BCOO arrays; indices can be repeated.

    Args:
      rng: the generator.
      rand_method: function that draws the elements.
      nse: number of entries of each batch or, if less than 1, the fraction of its elements.
      n_batch, n_dense: numbers of batch and dense axes.
    """

    def draw(shape: Sequence[int], dtype: DTypeLike) -> BCOO:
        n_sparse = len(shape) - n_batch - n_dense
        if n_sparse < 0 or n_batch < 0 or n_dense < 0:
            raise ValueError(f"rand_bcoo: {n_batch=} and {n_dense=} are too many for {shape=}")
        batch, sparse, dense = _divided(shape, n_batch, n_sparse)
        count = _entries(nse, math.prod(sparse))
        data = rand_method(rng)((*batch, count, *dense), dtype)
        size = (*batch, count, n_sparse)
        indices = rng.randint(0, sparse, size=size, dtype=np.int32)
        return BCOO((as_value(data), as_value(indices)), shape=tuple(shape))

    return draw


def rand_bcsr(
    rng: np.random.RandomState,
    rand_method: RandomMethod = rand_default,
    nse: float = 0.5,
    n_batch: int = 0,
    n_dense: int = 0,
) -> Callable[[Sequence[int], DTypeLike], BCSR]:
    """Returns a function of (shape, dtype) that draws BCSR arrays; see `rand_bcoo`."""

    def draw(shape: Sequence[int], dtype: DTypeLike) -> BCSR:
        n_sparse = len(shape) - n_batch - n_dense
        if n_sparse != 2:
            raise ValueError(f"rand_bcsr: BCSR arrays must have 2 sparse axes, but got {n_sparse}")
        batch, (rows, columns), dense = _divided(shape, n_batch, n_sparse)
        count = _entries(nse, rows * columns)
        data = rand_method(rng)((*batch, count, *dense), dtype)
        indices = rng.randint(0, columns, size=(*batch, count), dtype=np.int32)
        starts = rng.randint(0, count + 1, size=(*batch, rows + 1), dtype=np.int32)
        indptr = np.sort(starts, axis=-1)
        indptr[..., 0] = 0
        arrays = as_value(data), as_value(indices), as_value(indptr)
        return BCSR(arrays, shape=tuple(shape))

    return draw


def _divided(
    shape: Sequence[int], n_batch: int, n_sparse: int
) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Splits a shape into batch, sparse and dense sizes."""
    end = n_batch + n_sparse
    return shape[:n_batch], shape[n_batch:end], shape[end:]


# --- comparisons ----------------------------------------------------------------------------------


def _dense(tree: PyTree) -> Any:
    """Returns the pytree with sparse arrays converted to dense ones."""
    return pytrees.tree_map(lambda x: x.todense() if is_sparse(x) else x, tree, is_leaf=is_sparse)


class SparseTestCase(unittest.TestCase):
    """A test case with assertions about sparse arrays and about functions of them."""

    def rng(self) -> np.random.RandomState:
        """Returns a generator seeded by the name of the test."""
        return np.random.RandomState(sum(map(ord, self.id())))

    def assertSparseArraysEquivalent(
        self,
        x: JAXSparse,
        y: JAXSparse,
        *,
        check_dtypes: bool = True,
        atol: float | None = None,
        rtol: float | None = None,
        canonicalize_dtypes: bool = True,
        err_msg: str = "",
    ) -> None:
        """Asserts that sparse arrays have the same structure, and equal entries in the same order.

        Args:
          x, y: arrays to be compared.
          check_dtypes: whether dtypes must be equal.
          atol, rtol: tolerances of elements; by default the tolerances for the dtype.
          canonicalize_dtypes: whether 64-bit dtypes are canonicalized before the comparison.
          err_msg: text included in the error message.
        """
        self.assertEqual(pytrees.tree_structure(x), pytrees.tree_structure(y), err_msg or None)
        for a, b in zip(pytrees.tree_leaves(x), pytrees.tree_leaves(y), strict=True):
            self._assert_close(a, b, check_dtypes, canonicalize_dtypes, atol, rtol, err_msg)

    def _assert_close(
        self,
        x: ArrayLike,
        y: ArrayLike,
        check_dtypes: bool = True,
        canonicalize_dtypes: bool = True,
        atol: float | None = None,
        rtol: float | None = None,
        err_msg: str = "",
    ) -> None:
        a, b = np.asarray(x), np.asarray(y)
        if check_dtypes:
            kinds = a.dtype, b.dtype
            if canonicalize_dtypes:
                kinds = tuple(map(dtypes.canonicalize_dtype, kinds))
            self.assertEqual(kinds[0], kinds[1], err_msg or None)
        tolerance = _tolerance(a.dtype, b.dtype)
        np.testing.assert_allclose(
            a, b,
            atol=tolerance if atol is None else atol, rtol=tolerance if rtol is None else rtol,
            err_msg=err_msg,
        )  # fmt: skip

    def _CheckAgainstDense(
        self,
        dense_op: Callable[..., Any],
        sparse_op: Callable[..., Any],
        args_maker: Callable[[], Sequence[Any]],
        check_jit: bool = True,
        check_dtypes: bool = True,
        tol: float | None = None,
        atol: float | None = None,
        rtol: float | None = None,
        canonicalize_dtypes: bool = True,
    ) -> None:
        """Asserts that `sparse_op` returns the same as `dense_op` for dense operands."""
        args = args_maker()
        want = dense_op(*_dense(tuple(args)))
        for op in (sparse_op, jit(sparse_op)) if check_jit else (sparse_op,):
            self._assert_trees_close(
                _dense(op(*args)), want, check_dtypes, canonicalize_dtypes, atol or tol, rtol or tol
            )

    def _CheckGradsSparse(
        self,
        dense_fun: Callable[..., Any],
        sparse_fun: Callable[..., Any],
        args_maker: Callable[[], Sequence[Any]],
        *,
        argnums: int | Sequence[int] | None = None,
        modes: Sequence[str] = ("fwd", "rev"),
        atol: float | None = None,
        rtol: float | None = None,
    ) -> None:
        """Asserts that both functions have equal derivatives with respect to stored elements."""
        args = tuple(args_maker())
        chosen = range(len(args)) if argnums is None else np.atleast_1d(argnums)
        leaves, tree = pytrees.tree_flatten([args[k] for k in chosen])
        by = [k for k, x in enumerate(leaves) if np.issubdtype(np.asarray(x).dtype, np.inexact)]

        def of_entries(
            fun: Callable[..., Any], as_operand: Callable[..., Any]
        ) -> Callable[..., object]:
            def f(*entries: ArrayLike) -> object:
                values = list(leaves)
                for k, x in zip(by, entries, strict=True):
                    values[k] = x
                full = list(args)
                for k, x in zip(chosen, pytrees.tree_unflatten(tree, values), strict=True):
                    full[k] = x
                return _dense(fun(*as_operand(tuple(full))))

            return f

        for mode in modes:
            derivative = jacfwd if mode == "fwd" else jacrev
            numbers = tuple(range(len(by)))
            entries = [leaves[k] for k in by]
            got = derivative(of_entries(sparse_fun, lambda x: x), numbers)(*entries)
            want = derivative(of_entries(dense_fun, _dense), numbers)(*entries)
            self._assert_trees_close(got, want, True, True, atol, rtol)

    def _assert_trees_close(
        self,
        got: PyTree,
        want: PyTree,
        check_dtypes: bool,
        canonicalize_dtypes: bool,
        atol: float | None,
        rtol: float | None,
    ) -> None:
        self.assertEqual(pytrees.tree_structure(got), pytrees.tree_structure(want))
        for x, y in zip(pytrees.tree_leaves(got), pytrees.tree_leaves(want), strict=True):
            self._assert_close(x, y, check_dtypes, canonicalize_dtypes, atol, rtol)


def _tolerance(*kinds: np.dtype[Any]) -> float:
    """Returns the largest of the tolerances for the dtypes of the elements."""
    by_bytes = {2: 1e-2, 4: 1e-6, 8: 1e-15}
    parts = [
        kind.itemsize // (2 if kind.kind == "c" else 1) for kind in kinds if kind.kind in "fcV"
    ]
    return max([by_bytes.get(part, 1e-1) for part in parts], default=0.0)
