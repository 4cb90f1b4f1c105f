"""The recorded oracle: what real JAX answers is data, kept in `tests/oracle`.

A test asks with a function of no arguments that computes the answer with real JAX:

    from tests.helpers.oracle import answer, jax

    theirs = answer(lambda: jax.numpy.sin(x))

`jax` stands for the real package and is imported at its first use. In most runs the function is not
called: its *digest* (the text of its source and of the functions of `tests` that it calls, the values
that it closes over and the global constants that it reads) is looked up among the records of the test
module. A digest without a record fails, and says how to record. Since the digest covers what the
question depends on, a record can be missing but not outdated.

A record says which version of JAX has answered. The answers that count are those of the newest of
`VERSIONS`; one of an older version stands where the newest is not matched yet, or has removed what is
asked about. It is computed anew by that version alone, and stays until the newest is asked.
`python -m tests.helpers.oracle` counts the answers of each version.

Modes, chosen by options of pytest (see `tests/conftest.py`):

    (none)                  answers are read from the records; JAX need not be installed
    --live-oracle SHARE     so, and a random share of them is computed anew and compared with its record
    --record-oracle         answers are computed and written; `make oracle` does it for all tests

A record holds arrays (dtype, weak type, shape, elements), texts, numbers, containers of these, and for
an error the names of its classes, not its message.
"""

from __future__ import annotations

import ast
import base64
import collections
import dataclasses
import functools
import hashlib
import importlib
import importlib.metadata
import inspect
import json
import lzma
import os
import sys
import types
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

TESTS = Path(__file__).parent.parent
RECORDS = TESTS / "oracle"
VERSIONS = ("0.12.0.1", "0.10.2")  # of the JAX that answered, the newest first
DIGEST_BYTES = 12  # 96 bits: a collision among 10^5 questions has a probability of 10^-19


class RealModule:
    """Real JAX, or a module of it, imported at the first use of an attribute."""

    def __init__(self, name: str) -> None:
        self._name = self.__name__ = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        if not oracle.may_import:
            raise RuntimeError(
                f"{self._name}.{attribute} was used outside of answer(): mark the test `live`"
            )
        return getattr(importlib.import_module(self._name), attribute)

    def __repr__(self) -> str:
        return f"<real {self._name}>"


jax = RealModule("jax")
jnp = RealModule("jax.numpy")


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


# ---- digests ----------------------------------------------------------------------------------


_SEED = b"0.10.2"  # all records would be others with another


