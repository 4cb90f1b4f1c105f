"""The persistent compilation cache: machine code on disk, shared by processes.

    <directory>/jitney-<machine>/<program>.program    the program's description, constants, links
    <directory>/jitney-<machine>/<code>.object        an LLVM object file, named by its digest
    <directory>/jitney-pages                          a file with one byte per page of all files

`machine` is a digest of everything besides the program that machine code depends on: the compiler's
source files, LLVM, the processor, and the number of threads. Files are written under temporary
names and then renamed, and their digests are checked when they are read. A program's file begins
with its key, its types and its machine, which must match the request. Programs whose entries are
torn, damaged, exchanged or incomplete are compiled again, and files that other users could have
written (`private_files`) are not read. Errors of the file system do not make programs fail.

The option `jax_compilation_cache_dir` sets the directory; the default is `jitney` in the user's
cache directory. The option `jax_enable_compilation_cache` disables the cache. The least recently
used files are deleted when the total size exceeds `jax_compilation_cache_max_size` bytes (a
gigabyte, if the option is -1).
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
import time
import weakref
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from jitney.compiler import library
from jitney.compiler.codegen import symbols
from jitney.compiler.codegen.linking import CompiledProgram, Links
from jitney.compiler.hlo import ir
from jitney.compiler.hlo.digest import blake2b
from jitney.compiler.input_output_alias import InputOutputAlias
from jitney.compiler.llvm import binding, engine
from jitney.compiler.tensor_type import parse_type
from jitney.core.settings import config
from jitney.core.types import dtypes
from jitney.core.util import forking, thresholds
from jitney.core.util.record import record
from jitney.runtime.cache.private_files import Folder, make_private
from jitney.runtime.devices import device
from jitney.runtime.native import _loader, _native

FORMAT = 7
MAX_BYTES = 1 << 30  # of all files
MAX_FILE_BYTES = 1 << 27  # of one; constants have at most an eighth of it

_DIGEST = 20  # bytes of a checksum
_PAGE = 4096  # bytes; sizes of files are counted in pages
_PAGES = "jitney-pages"
_codes: weakref.WeakValueDictionary[str, engine.Code] = weakref.WeakValueDictionary()


class _StaleError(Exception):
    """The contents of a file do not match its name, or another file that it needs is missing."""


# --- places ---------------------------------------------------------------------------------------


def directory() -> str | None:
    """Returns the folder of this machine's files; None if the cache is disabled or unusable."""
    if not config.enable_compilation_cache.value or not _loader.can_load_code():
        return None
    chosen = config.compilation_cache_dir.value
    if not chosen:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        if not os.path.isabs(home):
            return None
        chosen = os.path.join(home, "jitney")
    return os.path.join(os.fspath(chosen), f"jitney-{_machine()}")


@contextlib.contextmanager
def _opened(place: str) -> Generator[Folder, None, None]:
    root, name = os.path.split(place)
    with Folder(root) as above, Folder(name, above) as folder:
        yield folder


def has_entries() -> bool:
    """Returns whether the cache has any entries."""
    place = directory()
    if place is None:
        return False
    try:
        with _opened(place), os.scandir(place) as entries:
            return any(True for _ in entries)
    except OSError:
        return False


_machine_name: str | None = None


def _machine() -> str:
    """Returns a digest of everything besides the program that machine code depends on."""
    global _machine_name
    if _machine_name is None:
        h = blake2b(digest_size=8)
        for part in _parts_of_machine():
            h.update(f"{part}\n".encode())
        _machine_name = h.hexdigest()
    return _machine_name


def _parts_of_machine() -> Iterator[object]:
    yield FORMAT
    yield device.thread_count(), thresholds.ARE_SMALL
    yield np.__version__, sys.version
    runtime = os.path.dirname(os.path.dirname(__file__))
    for folder in (os.path.join(os.path.dirname(runtime), "compiler"), runtime):
        yield from _stamps(folder)
    yield _stamp(binding.library_path())
    try:
        with open("/proc/cpuinfo") as file:
            lines = file.read().partition("\n\n")[0].splitlines()
        yield [line for line in lines if line.startswith(("model name", "flags", "stepping"))]
    except OSError:
        yield os.uname()


def _stamps(folder: str) -> Iterator[object]:
    """Yields name, size and time of the source files in a folder and its subfolders."""
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


# --- reading --------------------------------------------------------------------------------------


