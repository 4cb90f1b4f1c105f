"""Factorisations and triangular systems by LAPACK, which programs call by address.

`runtime/native/factorize.h` has a function for each, which computes a range of a batch of matrices.
Their reference implementation is `numerics/linalg.py`. LAPACK is SciPy's, by the addresses that it
exports for Cython.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from jitney.compiler import blas
from jitney.compiler.parallel import PARALLEL_ABOVE
from jitney.compiler.reference import linalg
from jitney.core.record import record

Array: TypeAlias = np.ndarray
Reference: TypeAlias = Callable[..., Sequence[Array]]

DTYPES = tuple(np.dtype(c) for c in "fdFD")  # in the order of those of `factorize.h`
_PREFIXES = "sdcz"
# In the order of `factorize.h`; of complex numbers, LAPACK calls some of them otherwise.
_ROUTINES = ("potrf", "getrf", "geqrf", "orgqr", "syevd", "gesdd", "trsm")
_OF_COMPLEX = {"orgqr": "ungqr", "syevd": "heevd"}

# LAPACK counts elements, and the room that it works in, in 32 bits.
MAX_ELEMENTS = 2**28

# Work of one call beside that on elements.
_CALL = 5_000


@record(frozen=True)
class Routine:
    """What is called: the same for all matrices of a batch.

    Attributes:
      name: a key of FUNCTIONS.
      sizes: of the matrices, and options, as `factorize.h` says.
    """

    name: str
    sizes: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.sizes))})"

    def work(self) -> int:
        """Operations for one matrix, about."""
        weight, rank = FUNCTIONS[self.name].weight, FUNCTIONS[self.name].rank
        sizes = self.sizes[:2] if rank == 2 else self.sizes[:1] * 2
        return _CALL + int(weight * math.prod(sizes) * min(sizes))

    def evaluate(self, *operands: Array) -> Sequence[Array]:
        """The results by the reference implementation."""
        return FUNCTIONS[self.name].reference(self.sizes, *operands)


@record(frozen=True)
class _Function:
    """A function of `factorize.h`.

    Attributes:
      reference: of sizes and operands.
      weight: operations by those of as many products.
      rank: how many of the sizes are lengths of axes.
    """

    reference: Reference
    weight: float
    rank: int = 2


def _triangular_solve(sizes: Sequence[int], a: Array, b: Array) -> list[Array]:
    _, _, left, lower, trans, unit = sizes
    return [
        linalg.triangular_solve(a, b, bool(left), bool(lower), trans > 0, trans > 1, bool(unit))
    ]


# In the order of `factorize.h`.
FUNCTIONS: dict[str, _Function] = {
    "cholesky": _Function(lambda s, x: [linalg.cholesky(x)], 0.5, 1),
    "lu": _Function(lambda s, x: linalg.lu(x), 1),
    "geqrf": _Function(lambda s, x: linalg.geqrf(x), 2),
    "householder_product": _Function(lambda s, x, t: [linalg.householder_product(x, t)], 2),
    "qr": _Function(lambda s, x: linalg.qr(x, full_matrices=s[2] == s[0]), 4),
    "eigh": _Function(lambda s, x: linalg.eigh(x, bool(s[1])), 15, 1),
    "svd": _Function(lambda s, x: linalg.svd(x, s[2:] == s[:2], s[2] >= 0), 20),
    "triangular_solve": _Function(_triangular_solve, 1),
}
_NUMBERS = {name: k for k, name in enumerate(FUNCTIONS)}


def is_native(dtype: np.dtype, *shapes: tuple[int, ...]) -> bool:
    """Whether matrices of `dtype` are computed by native code: wider ones hold narrow ones, too."""
    sizes = [math.prod(shape[-2:]) for shape in shapes]
    return dtype in DTYPES and max(sizes) <= MAX_ELEMENTS and _native.call is not None


# --- the native functions -------------------------------------------------------------------------


class _Native:
    """What the runtime has.

    Attributes:
      addresses: of the functions by name and dtype's number.
      enter: enters the address of a routine: (dtype's number, routine's number, address).
      call: runs a function on arrays: (function's number, dtype's number, arrays, batch, grain, alone).
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
    """Enters the addresses of LAPACK's routines: SciPy's extension module is loaded for them."""
    if not _native.is_linked:
        assert _native.enter is not None
        exported = {**blas.exported("cython_blas"), **blas.exported("cython_lapack")}
        for i, prefix in enumerate(_PREFIXES):
            for k, routine in enumerate(_ROUTINES):
                name = prefix + (_OF_COMPLEX.get(routine, routine) if prefix in "cz" else routine)
                _native.enter(i, k, blas.capsule_address(exported[name]))
        blas.one_thread.find_in(blas.SCIPYS)
        _native.is_linked = True


def function(name: str, dtype: np.dtype) -> int:
    """Address of the native function `name` for matrices of `dtype`."""
    assert _native.addresses is not None
    _link()
    return _native.addresses(_NUMBERS[name], DTYPES.index(dtype))


def symbol(name: str, dtype: np.dtype) -> str:
    """The name by which programs call the native function `name` for matrices of `dtype`."""
    return f"lapack.{name}.{dtype.name}"


def find(symbol: str) -> int:
    """Address of the native function of that symbol; 0 if it is none of these."""
    library, _, rest = symbol.partition(".")
    if library != "lapack":
        return 0
    name, _, dtype = rest.partition(".")
    return function(name, np.dtype(dtype))


def grain(routine: Routine) -> int:
    """How many matrices of a batch are enough for a thread."""
    return max(PARALLEL_ABOVE // (2 * routine.work()), 1)


def keeps_to_one_thread(routine: Routine, batch: int) -> bool:
    """Whether LAPACK does; a batch is divided among threads of the runtime's."""
    return batch > 1 or routine.work() < blas.THREADS_ABOVE


def run(
    routine: Routine, operands: Sequence[Array], types: Sequence[tuple[tuple[int, ...], np.dtype]]
) -> list[Array]:
    """Results on operands of one dtype that native code has.

    Args:
      routine: what to call.
      operands: arrays with equal batch axes.
      types: shape and dtype of each result.
    """
    assert _native.call is not None
    _link()
    held = [np.ascontiguousarray(x) for x in operands]
    results = [np.empty(shape, dtype) for shape, dtype in types]
    batch = math.prod(held[0].shape[:-2])
    arrays = (np.array(routine.sizes, np.int64), *held, *results)
    which, dtype = _NUMBERS[routine.name], DTYPES.index(held[0].dtype)
    _native.call(which, dtype, arrays, batch, grain(routine), keeps_to_one_thread(routine, batch))
    return results
