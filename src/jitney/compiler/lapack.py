"""Declares library functions for factorizations and triangular systems, in native code.

`runtime/native/factorize.h` contains a function for each, which computes a range of a batch of
matrices, either with LAPACK or with jitney's own code on top of BLAS. The reference implementations
are in `reference/linalg.py`. LAPACK is SciPy's, called by the addresses that SciPy exports to
Cython; its threads are used for large matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from jitney.compiler import blas, library
from jitney.compiler.library import LibraryFunction, NativeCode, Param, Routine
from jitney.compiler.reference import linalg
from jitney.compiler.tensor_type import TensorType

Array: TypeAlias = np.ndarray
Results: TypeAlias = Sequence[TensorType]

DTYPES = tuple(np.dtype(c) for c in "fdFD")  # in the order of `factorize.h`
REAL = DTYPES[:2]
_LANES = 16  # lanes of the longest vectors, and matrices computed in them together
_PREFIXES = "sdcz"
# In the order of `factorize.h`; some have other names for complex matrices.
_ROUTINES = ("potrf", "getrf", "geqrf", "orgqr", "syevd", "gesdd", "trsm", "gemm", "syrk",
             "ormqr", "gehrd", "sytrd", "gees", "geev")  # fmt: skip
_PRODUCTS = ("trsm", "gemm", "syrk")  # routines of BLAS, possibly MKL's
_OF_COMPLEX = {"orgqr": "ungqr", "syevd": "heevd", "ormqr": "unmqr", "sytrd": "hetrd"}

# LAPACK counts elements, and the size of its workspace, in 32-bit integers.
MAX_ELEMENTS = 2**28

_INT32 = np.dtype(np.int32)


def is_native(dtype: np.dtype, *shapes: tuple[int, ...]) -> bool:
    """Returns whether native code supports matrices of `dtype` and these shapes.

    Narrower dtypes are not supported; they can be converted to one of `DTYPES` without loss.
    """
    sizes = [math.prod(shape[-2:]) for shape in shapes]
    return dtype in DTYPES and max(sizes) <= MAX_ELEMENTS and _native.call is not None


# --- the functions --------------------------------------------------------------------------------

NAMES: list[str] = []  # in the order of `factorize.h`
OPTIONS: dict[str, tuple[str, ...]] = {}  # names of the parameters of each function


def _declare(
    name: str,
    options: str,
    result_types: Callable[..., Results],
    reference: library.Implementation,
    weight: float,
    operations: Callable[..., float],
    rank: int = 2,
    divides: Sequence[np.dtype] = (),
    lanes: int = 0,
    first: int = 2,
) -> None:
    """Declares the next function of `factorize.h`.

    Args:
      name: its name without prefix.
      options: the names of its parameters in the order of its options; the sizes of a matrix come
        first.
      result_types, reference: as in `LibraryFunction`.
      weight: the ratio of the work in operations, including LAPACK's overhead, to n**3 for n x n
        matrices and to m n min(m, n) for m x n matrices; see `rank` for an exception.
      operations: the floating-point operations for a real matrix, as a function of the parameters.
      rank: the number of parameters that are axis sizes; 0 if the work is proportional to the
        product of the first two only.
      divides: the dtypes for which threads share the work of a single matrix.
      lanes: the maximum number of rows and columns of real matrices of which several are computed
        together, in the lanes of vectors.
      first: the rank of the first operand without its batch axes.
    """
    NAMES.append(name)
    OPTIONS[name] = tuple(options.split())
    sizes = OPTIONS[name][: rank or 2]

    def computes(*types: TensorType, **params: Param) -> bool:
        same = all(t.dtype == types[0].dtype for t in types)
        return same and is_native(types[0].dtype, *[t.shape for t in types])

    def options_of(**params: int) -> list[int]:
        return [int(params[option]) for option in OPTIONS[name]]

    def work(*types: TensorType, **params: int) -> int:
        from jitney.compiler.cost import COSTS  # late: importing jitney does not need it

        lengths = [params[size] for size in sizes] * (3 - rank if rank else 1)
        operations = int(weight * math.prod(lengths) * (min(lengths) if rank else 1))
        if types[0].dtype in REAL and max(lengths) <= lanes:
            return operations // _LANES + 1
        return COSTS.library_call + operations

    native = NativeCode(
        lambda dtype: function(name, dtype), computes, options_of, first, uses_blas=True,
        divides=frozenset(divides), together=_LANES if lanes else 1,
    )  # fmt: skip

    def counted(*types: TensorType, **params: int) -> float:
        batch = math.prod(types[0].shape[: types[0].rank - first])
        # A complex multiply-add counts as four real ones.
        return batch * operations(**params) * (1 if types[0].dtype in REAL else 4)

    library.declare(
        LibraryFunction(
            f"lapack.{name}", result_types, reference, native, work, counted, item_rank=first
        )
    )


def routine(name: str, *options: int) -> Routine:
    """Returns the library function `name` with the values of its parameters, in order."""
    params = zip(OPTIONS[name], map(int, options), strict=True)
    return library.routine(f"lapack.{name}", **dict(params))


def fill_lanes(shape: Sequence[int]) -> bool:
    """Returns whether a batch of small matrices of `shape` is computed in the lanes of vectors.

    A single matrix would fill only one lane, so LAPACK computes it. Its eigenvectors and singular
    vectors then have LAPACK's signs, and samplers that use them draw the same values as JAX.
    """
    return math.prod(shape[:-2]) != 1


def _matrices(x: TensorType, *shape: int) -> TensorType:
    """Returns the type of `x` with its matrix axes replaced by `shape`."""
    return TensorType((*x.shape[:-2], *shape), x.dtype)


def _real(x: TensorType) -> TensorType:
    return TensorType(x.shape, linalg.real_dtype(x.dtype))


def _of_dtype(x: TensorType, dtype: np.dtype) -> TensorType:
    return TensorType(x.shape, dtype)


def _cholesky_types(x: TensorType, n: int) -> Results:
    return [x]


def _cholesky(x: Array, n: int) -> list[Array]:
    return [linalg.cholesky(x)]


def _lu_types(x: TensorType, m: int, n: int) -> Results:
    return [x, *[_of_dtype(_matrices(x, k), _INT32) for k in (min(m, n), m)]]


def _lu(x: Array, m: int, n: int) -> list[Array]:
    return linalg.lu(x)


def _geqrf_types(x: TensorType, m: int, n: int) -> Results:
    return [x, _matrices(x, min(m, n))]


def _geqrf(x: Array, m: int, n: int) -> list[Array]:
    return linalg.geqrf(x)


def _householder_types(x: TensorType, taus: TensorType, m: int, n: int, k: int) -> Results:
    return [x]


def _householder_product(x: Array, taus: Array, m: int, n: int, k: int) -> list[Array]:
    return [linalg.householder_product(x, taus)]


def _qr_types(x: TensorType, m: int, n: int, columns: int) -> Results:
    return [_matrices(x, m, columns), _matrices(x, columns, n)]


def _qr(x: Array, m: int, n: int, columns: int) -> list[Array]:
    return linalg.qr(x, full_matrices=columns == m)


def _eigh_types(x: TensorType, n: int, lower: int, lanes: int) -> Results:
    return [x, _real(_matrices(x, n))]


def _eigh(x: Array, n: int, lower: int, lanes: int) -> list[Array]:
    return linalg.eigh(x, bool(lower))


def _svd_types(x: TensorType, m: int, n: int, rows: int, columns: int, lanes: int) -> Results:
    values = _real(_matrices(x, min(m, n)))
    return [values] if rows < 0 else [values, _matrices(x, m, rows), _matrices(x, columns, n)]


def _svd(x: Array, m: int, n: int, rows: int, columns: int, lanes: int) -> list[Array]:
    return linalg.svd(x, full_matrices=(rows, columns) == (m, n), compute_uv=rows >= 0)


def _solution_types(
    a: TensorType, b: TensorType, m: int, n: int, left: int, lower: int, form: int, unit: int
) -> Results:
    return [b]


def _triangular_solve(
    a: Array, b: Array, m: int, n: int, left: int, lower: int, form: int, unit: int
) -> list[Array]:
    return [linalg.triangular_solve(a, b, bool(left), bool(lower), form > 0, form > 1, bool(unit))]


def _ormqr_types(
    a: TensorType, taus: TensorType, c: TensorType, m: int, n: int, columns: int, k: int, left: int,
    transpose: int,
) -> Results:  # fmt: skip
    return [c]


def _ormqr(
    a: Array, taus: Array, c: Array, m: int, n: int, columns: int, k: int, left: int, transpose: int
) -> list[Array]:
    return [linalg.ormqr(a, taus, c, bool(left), bool(transpose))]


def _hessenberg_types(x: TensorType, n: int) -> Results:
    return [x, _matrices(x, max(n - 1, 0))]


def _hessenberg(x: Array, n: int) -> list[Array]:
    return linalg.hessenberg(x)


def _tridiagonal_types(x: TensorType, n: int, lower: int) -> Results:
    return [x, _real(_matrices(x, n)), _real(_matrices(x, n - 1)), _matrices(x, n - 1)]


def _tridiagonal(x: Array, n: int, lower: int) -> list[Array]:
    return linalg.tridiagonal(x, bool(lower))


def _schur_types(x: TensorType, n: int, vectors: int) -> Results:
    return [x, x] if vectors else [x]


def _schur(x: Array, n: int, vectors: int) -> list[Array]:
    return linalg.schur(x, bool(vectors))


def _eig_types(x: TensorType, n: int, left: int, right: int) -> Results:
    vectors = _of_dtype(x, linalg.complex_dtype(x.dtype))
    return [_matrices(vectors, n), *[vectors] * (left + right)]


def _eig(x: Array, n: int, left: int, right: int) -> list[Array]:
    return linalg.eig(x, bool(left), bool(right))


def _tridiagonal_solve_types(
    dl: TensorType,
    d: TensorType,
    du: TensorType,
    b: TensorType,
    n: int,
    columns: int,
    perturbed: int,
) -> Results:
    return [b]


def _tridiagonal_solve(
    dl: Array, d: Array, du: Array, b: Array, n: int, columns: int, perturbed: int
) -> list[Array]:
    return [linalg.tridiagonal_solve(dl, d, du, b, bool(perturbed))]


def _cholesky_update_types(r: TensorType, w: TensorType, n: int) -> Results:
    return [r]


def _cholesky_update(r: Array, w: Array, n: int) -> list[Array]:
    return [linalg.cholesky_update(r, w)]


# --- operations: Golub and Van Loan, Matrix Computations, fourth edition --------------------------


def _cholesky_operations(n: int) -> float:
    return n**3 / 3


def _lu_operations(m: int, n: int) -> float:
    least, most = sorted((m, n))
    return most * least**2 - least**3 / 3


def _geqrf_operations(m: int, n: int) -> float:
    least, most = sorted((m, n))
    return 2 * least**2 * (most - least / 3)


def _householder_operations(m: int, n: int, k: int) -> float:
    return 4 * m * n * k - 2 * (m + n) * k**2 + 4 * k**3 / 3


def _qr_operations(m: int, n: int, columns: int) -> float:
    return _geqrf_operations(m, n) + _householder_operations(m, columns, min(m, n))


def _eigh_operations(n: int, **_: int) -> float:
    return 9 * n**3


def _svd_operations(m: int, n: int, rows: int, **_: int) -> float:
    least, most = sorted((m, n))
    if rows < 0:
        return 4 * most * least**2 - 4 * least**3 / 3
    if rows == least:
        return 14 * most * least**2 + 8 * least**3
    return 4 * most**2 * least + 8 * most * least**2 + 9 * least**3


def _triangular_operations(m: int, n: int, left: int, **_: int) -> float:
    return m * n * (m if left else n)


def _ormqr_operations(m: int, n: int, k: int, left: int, **_: int) -> float:
    along, across = (m, n) if left else (n, m)
    return 4 * along * across * k - 2 * across * k**2


def _hessenberg_operations(n: int) -> float:
    return 10 * n**3 / 3


def _tridiagonal_operations(n: int, lower: int) -> float:
    return 4 * n**3 / 3


def _tridiagonal_solve_operations(n: int, columns: int, perturbed: int) -> float:
    return n * (3 + 5 * columns)


def _cholesky_update_operations(n: int) -> float:
    return 3 * n**2


def _schur_operations(n: int, vectors: int) -> float:
    return (25 if vectors else 10) * n**3


def _eig_operations(n: int, left: int, right: int) -> float:
    return (25 if left or right else 10) * n**3


_declare("cholesky", "n", _cholesky_types, _cholesky, 0.5, _cholesky_operations, 1, divides=REAL)
_declare("lu", "m n", _lu_types, _lu, 1, _lu_operations, divides=REAL)
_declare("geqrf", "m n", _geqrf_types, _geqrf, 2, _geqrf_operations)
_declare(
    "householder_product", "m n k", _householder_types, _householder_product, 2,
    _householder_operations,
)  # fmt: skip
_declare("qr", "m n columns", _qr_types, _qr, 4, _qr_operations, lanes=16)
_declare("eigh", "n lower lanes", _eigh_types, _eigh, 15, _eigh_operations, 1, lanes=16)
_declare("svd", "m n rows columns lanes", _svd_types, _svd, 20, _svd_operations, lanes=16)
_declare(
    "triangular_solve", "m n left lower form unit", _solution_types, _triangular_solve, 1,
    _triangular_operations,
)  # fmt: skip
_declare("ormqr", "m n columns k left transpose", _ormqr_types, _ormqr, 4, _ormqr_operations)
_declare("hessenberg", "n", _hessenberg_types, _hessenberg, 4, _hessenberg_operations, 1)
_declare("tridiagonal", "n lower", _tridiagonal_types, _tridiagonal, 2, _tridiagonal_operations, 1)
_declare("schur", "n vectors", _schur_types, _schur, 30, _schur_operations, 1)
_declare("eig", "n left right", _eig_types, _eig, 30, _eig_operations, 1)
_declare(
    "tridiagonal_solve", "n columns perturbed", _tridiagonal_solve_types, _tridiagonal_solve, 8,
    _tridiagonal_solve_operations, 0, first=1,
)  # fmt: skip
_declare(
    "cholesky_update", "n", _cholesky_update_types, _cholesky_update, 3,
    _cholesky_update_operations, 1,
)  # fmt: skip


# --- the native functions -------------------------------------------------------------------------


class _Native:
    """The functions of the runtime; they are None until `use_native` sets them.

    Attributes:
      addresses: returns the address of a native function, given the indices of its name and dtype.
      enter: registers a LAPACK routine: (index of dtype, index of routine, address).
      call: runs a native function on arrays; the arguments are the address of the function, the
        arrays, the batch, the grain, and whether BLAS is restricted to one thread.
    """

    addresses: Callable[[int, int], int] | None = None
    enter: Callable[[int, int, int], None] | None = None
    call: Callable[..., None] | None = None
    is_linked = False


_native = _Native()


def use_native(
    addresses: Callable[[int, int], int],
    enter: Callable[[int, int, int], None],
    call: Callable[..., None],
) -> None:
    """Sets the native functions; see `_Native`."""
    _native.addresses, _native.enter, _native.call = addresses, enter, call


def _link() -> None:
    """Registers the addresses of LAPACK's routines, which SciPy's extension modules contain."""
    if not _native.is_linked:
        assert _native.enter is not None
        exported = {**blas.exported("cython_blas"), **blas.exported("cython_lapack")}
        for i, prefix in enumerate(_PREFIXES):
            for k, routine in enumerate(_ROUTINES):
                name = prefix + (_OF_COMPLEX.get(routine, routine) if prefix in "cz" else routine)
                mkl_address = blas.of_mkl(name) if routine in _PRODUCTS else 0
                _native.enter(i, k, mkl_address or blas.capsule_address(exported[name]))
        blas.one_thread.find_in(blas.SCIPYS)
        _native.is_linked = True


def function(name: str, dtype: np.dtype) -> int:
    """Returns the address of the native function `name` for matrices of `dtype`."""
    assert _native.addresses is not None
    _link()
    return _native.addresses(NAMES.index(name), DTYPES.index(dtype))


def run(routine: Routine, operands: Sequence[Array]) -> list[Array]:
    """Runs a native function on operands of the same supported dtype, and returns its results.

    Args:
      routine: the function to call.
      operands: arrays with equal batch axes.
    """
    assert _native.call is not None
    _link()
    held = [np.ascontiguousarray(x) for x in operands]
    types = tuple([TensorType(x.shape, x.dtype) for x in held])
    results = library.result_types(routine, types)
    native = library.native_call(library.Call(routine, types, results))
    assert native is not None, routine
    out = [np.empty(t.shape, t.dtype) for t in results]
    _native.call(
        library.address(native.symbol), (native.options, *held, *out),
        native.batch, native.grain, native.keeps_to_one_thread,
    )  # fmt: skip
    return out
