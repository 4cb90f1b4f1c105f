"""Machine code on disk: a program that any process has compiled, the next one loads.

    <directory>/jitney-<machine>/<program>.program    what it takes and returns, constants, links
    <directory>/jitney-<machine>/<code>.object        an object file of LLVM's, named by its digest

`machine` stands for all that code depends on beside the program: the compiler's source files, LLVM, the
processor, the number of threads. Files are written elsewhere and then renamed, and their digests are
checked when they are read: what is torn, damaged or half deleted is compiled again. Errors of the file
system are no errors of the program.

The directory is that of the option `jax_compilation_cache_dir`, or `jitney` in the user's cache
directory; `jax_enable_compilation_cache` turns all of it off. The least recently used files go when
there are more than `jax_compilation_cache_max_size` bytes (a gigabyte, if that is -1).
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from jitney.compiler.codegen import engine, natives
from jitney.compiler.codegen.linked import CompiledProgram, Links
from jitney.compiler.hlo import ir
from jitney.compiler.hlo.digest import blake2b
from jitney.core import config, dtypes, forking
from jitney.runtime import device
from jitney.runtime.native import _loader, _native

FORMAT = 1
MOST_BYTES = 1 << 30
DAY = 86_400.0  # seconds between two looks for files to delete

_DIGEST = 20  # bytes of a checksum
_codes: weakref.WeakValueDictionary[str, engine.Code] = weakref.WeakValueDictionary()


class _StaleError(Exception):
    """A file is not what it says it is, or another that it needs is gone."""


# --- places ---------------------------------------------------------------------------------------


def directory() -> str | None:
    """Where files are kept for this machine; None if they are not."""
    if not config.enable_compilation_cache.value or not _loader.can_load_code():
        return None
    chosen = config.compilation_cache_dir.value
    if not chosen:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        if not os.path.isabs(home):
            return None
        chosen = os.path.join(home, "jitney")
    return os.path.join(os.fspath(chosen), f"jitney-{_machine()}")


def has_entries() -> bool:
    """Whether there is anything to be found."""
    place = directory()
    if place is None:
        return False
    try:
        with os.scandir(place) as entries:
            return any(True for _ in entries)
    except OSError:
        return False


_machine_name: str | None = None


def _machine() -> str:
    """A digest of what machine code depends on beside the program."""
    global _machine_name
    if _machine_name is None:
        h = blake2b(digest_size=8)
        for part in _parts_of_machine():
            h.update(f"{part}\n".encode())
        _machine_name = h.hexdigest()
    return _machine_name


def _parts_of_machine() -> Iterator[object]:
    yield FORMAT
    yield device.thread_count()
    yield np.__version__, sys.version
    runtime = os.path.dirname(__file__)
    for folder in (os.path.join(os.path.dirname(runtime), "compiler"), runtime):
        yield from _stamps(folder)
    for path in _llvm_files():
        yield _stamp(path)
    try:
        with open("/proc/cpuinfo") as file:
            lines = file.read().partition("\n\n")[0].splitlines()
        yield [line for line in lines if line.startswith(("model name", "flags", "stepping"))]
    except OSError:
        yield os.uname()


def _stamps(folder: str) -> Iterator[object]:
    """Names, sizes and times of the source files in a folder and those within it."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _stamps(entry.path)
            elif entry.name.endswith((".py", ".so")):
                status = entry.stat()
                yield entry.name, status.st_size, status.st_mtime_ns


def _stamp(path: str) -> object:
    status = os.stat(path)
    return path, status.st_size, status.st_mtime_ns


def _llvm_files() -> list[str]:
    """LLVM's library, found without loading anything."""
    from importlib.util import find_spec

    spec = find_spec("llvmlite")
    places = (spec.submodule_search_locations or []) if spec else []
    folders = [os.path.join(place, "binding") for place in places]
    return [e.path for f in folders for e in os.scandir(f) if "llvmlite.so" in e.name]


# --- reading --------------------------------------------------------------------------------------


def find(place: str, key: str) -> CompiledProgram | None:
    """The program known by `key`, if it was kept in `place` and is undamaged."""
    start = time.perf_counter()
    path = os.path.join(place, f"{key}.program")
    try:
        program = _program(place, _checked(path))
        os.utime(path)
    except FileNotFoundError:
        return None
    except (OSError, EOFError, _StaleError, ValueError, KeyError, TypeError) as error:
        _report(error)
        return None
    program.timings = {"load": time.perf_counter() - start}
    return program