class _Digest:
    """A hash of what a function depends on, the same in all versions of Python."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256(_SEED)
        self.seen: dict[int, int] = {}
        self.kept: list[Any] = []

    def text(self, kind: str, text: str = "") -> None:
        self.hash.update(f"{kind}:{len(text)}:{text};".encode())

    def add(self, x: Any) -> None:
        """Adds a value; of values that were seen before, their number."""
        if x is None or isinstance(x, (bool, int, float, complex, str, bytes, type(...))):
            return self.text(type(x).__name__, repr(x))
        # Whether equal constants are one object differs between Pythons: they count each time.
        if not isinstance(x, (tuple, np.ndarray, np.generic, np.dtype, frozenset, range, slice)):
            if id(x) in self.seen:
                return self.text("seen", str(self.seen[id(x)]))
            self.seen[id(x)] = len(self.seen)
            self.kept.append(x)  # the id stays taken
        match x:
            case np.ndarray() | np.generic():
                array = np.ascontiguousarray(x)
                self.text("array", f"{x.dtype} {x.shape} {type(x) is np.ndarray}")
                if array.dtype == object:
                    self.each("elements", array.ravel().tolist())
                else:
                    self.hash.update(array.tobytes())
            case np.dtype() | np.ufunc():
                self.text("numpy", str(x))
            case RealModule() | types.ModuleType():
                self.text("module", getattr(x, "__name__", None) or repr(x))
            case functools.partial():
                self.each("partial", [x.func, x.args, x.keywords])
            case types.MethodType():
                self.each("method", [x.__func__, x.__self__])
            case types.FunctionType():
                self.function(x)
            case types.BuiltinFunctionType():
                self.text("builtin", x.__qualname__)
            case type():
                self.type(x)
            case list() | tuple() | collections.deque():
                self.each(type(x).__name__, x)
            case set() | frozenset():
                self.each("set", sorted(x, key=repr))
            case Mapping():
                self.each("mapping", [y for item in x.items() for y in item])
            case slice():
                self.each("slice", [x.start, x.stop, x.step])
            case range():
                self.text("range", repr(x))
            case types.CellType():
                self.add(x.cell_contents)
            case _:
                self.object(x)
        return None

    def each(self, kind: str, values: Sequence[Any]) -> None:
        self.text(kind, str(len(values)))
        for value in values:
            self.add(value)

    def function(self, f: types.FunctionType) -> None:
        """Adds source, defaults, closure, and those globals that the source reads."""
        if not _is_ours(f.__code__.co_filename):
            return self.text("function", f"{f.__module__}.{f.__qualname__}")
        self.text("source", _source(f))
        self.each("defaults", [f.__defaults__, f.__kwdefaults__])
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            self.text("free", name)
            try:
                self.add(cell.cell_contents)
            except ValueError:
                self.text("empty")
        for name in sorted(set(_global_names(f.__code__)) & f.__globals__.keys()):
            self.text("global", name)
            if name == "__file__":  # checkouts stand in different folders
                self.text("file", Path(f.__globals__[name]).relative_to(TESTS).as_posix())
            else:
                self.add(f.__globals__[name])
        return None

    def type(self, x: type) -> None:
        file = getattr(sys.modules.get(x.__module__), "__file__", None) or ""
        if _is_ours(file):
            key = file, x.__qualname__, getattr(x, "__firstlineno__", None)
            if key not in _CLASSES:
                _CLASSES[key] = inspect.getsource(x)
            self.text("class", _CLASSES[key])
        else:
            self.text("class", f"{x.__module__.partition('.')[0]}.{x.__qualname__}")

    def object(self, x: Any) -> None:
        """Adds an object of another class by its state."""
        self.add(type(x))
        if dataclasses.is_dataclass(x):
            self.each("fields", [getattr(x, f.name) for f in dataclasses.fields(x)])
        elif hasattr(x, "dtype") and hasattr(x, "__array__"):
            self.add(np.asarray(x))
        elif callable(x) and hasattr(x, "__wrapped__"):
            self.add(x.__wrapped__)
        elif callable(x) and hasattr(x, "__qualname__"):
            self.text("callable", f"{x.__qualname__}")
        elif hasattr(x, "__dict__"):
            self.each("state", [vars(x)])
        elif hasattr(type(x), "__slots__"):
            self.each("slots", [getattr(x, name) for name in type(x).__slots__])
        else:
            raise TypeError(f"the oracle has no digest for a {type(x).__name__}: {x!r}")


# Texts of classes, by file, name and first line: before Python 3.13 `inspect` parses the file for each.
_CLASSES: dict[tuple[str, str, int | None], str] = {}


def _is_ours(filename: str) -> bool:
    return filename.startswith(str(TESTS))


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _global_names(const)


@functools.cache
def _sources(filename: str) -> dict[int, str]:
    """The texts of a file's functions and lambdas, by the line in which their code begins."""
    text = Path(filename).read_text()
    # Columns count bytes. `ast.get_source_segment` would split the file anew for each node.
    lines = [line.encode() for line in text.split("\n")]
    sources: dict[int, str] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            decorators = getattr(node, "decorator_list", [])
            line = min([node.lineno, *[x.lineno for x in decorators]])
            last = node.end_lineno or node.lineno
            parts = lines[node.lineno - 1 : last]
            parts[-1] = parts[-1][: node.end_col_offset]  # first the end: both may be in one line
            parts[0] = parts[0][node.col_offset :]
            words = "\n".join(part.decode().strip() for part in parts)
            sources[line] = sources.get(line, "") + words
    return sources


def _source(f: types.FunctionType) -> str:
    """The text of a function; of several that begin in its line, all texts."""
    source = _sources(f.__code__.co_filename).get(f.__code__.co_firstlineno)
    if source is None:
        raise TypeError(f"the oracle needs the source of {f.__qualname__}")
    return source


def digest(*of: Any) -> str:
    """Returns the digest of functions and values: text of 24 hexadecimal digits."""
    out = _Digest()
    out.each("question", of)
    return out.hash.hexdigest()[: 2 * DIGEST_BYTES]


# ---- records ----------------------------------------------------------------------------------


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


def _dtype(name: str) -> np.dtype[Any]:
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
            return _dtype(content)
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
            dtype = np.dtype([("float0", "V")]) if name.startswith("void") else _dtype(name)
            array = np.ndarray(tuple(shape), dtype, base64.b64decode(data))
            if kind == "array":
                return Value(array, weak)
            return array if kind == "numpy" else array[()]
    raise ValueError(f"unknown kind of record: {kind}")