def find(place: str, key: str, module: ir.Module) -> CompiledProgram | None:
    """Returns the program of `module` stored in `place` under `key`; None if missing or damaged."""
    start = time.perf_counter()
    try:
        with _opened(place) as folder:
            data = folder.read(f"{key}.program", MAX_FILE_BYTES, touch=True)
            program = _program(folder, _checked(data, _heading(key, module)), module)
    except FileNotFoundError:
        return None
    except (OSError, EOFError, _StaleError, ValueError, KeyError, TypeError) as error:
        _report(error)
        return None
    program.timings = {"load": time.perf_counter() - start}
    return program


def from_files(files: dict[str, bytes], key: str, module: ir.Module) -> CompiledProgram | None:
    """Returns the program of `module` from files made by `as_files`; None if for another machine.

    The linker has to be ready (`lazy_compiler`).
    """
    folder = _Files(files)
    try:
        data = folder.read(f"{key}.program", MAX_FILE_BYTES)
        return _program(folder, _checked(data, _heading(key, module)), module)
    except (_StaleError, EOFError, ValueError, KeyError, TypeError):
        return None


class _Files:
    """Files in memory."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def read(self, name: str, most: int) -> bytes:
        return self._files[name]

    def remove(self, name: str) -> None:
        del self._files[name]


def _heading(key: str, module: ir.Module) -> bytes:
    """Returns the beginning of a program's file, which identifies the program and the machine."""
    types = [
        " ".join([f"{dtypes.long_name(t.dtype)}{t.shape}" for t in each]) for each in _types(module)
    ]
    return "\n".join([f"jitney {FORMAT} {_machine()} {key}", *types, ""]).encode()


def _types(module: ir.Module) -> tuple[list[ir.TensorType], list[ir.TensorType]]:
    """Returns the types of a program's operands and of its results."""
    region = module.region
    return [x.tensor_type for x in region.parameters], [x.tensor_type for x in region.results]


def _checked(data: bytes, heading: bytes) -> memoryview:
    """Returns the part of a file that follows its checksum and `heading`."""
    body = memoryview(data)[_DIGEST:]
    if blake2b(body, digest_size=_DIGEST).digest() != data[:_DIGEST]:
        raise _StaleError("a program is damaged")
    if body[: len(heading)].tobytes() != heading:
        raise _StaleError("a program does not match the name of its file")
    return body[len(heading) :]


def _program(folder: Folder | _Files, data: memoryview, module: ir.Module) -> CompiledProgram:
    size = int.from_bytes(data[:8], "little")
    head = marshal.loads(data[8 : 8 + size])
    constants: dict[str, np.ndarray] = {}
    at = 8 + size
    for name, nbytes in head["constants"]:
        constant = np.frombuffer(data, np.uint8, nbytes, at)
        constants[name] = _native.empty(constant.shape, constant.dtype)
        constants[name][:] = constant
        at += nbytes
    calls: _Calls = head["calls"]
    try:
        kernels = {
            symbol: (_code(folder, code, calls), name) for symbol, code, name in head["kernels"]
        }
        functions = _called(folder, head["code"], calls)
        own = _object(folder, head["code"])
    except _StaleError:
        # There may be other files; all of them are written again with the program.
        for name in {head["code"], *[code for _, code, _ in head["kernels"]], *_all_called(calls)}:
            with contextlib.suppress(_StaleError, FileNotFoundError):
                _object(folder, name)
        raise
    library_calls = {
        symbol: library.Call(library.Routine(name, params), _parsed(args), _parsed(results))
        for symbol, name, params, args, results in head["library_calls"]
    }
    procedures = {
        symbol: library.ProcedureCall(
            library.Procedure(tuple([library.Routine(*each) for each in routines])),
            _parsed(args),
            _parsed(results),
        )
        for symbol, routines, args, results in head["procedures"]
    }
    links = Links(head["natives"], constants, kernels, library_calls, procedures, {})
    known = links.addresses()
    if not all(known.values()):
        raise _StaleError("a function of the runtime no longer exists")
    code = engine.load(own, {**known, **engine.addresses(functions)}, functions)
    inputs, outputs = _types(module)
    return CompiledProgram(
        code,
        links,
        head["arena_bytes"],
        inputs,
        outputs,
        head["releases_gil"],
        InputOutputAlias(*head["alias"]),
        [links],
    )


# For an object file that calls functions of others: the functions' names and their object files.
_Calls: TypeAlias = dict[str, list[tuple[str, str]]]


class _Anything(dict[str, int]):
    """The symbol addresses for an object of which only kernels are called.

    The entry function's symbols get an arbitrary address.
    """

    def get(self, key: str, default: Any = None) -> int:
        if key in self:
            return self[key]
        name = key.removeprefix("jitney.")
        if symbols.is_called_by_kernels(name):
            return symbols.symbol(name)
        return 1 if key.startswith("jitney.") else default