def _read(path: str) -> bytes:
    """The contents of a file, which must be the user's own: it is going to be run."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_uid not in (os.getuid(), 0):
            raise _StaleError(f"{path} belongs to somebody else")
        return file.read()


def _checked(path: str) -> bytes:
    """The contents of a file behind its checksum."""
    data = _read(path)
    body = data[_DIGEST:]
    if blake2b(body, digest_size=_DIGEST).digest() != data[:_DIGEST]:
        raise _StaleError(f"{path} is damaged")
    return body


def _program(place: str, data: bytes) -> CompiledProgram:
    size = int.from_bytes(data[:8], "little")
    head = marshal.loads(data[8 : 8 + size])
    constants: dict[str, np.ndarray] = {}
    at = 8 + size
    for name, nbytes in head["constants"]:
        constants[name] = _native.empty((nbytes,), np.dtype(np.uint8))
        constants[name][:] = np.frombuffer(data, np.uint8, nbytes, at)
        at += nbytes
    kernels = {symbol: (_code(place, code), name) for symbol, code, name in head["kernels"]}
    links = Links(head["natives"], constants, kernels)
    known = links.addresses()
    if not all(known.values()):
        raise _StaleError("a function of the runtime is not there any more")
    code = engine.load(_object(place, head["code"]), known)
    inputs, outputs = (
        [ir.TensorType(tuple(shape), _dtype(name)) for shape, name in head[types]]
        for types in ("inputs", "outputs")
    )
    return CompiledProgram(
        code, links, head["arena_bytes"], inputs, outputs, head["is_long"], [links]
    )


def _dtype(name: str) -> np.dtype:
    return dtypes.float0 if name == "float0" else np.dtype(name)


class _Anything(dict[str, int]):
    """Addresses for an object of which only the kernels are called: its entry's may be anything."""

    def get(self, key: str, default: Any = None) -> Any:
        if key == "jitney.poll":  # the one function of the runtime that kernels call
            return natives.symbol("poll")
        return 1 if key.startswith("jitney.") else default


def _code(place: str, name: str) -> engine.Code:
    """The object file called `name`, which all programs share that call its kernels."""
    with forking.disk:
        code = _codes.get(name)
        if code is None:
            code = _codes[name] = engine.load(_object(place, name), _Anything())
        return code


def _object(place: str, name: str) -> bytes:
    path = os.path.join(place, f"{name}.object")
    data = _read(path)
    if _name_of(data) != name:
        os.unlink(path)  # for it to be written again
        raise _StaleError(f"{path} is damaged")
    return data


def _name_of(data: bytes) -> str:
    return blake2b(data, digest_size=_DIGEST).hexdigest()


# --- writing --------------------------------------------------------------------------------------


def store(place: str, key: str, program: CompiledProgram) -> None:
    """Keeps `program` in `place` for other processes, if its code can be kept."""
    links = program.links
    if links is None:
        return
    codes = [program.code, *[code for code, _ in links.kernels.values()]]
    if any(code.data is None for code in codes):
        return
    names = {id(code): _name_of(code.data) for code in codes if code.data is not None}
    head = {
        "code": names[id(program.code)],
        "arena_bytes": program.arena_bytes,
        "is_long": program.is_long,
        "inputs": [(t.shape, dtypes.long_name(t.dtype)) for t in program.inputs],
        "outputs": [(t.shape, dtypes.long_name(t.dtype)) for t in program.outputs],
        "natives": list(links.natives),
        "constants": [(name, x.nbytes) for name, x in links.constants.items()],
        "kernels": [(s, names[id(code)], name) for s, (code, name) in links.kernels.items()],
    }
    text = marshal.dumps(head)
    parts = [
        len(text).to_bytes(8, "little"),
        text,
        *[x.tobytes() for x in links.constants.values()],
    ]
    body = b"".join(parts)
    checksum = blake2b(body, digest_size=_DIGEST).digest()
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
        for code in codes:
            assert code.data is not None
            path = os.path.join(place, f"{names[id(code)]}.object")
            if not os.path.exists(path):
                _write(path, code.data)
        _write(os.path.join(place, f"{key}.program"), checksum + body)
        _tidy(os.path.dirname(place))
    except OSError as error:
        _report(error)


def _write(path: str, data: bytes) -> None:
    """Writes a file, which appears as a whole or not at all."""
    temporary = f"{path}.{os.getpid()}.{threading.get_ident()}"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _report(error: Exception) -> None:
    """Raises `error` if the program asks for that."""
    if config.raise_persistent_cache_errors.value:
        raise error


_next_look = 0.0


def _tidy(root: str) -> None:
    """Once a day: deletes the files used least recently, as many as are too many."""
    global _next_look
    now = time.time()
    if now < _next_look:
        return
    _next_look = now + DAY
    mark = os.path.join(root, "jitney-tidied")
    if not os.path.exists(mark) or now >= os.stat(mark).st_mtime + DAY:
        with open(mark, "wb"):
            os.utime(mark)
        tidy(root)


def tidy(root: str) -> None:
    """Deletes the files in `root` used least recently until the rest fits."""
    most = config.compilation_cache_max_size.value
    most = MOST_BYTES if most < 0 else most
    found: list[tuple[float, int, str]] = []
    for folder in os.listdir(root):
        place = os.path.join(root, folder)
        if folder.startswith("jitney-") and os.path.isdir(place):
            with os.scandir(place) as entries:
                status = [(e.stat(), e.path) for e in entries]
            found += [(s.st_mtime, 512 * s.st_blocks, path) for s, path in status]
    total = sum([size for _, size, _ in found])
    for _, size, path in sorted(found):
        if total <= most:
            break
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        total -= size