def agree(one: Any, other: Any) -> bool:
    """Returns whether two decoded answers are the same up to another processor's rounding."""
    if isinstance(one, Value) and isinstance(other, Value):
        return one.weak_type == other.weak_type and agree(one.array, other.array)
    if isinstance(one, (np.ndarray, np.generic)):
        if not isinstance(other, (np.ndarray, np.generic)):
            return False
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return False
        is_inexact = one.dtype.kind in "fc" or "float" in one.dtype.name  # bfloat16 has kind V
        if not is_inexact or one.dtype.names:
            return one.tobytes() == other.tobytes() or bool(np.all(one == other))
        return _near(one, other)
    if isinstance(one, float) and isinstance(other, float):
        return _near(np.float64(one), np.float64(other))
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(agree, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(agree(one[k], other[k]) for k in one)
    return type(one) is type(other) and one == other


def _near(one: Any, other: Any) -> bool:
    eps = float(ml_dtypes.finfo(one.dtype).eps)
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        a, b = np.asarray(one).astype(wide), np.asarray(other).astype(wide)
        finite = np.isfinite(a) & np.isfinite(b)
        size = float(np.max(np.abs(a[finite]), initial=0.0))
        close = np.abs(a - b) <= 256 * eps * np.abs(a) + 64 * eps * min(size, 1e30)
    return bool(np.all(np.where(finite, close, (a == b) | (np.isnan(a) & np.isnan(b)))))


class NoRecord(AssertionError):
    """A question has no answer among the records: it is new, or has changed."""


def key_of(digest: str, version: str) -> str:
    """The key of an answer of a version of JAX; the first records have the digest alone."""
    return digest if version == "0.10.2" else f"{digest} {version}"


class Records:
    """The answers of one test module.

    Attributes:
      path: their file: a JSON object {key: encoded answer}, compressed; see `key_of`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: dict[str, Any] | None = None
        self.written: dict[str, Any] = {}

    @property
    def read(self) -> dict[str, Any]:
        """What the file holds, encoded, by digest."""
        if self._read is None:
            exists = self.path.exists()
            self._read = json.loads(lzma.decompress(self.path.read_bytes())) if exists else {}
        return self._read

    def write(self, entries: Mapping[str, Any]) -> None:
        """Writes the file: the same bytes for the same entries."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = ",\n".join(
            f"{json.dumps(k)}: {json.dumps(entries[k], separators=(',', ':'))}"
            for k in sorted(entries)
        )
        self.path.write_bytes(lzma.compress(f"{{\n{text}\n}}\n".encode(), preset=9))


class Oracle:
    """The mode of this run, and the records of the module whose test is running.

    Attributes:
      share: of the answers, how many are computed anew and compared; 1 records them.
      seed: of the draw.
      recording: whether answers are written.
      may_import: whether real JAX may be used: within `answer` alone.
    """

    def __init__(self) -> None:
        self.share = 0.0
        self.seed = 0
        self.recording = False
        self.may_import = False
        self.current: Records | None = None
        self.modules: dict[Path, Records] = {}

    def enter(self, module: Path) -> None:
        """Takes the records of a test module."""
        path = RECORDS / module.relative_to(TESTS).with_suffix(".json.xz")
        self.current = self.modules.setdefault(path, Records(path))

    def find(self, found: str) -> tuple[str, str]:
        """(key, version of JAX) of the newest answer to the question of digest `found`.

        Raises:
          NoRecord: if the records of the current module have none.
        """
        assert self.current is not None
        for version in VERSIONS:
            key = key_of(found, version)
            if key in self.current.read:
                return key, version
        raise NoRecord(
            f"{_shown(self.current.path)} has no record for this case ({found}): the case is new or "
            "has changed. `make oracle ORACLE=<test file>` records it with real JAX."
        )

    def recorded(self, compute: Callable[[], Any], *case: Any) -> Any:
        """The answer as the records of the current module have it, see `find`."""
        key, _ = self.find(digest(compute, *case))
        assert self.current is not None
        return decode(self.current.read[key])

    def is_drawn(self, key: str) -> bool:
        """Whether an answer is computed anew in this run."""
        return zlib.crc32(f"{self.seed} {key}".encode()) < self.share * 2**32

    def answer(
        self,
        compute: Callable[[], Any],
        *case: Any,
        last: str | None = None,
        agrees: Callable[[Any, Any], bool] = agree,
    ) -> Any:
        """See `answer`."""
        if self.current is None:
            raise RuntimeError("answer() is for the body of a test, not for its module")
        found = digest(compute, *case)
        if self.recording:
            key, encoded = self._recorded_now(found, compute, last)
            if not agree(decode(self.current.written.setdefault(key, encoded)), decode(encoded)):
                raise AssertionError(
                    f"two answers for one digest ({found}): name in `case` what they differ in, "
                    "or write functions of one line in lines of their own"
                )
            return decode(encoded)
        key, version = self.find(found)
        recorded = decode(self.current.read[key])
        if self.is_drawn(key) and version == installed_version():
            now = live(compute)
            assert agrees(recorded, now), (
                f"{_shown(self.current.path)} is wrong about {key}: "
                f"recorded {recorded!r}, real JAX says {now!r}"
            )
        return recorded

    def _recorded_now(
        self, found: str, compute: Callable[[], Any], last: str | None
    ) -> tuple[str, Any]:
        """(key, encoded answer) of what is recorded; a newer answer that there is stays."""
        assert self.current is not None
        version = installed_version()
        if version not in VERSIONS:
            raise RuntimeError(f"answers are recorded by JAX {VERSIONS[0]}, not by {version}")
        newer = [*VERSIONS[: VERSIONS.index(version)]] if last in (None, version) else [last]
        for other in newer:
            key = key_of(found, other)
            if key in self.current.read:
                return key, self.current.read[key]
        if last not in (None, version):
            raise RuntimeError(f"this is to be recorded by JAX {last}, not by {version}")
        return key_of(found, version), _computed(compute)