def _code(folder: Folder | _Files, name: str, calls: _Calls) -> engine.Code:
    """Returns the object file called `name`, which all programs that call its functions share."""
    with forking.disk:
        code = _codes.get(name)
        if code is None:
            functions = _called(folder, name, calls)
            known = _Anything(engine.addresses(functions))
            code = _codes[name] = engine.load(_object(folder, name), known, functions)
        return code


def _called(folder: Folder | _Files, name: str, calls: _Calls) -> dict[str, engine.Code]:
    """Returns the code of the functions that object file `name` calls, by the functions' names."""
    return {symbol: _code(folder, other, calls) for symbol, other in calls.get(name, ())}


def _all_called(calls: _Calls) -> set[str]:
    return {name for functions in calls.values() for _, name in functions}


def _object(folder: Folder | _Files, name: str) -> bytes:
    data = folder.read(f"{name}.object", MAX_FILE_BYTES)
    if _name_of(data) != name:
        folder.remove(f"{name}.object")  # so that it is written again
        raise _StaleError("an object file is damaged")
    return data


def _name_of(data: bytes) -> str:
    return blake2b(data, digest_size=_DIGEST).hexdigest()


# --- writing --------------------------------------------------------------------------------------


def is_kept(place: str, key: str) -> bool:
    """Returns whether `place` has a program stored under `key`; it may be damaged."""
    try:
        with _opened(place) as folder:
            return folder.has(f"{key}.program")
    except OSError:
        return False


