"""Declares three library functions for Fourier transforms, implemented in native code.

`runtime/native/fourier.h` contains and describes them; they support any length. This module
determines their options and constants, and chooses between them:

    many lines, not too long        `fourier.lines`: one line per vector lane
    few lines, or long ones         each line is a matrix, n = n1 n2: transforms of its columns,
                                    twiddle factors, transforms of its rows (Bailey 1990), half
                                    of them for real elements
      along the last axis           `fourier.matrices`: line by line
      along another axis, or a      `fourier.lines` twice: columns and rows are divided among
      few very long lines           threads
    a large prime factor            a convolution with a chirp (Bluestein 1970), by `fourier.lines`;
                                    few or long lines by `fourier.chirps`, each as a matrix

Results with infinities and overflows are those of pocketfft if lines are not treated as matrices,
and for lengths up to `COSTS.exact_transform` if they are. All choices depend on sizes only, so
results do not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from jitney.compiler import library
from jitney.compiler.cost import COSTS
from jitney.compiler.fourier_jobs import (
    OF_COMPLEX,
    OF_REAL,
    TILE,
    TO_REAL,
    Job,
    columns_of,
    split,
    values,
)
from jitney.compiler.library import LibraryFunction, NativeCode, Param
from jitney.compiler.tensor_type import TensorType
from jitney.core.util.record import fields, record, replace

if TYPE_CHECKING:
    from jitney.compiler.scalar_functions.declaration import ComplexArray

_LEVEL = 2  # the highest instruction set level
_TYPES = {np.dtype(np.float32): 0, np.dtype(np.float64): 1}


@record
class FourierCall:
    """A call of one of the library functions.

    Attributes:
      routine: the function with its parameters.
      constants: the constant operands, which follow the operands to transform.
    """

    routine: library.Routine
    constants: list[np.ndarray]


def calls(
    kind: int, shape: Sequence[int], dim: int, n: int, dtype: np.dtype, *, inverse: bool,
    divisor: int, planes: tuple[bool, bool],
) -> list[FourierCall]:  # fmt: skip
    """Returns the one or two calls that compute a transform along axis `dim`.

    Args:
      kind: `OF_COMPLEX`, `OF_REAL` or `TO_REAL`.
      shape: the shape of the array.
      dim: the transformed axis.
      n: the size of that axis; for transforms of or to real elements, its size in the real array.
      dtype: the dtype of the real and imaginary parts.
      inverse: whether the kernel is exp(+2 pi i j k / n), as it is for transforms to real elements.
      divisor: the number by which results are divided.
      planes: whether real and imaginary parts are separate arrays in the operand, and in the
        result.
    """
    before, after = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
    lines = before * after
    of_planes, to_planes = map(int, planes)
    whole = Job(kind, lines, n, of_planes, to_planes, after, after, int(inverse), divisor)
    few = lines < TILE // dtype.itemsize // 2
    if whole.chirped > (COSTS.transform_alone if few else COSTS.transform_line):
        return [_chirps(whole, dtype)]
    first = columns_of(n, kind == OF_COMPLEX, few)
    if not first:
        return [_lines(whole, dtype)]
    is_shared = before * n >= COSTS.shared_transform and before < COSTS.shared_lines
    if after == 1 and not is_shared:
        return [_matrices(whole, *_as_matrices(whole, first, 1, 1), dtype)]
    return [_lines(job, dtype) for job in _as_matrices(whole, first, before, after)]


def _as_matrices(job: Job, first: int, before: int, after: int) -> tuple[Job, Job]:
    """Returns the jobs for the columns and for the rows of lines that are treated as matrices.

    A line has n = `first` times n2 elements. For transforms to real elements, the job for the rows
    comes first.
    """
    second, rows = job.n // first, first // 2 + 1
    lines = before * after
    columns = replace(
        job, lines=lines * second, n=first, after_from=after * second, after_to=after * second
    )
    if job.kind == OF_COMPLEX:
        return (
            replace(columns, planes_to=1, divisor=1, beside=after, width=second),
            replace(job, lines=lines * first, n=second, planes_from=1, after_to=after * first),
        )
    of_rows = replace(job, kind=OF_COMPLEX, lines=lines * rows, n=second, columns=first, rows=rows)
    if job.kind == OF_REAL:
        return replace(columns, planes_to=1, beside=after, width=second), replace(
            of_rows, planes_from=1
        )
    return (
        replace(of_rows, planes_to=1, divisor=1, beside=after, width=rows),
        replace(columns, planes_from=1),
    )


def _lines(job: Job, dtype: np.dtype) -> FourierCall:
    tiles = -(-job.lines // (TILE // dtype.itemsize))
    items = max(min(COSTS.transform_items, COSTS.transform_bytes // job.room), 1)
    params = dict(zip(fields(Job), values(job), strict=True))
    routine = library.routine("fourier.lines", **params, tiles=-(-tiles // items))
    return FourierCall(routine, job.constants(dtype))


def _matrices(whole: Job, first: Job, second: Job, dtype: np.dtype) -> FourierCall:
    items = max(min(COSTS.transform_items, COSTS.transform_bytes // _room(first, second, dtype)), 1)
    routine = library.routine(
        "fourier.matrices", lines=whole.lines, in_item=-(-whole.lines // items), first=values(first),
        second=values(second), room=_room(first, second, dtype),
    )  # fmt: skip
    return FourierCall(routine, [*first.constants(dtype), *second.constants(dtype)])


def _chirps(line: Job, dtype: np.dtype) -> FourierCall:
    size = line.chirped
    whole = Job(OF_COMPLEX, 1, size, 0, 0, 1, 1, 0, 1)
    first, second = _as_matrices(whole, split(size), 1, 1)
    of_line = 3 * 2 * (size // TILE + 1) * TILE * dtype.itemsize
    room = of_line + _room(first, second, dtype)
    items = max(min(COSTS.transform_items, COSTS.transform_bytes // room), 1)
    routine = library.routine(
        "fourier.chirps", in_item=-(-line.lines // items), line=values(line), first=values(first),
        second=values(second), room=room,
    )  # fmt: skip
    constants = [x for job in (line, first, second) for x in job.constants(dtype)]
    return FourierCall(routine, constants)


def _between(first: Job) -> int:
    """Returns the distance in elements between the real and imaginary parts of `first`'s result.

    It is a multiple of `TILE`.
    """
    return -(-first.numbers_to // TILE) * TILE


def _room(first: Job, second: Job, dtype: np.dtype) -> int:
    """Returns the workspace of an item in bytes."""
    return 2 * _between(first) * dtype.itemsize + max(first.room, second.room)


def has_native() -> bool:
    """Returns whether the runtime has machine code for these functions."""
    return _Native.address is not None


# --- declarations of the library functions ---------------------------------------------------------


def _part(x: TensorType) -> np.dtype:
    """Returns the dtype of the real and imaginary parts."""
    return _part_dtype(x.dtype)


def _part_dtype(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _types(job: Job, lines: int, x: TensorType) -> list[TensorType]:
    """Returns the result types of a job that is repeated `lines` times."""
    part, shape = _part(x), (lines * job.numbers_to,)
    if job.kind == TO_REAL:
        return [TensorType(shape, part)]
    if job.is_split_to:
        return [TensorType(shape, part)] * 2
    return [TensorType(shape, np.result_type(part, np.complex64))]


class _OfLines:
    """`fourier.lines`; parameters: the fields of a job, and the number of tiles per item."""

    @staticmethod
    def job(params: dict[str, Any]) -> Job:
        return Job(**{name: params[name] for name in fields(Job)})

    @staticmethod
    def types(x: TensorType, *others: TensorType, **params: Any) -> list[TensorType]:
        return _types(_OfLines.job(params), 1, x)

    @staticmethod
    def in_item(x: TensorType, params: dict[str, Any]) -> int:
        return params["tiles"] * (TILE // _part(x).itemsize)

    @staticmethod
    def items(x: TensorType, *others: TensorType, **params: Any) -> int:
        return -(-params["lines"] // _OfLines.in_item(x, params))

    @staticmethod
    def work(x: TensorType, *others: TensorType, **params: Any) -> int:
        lines = min(_OfLines.in_item(x, params), params["lines"])
        return max(lines * _OfLines.job(params).line_work, 1)

    @staticmethod
    def operations(*types: TensorType, **params: Any) -> float:
        return _OfLines.job(params).operations

    @staticmethod
    def room(*types: TensorType, **params: Any) -> int:
        return _OfLines.job(params).room

    @staticmethod
    def options(**params: Any) -> list[int]:
        return _OfLines.job(params).options(params["tiles"])

    @staticmethod
    def reference(*arrays: np.ndarray, **params: Any) -> list[np.ndarray]:
        return _done(_OfLines.job(params), arrays)


def _jobs(params: dict[str, Any]) -> tuple[Job, Job]:
    return Job(*params["first"]), Job(*params["second"])


def _room_of(*types: TensorType, **params: Any) -> int:
    return params["room"]


class _OfMatrices:
    """`fourier.matrices`; parameters: two jobs per line, lines, lines per item, workspace."""

    @staticmethod
    def types(x: TensorType, *others: TensorType, **params: Any) -> list[TensorType]:
        return _types(_jobs(params)[1], params["lines"], x)

    @staticmethod
    def items(*types: TensorType, **params: Any) -> int:
        return -(-params["lines"] // params["in_item"])

    @staticmethod
    def work(*types: TensorType, **params: Any) -> int:
        return params["in_item"] * sum([job.lines * job.line_work for job in _jobs(params)])

    @staticmethod
    def operations(*types: TensorType, **params: Any) -> float:
        return params["lines"] * sum([job.operations for job in _jobs(params)])

    @staticmethod
    def options(**params: Any) -> list[int]:
        first, second = _jobs(params)
        numbers_from = first.numbers_from * (1 if first.planes_from or first.kind == OF_REAL else 2)
        numbers_to = second.numbers_to * (1 if second.planes_to or second.kind == TO_REAL else 2)
        return [
            params["lines"], params["in_item"], numbers_from, numbers_to, _between(first),
            params["room"], *first.options(), *second.options(),
        ]  # fmt: skip

    @staticmethod
    def reference(*arrays: np.ndarray, **params: Any) -> list[np.ndarray]:
        first, second = _jobs(params)
        count = 2 if first.planes_from and first.kind != OF_REAL else 1
        lines = zip(*[x.reshape(params["lines"], -1) for x in arrays[:count]], strict=True)
        transformed = [_done(second, _done(first, line)) for line in lines]
        return [np.concatenate(parts) for parts in zip(*transformed, strict=True)]


class _OfChirps:
    """`fourier.chirps`, the convolution with a chirp.

    Its parameters are the job, the two jobs that transform a line of the convolution, the number of
    lines per item, and the workspace.
    """

    @staticmethod
    def types(x: TensorType, *others: TensorType, **params: Any) -> list[TensorType]:
        return _types(Job(*params["line"]), 1, x)

    @staticmethod
    def items(*types: TensorType, **params: Any) -> int:
        return -(-Job(*params["line"]).lines // params["in_item"])

    @staticmethod
    def work(*types: TensorType, **params: Any) -> int:
        return params["in_item"] * sum([2 * job.lines * job.line_work for job in _jobs(params)])

    @staticmethod
    def operations(*types: TensorType, **params: Any) -> float:
        return Job(*params["line"]).operations

    @staticmethod
    def options(**params: Any) -> list[int]:
        first, second = _jobs(params)
        return [
            params["in_item"], _between(first), params["room"], *Job(*params["line"]).options(),
            *first.options(), *second.options(),
        ]  # fmt: skip

    @staticmethod
    def reference(*arrays: np.ndarray, **params: Any) -> list[np.ndarray]:
        return _done(Job(*params["line"]), arrays)


# --- reference implementation, by SciPy -----------------------------------------------------------


def _done(job: Job, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    from scipy import fft as pocketfft

    n, x = job.n, arrays[0].ravel()
    if job.planes_from and job.kind != OF_REAL:
        x = arrays[0].ravel() + 1j * arrays[1].ravel()
    if job.of_half:
        rows = _of_half(cast("ComplexArray", x), job)
    else:
        m = n // 2 + 1 if job.kind == TO_REAL else n
        rows = x.reshape(-1, m, job.after_from).transpose(0, 2, 1).reshape(-1, m)
    z: ComplexArray  # real if no imaginary part is read
    if job.kind == OF_REAL:
        z = pocketfft.rfft(rows)
    elif job.kind == TO_REAL:
        z = cast("ComplexArray", pocketfft.irfft(rows, n, norm="forward"))
    else:
        z = pocketfft.ifft(rows, norm="forward") if job.inverse else pocketfft.fft(rows)
    z = z / z.real.dtype.type(job.divisor)
    if job.beside:
        roots = job.factors().T.astype(z.dtype)
        at = np.arange(job.lines) // job.beside % job.width
        z = z * (roots.conj() if job.inverse else roots)[at]
    if job.to_half:
        z = _to_half(z, job)
    else:
        z = z.reshape(-1, job.after_to, z.shape[-1]).transpose(0, 2, 1).ravel()
    return [z.real.copy(), z.imag.copy()] if job.is_split_to else [np.ascontiguousarray(z)]


def _places(job: Job) -> np.ndarray:
    """Returns the index in the spectrum of each element of a matrix, [rows, elements]."""
    return np.arange(job.rows)[:, None] + job.columns * np.arange(job.n)


def _of_half(x: ComplexArray, job: Job) -> ComplexArray:
    n = job.columns * job.n
    half = x.reshape(-1, job.half, job.after_from).copy()
    half.imag[:, [k for k in (0, n // 2) if 2 * k % n == 0]] = 0
    full = np.concatenate([half, half[:, 1 : (n + 1) // 2][:, ::-1].conj()], 1)
    return full[:, _places(job)].transpose(0, 1, 3, 2).reshape(-1, job.n)


def _to_half(z: ComplexArray, job: Job) -> ComplexArray:
    places, n = _places(job), job.columns * job.n
    z = z.reshape(-1, job.rows, job.after_to, job.n).transpose(0, 1, 3, 2)
    half = np.empty((len(z), job.half, job.after_to), z.dtype)
    above = places > n // 2
    half[:, n - places[above]] = z[:, above].conj()
    half[:, places[~above]] = z[:, ~above]
    return half.ravel()


# --- native functions -----------------------------------------------------------------------------


class _Native:
    """The runtime's machine code: its addresses by kind, dtype and instruction set level."""

    address: Callable[[int, int, int], int] | None = None


def use_native(address: Callable[[int, int, int], int]) -> None:
    """Sets the function that returns addresses of machine code; see `_fourier.pyi`."""
    _Native.address = address


def _computes(*types: TensorType, **params: Param) -> bool:
    return has_native()


def _address_of(kind: int) -> Callable[[np.dtype], int]:
    def address(dtype: np.dtype) -> int:
        assert _Native.address is not None
        return _Native.address(kind, _TYPES[_part_dtype(dtype)], _LEVEL)

    return address


def _declare(kind: int, name: str, about: Any, room: Callable[..., int]) -> None:
    native = NativeCode(
        _address_of(kind), _computes, about.options, items=about.items, workspace=room
    )
    library.declare(
        LibraryFunction(name, about.types, about.reference, native, about.work, about.operations)
    )


_declare(0, "fourier.lines", _OfLines, _OfLines.room)
_declare(1, "fourier.matrices", _OfMatrices, _room_of)
_declare(2, "fourier.chirps", _OfChirps, _room_of)