@functools.cache
def installed_version() -> str | None:
    """The version of real JAX in this environment; None if there is none."""
    try:
        return importlib.metadata.version("jax")
    except importlib.metadata.PackageNotFoundError:
        return None


def _shown(path: Path) -> str:
    return os.path.relpath(path, TESTS.parent)


def _computed(compute: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle.may_import = True
        try:
            result = compute()
        except Exception as error:
            result = error
        finally:
            oracle.may_import = False
    return encode(result)


oracle = Oracle()


def answer(
    compute: Callable[[], Any],
    *case: Any,
    last: str | None = None,
    agrees: Callable[[Any, Any], bool] = agree,
) -> Any:
    """Returns what real JAX makes of `compute()`, from the records or live.

    Args:
      compute: a function of no arguments that calls real JAX by `tests.helpers.oracle.jax`.
      case: what the answer depends on and `compute` reaches by ways that its digest does not see.
      last: the last version of JAX that has what is asked about; no other one is asked.
      agrees: (recorded, live) -> whether a live answer confirms the record.

    Returns: arrays as `Value`, an error as `Raised`, all else as it is.
    """
    return oracle.answer(compute, *case, last=last, agrees=agrees)


def of_jax(
    use: Callable[..., Any],
    *args: Any,
    x64: bool = False,
    agrees: Callable[[Any, Any], bool] = agree,
) -> Any:
    """Returns what `answer` does of `use(jax, *args)`, with 64-bit types if `x64`."""

    def compute() -> Any:
        with jax.enable_x64(x64):
            return use(jax, *args)

    return answer(compute, agrees=agrees)


def live(compute: Callable[[], Any]) -> Any:
    """Returns what `answer` does, always from real JAX, which has to be installed.

    For answers that other packages decide, too: texts, which versions of NumPy format differently.
    """
    return decode(_computed(compute))


def save(directory: Path) -> None:
    """Writes the answers of this process to `directory`, for `merge`."""
    for records in oracle.modules.values():
        if records.written:
            part = Records(directory / f"{os.getpid()}" / records.path.relative_to(RECORDS))
            part.write(records.written)


def merge(directory: Path, whole: bool) -> list[str]:
    """Joins what processes have saved to the records.

    Args:
      directory: where `save` put them.
      whole: whether all tests of these modules ran: other entries are dropped.

    Returns: a line for each module.
    """
    parts: dict[Path, dict[str, Any]] = {}
    for file in sorted(directory.glob("*/**/*.json.xz")):
        name = file.relative_to(directory)
        parts.setdefault(RECORDS.joinpath(*name.parts[1:]), {}).update(Records(file).read)
    lines = []
    for path, entries in parts.items():
        records = Records(path)
        kept = entries if whole else _without_older({**records.read, **entries}, entries)
        records.write(kept)
        lines.append(f"{_shown(path)}: {len(kept)} answers, {path.stat().st_size} bytes")
    return lines


def _without_older(kept: dict[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """`kept` without what older versions have answered to the questions of which `new` has answers."""
    for key in new:
        found, _, version = key.partition(" ")
        for older in VERSIONS[VERSIONS.index(version) + 1 :] if version else ():
            kept.pop(key_of(found, older), None)
    return kept


def _count() -> None:
    """Prints how many answers each version has given, and which modules have some of older ones."""
    counts: collections.Counter[str] = collections.Counter()
    for path in sorted(RECORDS.rglob("*.json.xz")):
        found = collections.Counter(key.partition(" ")[2] or "0.10.2" for key in Records(path).read)
        counts += found
        older = {v: n for v, n in found.items() if v != VERSIONS[0]}
        if older:
            print(_shown(path), *[f"{n} of {v}" for v, n in older.items()])
    print(*[f"{counts[v]} answers of {v}" for v in VERSIONS], sep="; ")


if __name__ == "__main__":
    _count()
