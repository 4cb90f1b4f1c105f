"""Answers of real JAX as data: arrays and errors, their encoding as JSON, and when two are the same."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np


@dataclasses.dataclass(frozen=True)
class Value:
    """An array that JAX returned.

    Attributes:
      array: its elements.
      weak_type: whether its type is weak.
    """

    array: np.ndarray
    weak_type: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        """The elements' type."""
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self.array.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The elements."""
        return self.array if dtype is None else self.array.astype(dtype)


@dataclasses.dataclass(frozen=True)
class Raised:
    """An error that JAX raised.

    Attributes:
      names: of the error's class and its bases, the most derived first.
    """

    names: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the error's class."""
        return self.names[0]

    def is_a(self, error: type[BaseException]) -> bool:
        """Whether `error` is the class or a base of it, by its name."""
        return error.__name__ in self.names


def encode(x: Any) -> Any:
    """Returns an answer as JSON: arrays as [dtype, weak, shape, base64], containers by their kind."""
    if x is None or isinstance(x, (bool, str)):
        return x
    if isinstance(x, Raised):
        return {"raised": x.names}
    if isinstance(x, BaseException):
        return {"raised": [c.__name__ for c in type(x).__mro__ if c not in (object, BaseException)]}
    if isinstance(x, int) and not isinstance(x, np.generic):  # JAX has a class of them with a dtype
        return int(x) if abs(x) < 2**53 else {"int": str(int(x))}
    if type(x) is float:
        return {"float": x.hex()}
    if type(x) is complex:
        return {"complex": [x.real.hex(), x.imag.hex()]}
    if isinstance(x, np.dtype):
        return {"dtype": x.name}
    if isinstance(x, bytes):
        return {"bytes": base64.b64encode(x).decode()}
    if isinstance(x, slice):
        return {"slice": [encode(y) for y in (x.start, x.stop, x.step)]}
    if x is ...:
        return {"ellipsis": None}
    if isinstance(x, (list, tuple)):
        return {type(x).__name__ if type(x) is list else "tuple": [encode(y) for y in x]}
    if isinstance(x, dict):
        return {"dict": [[encode(k), encode(v)] for k, v in x.items()]}
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        if isinstance(x, (np.ndarray, np.generic)):
            kind = "numpy" if isinstance(x, np.ndarray) else "scalar"
            weak = False
        else:
            kind = "array"
            weak = bool(x.weak_type if isinstance(x, Value) else x.aval.weak_type)
        array = np.asarray(x)
        name = array.dtype.str if array.dtype.kind == "U" else array.dtype.name
        data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
        return {kind: [name, weak, list(array.shape), data]}
    raise TypeError(f"the oracle cannot record a {type(x).__name__}: {x!r}")


def dtype_of(name: str) -> np.dtype[Any]:
    """The dtype of a name, of NumPy or of ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def decode(x: Any) -> Any:
    """Returns the answer that `encode` made `x` of; errors become `Raised`, arrays `Value`."""
    if not isinstance(x, dict):
        return x
    ((kind, content),) = x.items()
    match kind:
        case "raised":
            return Raised(tuple(content))
        case "int":
            return int(content)
        case "float":
            return float.fromhex(content)
        case "complex":
            return complex(*map(float.fromhex, content))
        case "dtype":
            return dtype_of(content)
        case "bytes":
            return base64.b64decode(content)
        case "slice":
            return slice(*map(decode, content))
        case "ellipsis":
            return ...
        case "list":
            return [decode(y) for y in content]
        case "tuple":
            return tuple(decode(y) for y in content)
        case "dict":
            return {decode(k): decode(v) for k, v in content}
        case "array" | "numpy" | "scalar":
            name, weak, shape, data = content
            dtype = np.dtype([("float0", "V")]) if name.startswith("void") else dtype_of(name)
            array = np.ndarray(tuple(shape), dtype, base64.b64decode(data))
            if kind == "array":
                return Value(array, weak)
            return array if kind == "numpy" else array[()]
    raise ValueError(f"unknown kind of record: {kind}")


def agree(one: Any, other: Any) -> bool:
    """Returns whether two decoded answers are the same up to another processor's rounding."""
    return _agree(one, other, _near)


def agree_within(rtol: float, atol: float) -> Callable[[Any, Any], bool]:
    """Returns an `agree` with the tolerances of a test, for results that amplify roundings."""

    def near(one: Any, other: Any) -> bool:
        return bool(np.allclose(_parts(one), _parts(other), rtol, atol, equal_nan=True))

    return lambda one, other: agree(one, other) or _agree(one, other, near)


def _agree(one: Any, other: Any, near: Callable[[Any, Any], bool]) -> bool:
    """Returns whether two decoded answers are the same, floating-point numbers by `near`."""
    if isinstance(one, Value) and isinstance(other, Value):
        return one.weak_type == other.weak_type and _agree(one.array, other.array, near)
    if isinstance(one, (np.ndarray, np.generic)):
        if type(one) is not type(other) or (one.dtype, one.shape) != (other.dtype, other.shape):
            return False
        is_inexact = one.dtype.kind in "fc" or "float" in one.dtype.name  # bfloat16 has kind V
        if not is_inexact or one.dtype.names:
            return one.tobytes() == other.tobytes() or bool(np.all(one == other))
        return near(one, other)
    if isinstance(one, float) and isinstance(other, float):
        return near(np.float64(one), np.float64(other))
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and _all_agree(one, other, near)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_agree(one[k], other[k], near) for k in one)
    return type(one) is type(other) and one == other


def _all_agree(one: Any, other: Any, near: Callable[[Any, Any], bool]) -> bool:
    return len(one) == len(other) and all([
        _agree(x, y, near) for x, y in zip(one, other, strict=True)
    ])  # fmt: skip


def _near(one: Any, other: Any) -> bool:
    """Whether floating-point arrays agree to some ulps of each element and of the largest."""
    eps = float(ml_dtypes.finfo(one.dtype).eps)
    # Types of 16 bits and fewer are rounded once, from results in float32.
    of_each, of_largest = (2, 1) if eps > 1e-4 else (256, 64)
    a, b = _parts(one), _parts(other)
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        magnitude = np.where(finite, np.abs(a), 0).sum(0)  # real and imaginary part have one bound
        size = float(np.max(np.abs(a[finite]), initial=0.0))
        bound = eps * (of_each * magnitude + of_largest * min(size, 1e30))
        close = np.abs(a - b) <= bound
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    is_zero = (a == 0) & (b == 0)
    signs = ~is_zero | (np.signbit(a) == np.signbit(b))
    return bool(np.all(np.where(finite, close, same) & signs))


def _parts(x: Any) -> np.ndarray:
    """The real and imaginary parts of floating-point elements, in float64: those of reals are one."""
    x = np.asarray(x)
    parts = [np.real(x), np.imag(x)] if x.dtype.kind == "c" else [x]
    with np.errstate(invalid="ignore"):  # NumPy warns where narrow types hold signaling NaNs
        return np.array([part.astype(np.float64) for part in parts])