def store(place: str, key: str, module: ir.Module, program: CompiledProgram) -> None:
    """Stores the program of `module` in `place` for other processes, if its code can be stored."""
    files = as_files(key, module, program)
    if files is None or max(map(len, files.values())) > MAX_FILE_BYTES:
        return
    contents = files.pop(f"{key}.program")
    try:
        root = os.path.dirname(place)
        make_private(root)
        make_private(place)
        with _opened(place) as folder:
            new = {name: data for name, data in files.items() if not folder.has(name)}
            new[f"{key}.program"] = contents  # last, when the files that it refers to exist
            is_full = _note(root, [len(data) for data in new.values()])
            for name, data in new.items():
                folder.write(name, data)
        if is_full:
            tidy(root, spare=most_bytes() // 8)
    except OSError as error:
        _report(error)


def as_files(key: str, module: ir.Module, program: CompiledProgram) -> dict[str, bytes] | None:
    """Returns the files of the program of `module`, by name; None if its code cannot be stored."""
    if program.links.callbacks:
        return None
    objects: dict[engine.Code, bytes] = {}
    for code in _all_codes(program):
        if code.data is None:
            return None
        objects[code] = code.data
    names = {code: _name_of(data) for code, data in objects.items()}
    files = {f"{names[code]}.object": data for code, data in objects.items()}
    return {**files, f"{key}.program": _contents(_heading(key, module), program, names)}


def _all_codes(program: CompiledProgram) -> list[engine.Code]:
    """Returns the code of a program and of all functions that it calls."""
    codes: dict[engine.Code, None] = {}
    stack = [program.code, *[code for code, _ in program.links.kernels.values()]]
    while stack:
        code = stack.pop()
        if code not in codes:
            codes[code] = None
            stack += code.calls.values()
    return [*codes]


def _contents(heading: bytes, program: CompiledProgram, names: Mapping[engine.Code, str]) -> bytes:
    """Returns the contents of a program's file; `names` has the names of the object files."""
    links = program.links
    head = {
        "code": names[program.code],
        "arena_bytes": program.arena_bytes,
        "releases_gil": program.releases_gil,
        "alias": tuple(program.alias),
        "natives": list(links.natives),
        "constants": [(name, x.nbytes) for name, x in links.constants.items()],
        "library_calls": [
            (symbol, call.name, call.routine.params, _texts(call.args), _texts(call.results))
            for symbol, call in links.library_calls.items()
        ],
        "procedures": [
            (symbol, _named(call.procedure), _texts(call.args), _texts(call.results))
            for symbol, call in links.procedures.items()
        ],
        "kernels": [(symbol, names[code], name) for symbol, (code, name) in links.kernels.items()],
        "calls": {
            name: [(symbol, names[called]) for symbol, called in code.calls.items()]
            for code, name in names.items()
            if code.calls
        },
    }
    text = marshal.dumps(head)
    size = len(text).to_bytes(8, "little")
    body = b"".join([heading, size, text, *[x.tobytes() for x in links.constants.values()]])
    return blake2b(body, digest_size=_DIGEST).digest() + body


def _named(procedure: library.Procedure) -> list[tuple[str, library.Params]]:
    return [(routine.name, routine.params) for routine in procedure.routines]


def _texts(types: Sequence[ir.TensorType]) -> list[str]:
    return list(map(str, types))


def _parsed(texts: Sequence[str]) -> tuple[ir.TensorType, ...]:
    return tuple(map(parse_type, texts))


def _report(error: Exception) -> None:
    """Raises `error` if the user has requested that (`jax_raise_persistent_cache_errors`)."""
    if config.raise_persistent_cache_errors.value:
        raise error


# --- the limit of size ----------------------------------------------------------------------------


def most_bytes() -> int:
    """Returns the limit for the total size of all files, in bytes."""
    most = config.compilation_cache_max_size.value
    return MAX_BYTES if most < 0 else most


def _note(root: str, sizes: list[int]) -> bool:
    """Records the sizes of files about to be written; returns whether there may now be too many.

    Processes that write at the same time extend one file, each by one byte per page that it writes,
    so that the folder need not be scanned.
    """
    pages = sum([-(-size // _PAGE) for size in sizes])
    with Folder(root) as folder:
        total = folder.extend(_PAGES, pages)
    # If there was no record before, there may be any number of files.
    return total == pages or total * _PAGE > most_bytes()


def tidy(root: str, spare: int = 0) -> None:
    """Deletes the least recently used files in `root` until they are within the limit.

    Args:
      root: the folder of all machines' folders.
      spare: additional bytes to free, so that not every new file causes another scan.
    """
    files = [file for place in _places(root) for file in _files(place)]
    total = sum([size for _, size, _ in files])
    most = most_bytes()
    if total > most:
        for _, size, path in sorted(files):
            with contextlib.suppress(OSError):
                os.unlink(path)
                total -= size
            if total <= most - spare:
                break
    with Folder(root) as folder:
        folder.write(_PAGES, bytes(max(total // _PAGE, 1)))


def _files(place: str) -> list[tuple[float, int, str]]:
    """Returns the time of last use, the bytes on disk and the path of each file in a folder."""
    files: list[tuple[float, int, str]] = []
    with os.scandir(place) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                files.append((status.st_mtime, 512 * status.st_blocks, entry.path))
    return files


def _places(root: str) -> list[str]:
    with os.scandir(root) as entries:
        return [
            entry.path
            for entry in entries
            if entry.name.startswith("jitney-") and entry.is_dir(follow_symlinks=False)
        ]


# --- what is kept ---------------------------------------------------------------------------------


@record(frozen=True)
class Generation:
    """The files for one machine: a processor, a version of the compiler, a number of threads.

    Attributes:
      name: the name of the folder.
      programs: the number of programs.
      nbytes: the size of all files on disk.
      last_used: when a file was last written or read, in seconds since 1970.
      is_current: whether this process uses them.
    """

    name: str
    programs: int
    nbytes: int
    last_used: float
    is_current: bool


def generations() -> list[Generation]:
    """Returns the contents of the chosen directory, the most recently used generation first."""
    place = directory()
    if place is None or not os.path.isdir(os.path.dirname(place)):
        return []
    kept: list[Generation] = []
    for path in _places(os.path.dirname(place)):
        own_files = _files(path)
        kept.append(
            Generation(
                os.path.basename(path),
                sum([file.endswith(".program") for _, _, file in own_files]),
                sum([nbytes for _, nbytes, _ in own_files]),
                max([used for used, _, _ in own_files], default=0.0),
                path == place,
            )
        )
    return sorted(kept, key=lambda x: -x.last_used)


def clear(*, others: bool = False) -> int:
    """Deletes all files, or only those for other machines; returns the number of bytes freed."""
    import shutil  # with its compression formats, it takes as long as the rest of this module

    place = directory()
    if place is None:
        return 0
    root, freed = os.path.dirname(place), 0
    for kept in generations():
        if others and kept.is_current:
            continue
        shutil.rmtree(os.path.join(root, kept.name))
        freed += kept.nbytes
    if freed:
        tidy(root)
    return freed


def obstacle() -> str | None:
    """Returns the reason why programs are not stored or found; None if there is no obstacle."""
    import tempfile  # with `random` and `shutil`, it takes as long as the rest of this module

    if not config.enable_compilation_cache.value:
        return "the option jax_enable_compilation_cache is off"
    if not _loader.can_load_code():
        return "programs are stored only on Linux on x86-64"
    place = directory()
    if place is None:
        return "the home directory is unknown, and jax_compilation_cache_dir is not set"
    try:
        with _opened(place):
            pass
    except FileNotFoundError:
        pass  # it is created with the first program
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    above = os.path.dirname(place)
    while not os.path.exists(above):
        above = os.path.dirname(above)
    try:
        with tempfile.TemporaryFile(dir=above):
            return None
    except OSError as error:
        return f"{above}: not writable ({error.strerror})"
