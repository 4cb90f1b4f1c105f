"""Runs a program as `python` does, except that `import jax` imports this package.

The program is the module `__main__`, with Python's `sys.argv` and `sys.path`; its exit code is the
process's, and tracebacks begin with its first frame.
"""

from __future__ import annotations

import gc
import importlib.machinery
import importlib.util
import io
import linecache
import os
import pkgutil
import sys
from collections.abc import Callable, Sequence
from types import CodeType, ModuleType, TracebackType
from typing import Any

from jitney.core.source import user_code
from jitney.core.util.record import record
from jitney.install import install_as_jax

# Threshold of the youngest generation: Python's own since 3.13. Libraries and traces make hundreds of
# thousands of long-lived objects; with the former 700, a tenth of the time to a first result goes
# into scanning them repeatedly.
_YOUNG_OBJECTS = 2000

# The former `__main__`, kept alive: if it were freed, its globals would be cleared while in use.
_former: list[ModuleType] = []


def run_words(words: Sequence[str]) -> int:
    """Runs a program with its arguments; returns an exit code.

    Args:
      words: the program as on Python's command line (a path, `-m module`, `-c code`, or `-` for
        standard input), and its arguments. If empty, standard input is run.
    """
    match words:
        case ["-m", module, *arguments]:
            return run_module(module, arguments)
        case ["-c", code, *arguments]:
            return run_code(code, arguments)
        case ["-", *arguments]:
            return run_code(sys.stdin.buffer.read(), arguments, name="-")
        case [path, *arguments]:
            return run_path(path, arguments)
        case _:
            return run_code(sys.stdin.buffer.read(), [], name="")


def run_path(path: str, arguments: Sequence[str]) -> int:
    """Runs a file, or a folder or zip file with a `__main__.py`; returns an exit code."""
    importer: Any = pkgutil.get_importer(path)
    if importer is not None and hasattr(importer, "find_spec"):
        spec = importer.find_spec("__main__")
        if spec is None or spec.loader is None:
            print(f"jitney: can't find '__main__' module in {path!r}", file=sys.stderr)
            return 1
        _set_path(os.path.abspath(path))
        sys.argv[:] = [path, *arguments]
        return _run(lambda: spec.loader.get_code("__main__"), spec, spec.origin, package="")
    full_path = os.path.abspath(path)
    try:
        with io.open_code(full_path) as file:
            source = file.read()
    except OSError as error:
        print(
            f"jitney: can't open file {full_path!r}: [Errno {error.errno}] {error.strerror}",
            file=sys.stderr,
        )
        return 2
    _set_path(os.path.dirname(os.path.realpath(path)))
    sys.argv[:] = [path, *arguments]
    return _run(lambda: _compile(source, full_path), None, full_path)


def run_code(source: str | bytes, arguments: Sequence[str], name: str = "-c") -> int:
    """Runs source text with `name` as its `sys.argv[0]`; returns an exit code."""
    _set_path("")
    sys.argv[:] = [name, *arguments]
    filename = "<string>" if name == "-c" else "<stdin>"
    # Messages show its expressions, and Python's tracebacks its lines.
    lines = _lines(source)
    linecache.cache[filename] = len(source), None, lines, filename

    def get_code() -> CodeType:
        code = user_code.texts[filename] = _compile(source, filename)
        return code

    return _run(get_code, None, None)


def run_module(name: str, arguments: Sequence[str]) -> int:
    """Runs a module, or a package's `__main__`; returns an exit code."""
    _set_path(os.getcwd())
    sys.argv[:] = ["-m", *arguments]
    install_as_jax()
    spec, problem = _find_module(name)
    if spec is None:
        print(f"{sys.executable}: {problem}", file=sys.stderr)
        return 1
    sys.argv[0] = spec.origin or name
    loader: Any = spec.loader
    return _run(lambda: loader.get_code(spec.name), spec, spec.origin, package=spec.parent)


def _find_module(name: str) -> tuple[importlib.machinery.ModuleSpec | None, str]:
    """Returns the spec of the module that `-m name` runs, or None and the reason."""
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            package, name = name, f"{name}.__main__"
            spec = importlib.util.find_spec(name)
            if spec is None:
                return None, (
                    f"No module named {name}; {package!r} is a package and cannot be directly executed"
                )
    except ImportError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        spec = None
    if spec is None or spec.loader is None:
        return None, f"No module named {name}"
    if not hasattr(spec.loader, "get_code"):
        return None, f"No code object available for {name}"
    return spec, ""


@record(frozen=True, eq=False)
class Ended:
    """The outcome of a program.

    Attributes:
      status: its exit code; if it could not be started, the exit code that `python` would return.
      error: the exception that it raised, including SystemExit and KeyboardInterrupt; None if it
        ended normally.
    """

    status: int
    error: BaseException | None

    @property
    def has_run(self) -> bool:
        """Whether the program was started."""
        return self.status == 0 or self.error is not None

    @property
    def is_well(self) -> bool:
        """Whether it ended normally, or exited with code 0."""
        left = isinstance(self.error, SystemExit) and not self.error.code
        return self.status == 0 or left

    def leave(self) -> int:
        """Raises the exception that ended the program, if any; otherwise returns its exit code."""
        if self.error is not None:
            raise self.error
        return self.status


def run_to_end(words: Sequence[str]) -> Ended:
    """Runs a program like `run_words`, but returns its exception so that reports can come first."""
    try:
        return Ended(run_words(words), None)
    except BaseException as error:
        return Ended(1, error)


def _lines(source: str | bytes) -> list[str]:
    """Returns the lines of source text.

    Returns no lines if the source cannot be decoded; compiling it raises the error.
    """
    try:
        text = source if isinstance(source, str) else importlib.util.decode_source(source)
    except (SyntaxError, UnicodeDecodeError):
        return []
    return text.splitlines(keepends=True)


def _compile(source: str | bytes, filename: str) -> CodeType:
    return compile(source, filename, "exec", dont_inherit=True)


def _set_path(first: str) -> None:
    """Replaces this command's folder in `sys.path` by the program's folder."""
    if sys.flags.safe_path:
        return
    sys.path[:1] = [first]


def _run(
    get_code: Callable[[], CodeType],
    spec: importlib.machinery.ModuleSpec | None,
    file: str | None,
    package: str | None = None,
) -> int:
    install_as_jax()
    _collect_less_often()
    module = ModuleType("__main__")
    module.__spec__ = spec
    module.__package__ = package
    module.__loader__ = spec.loader if spec else None
    if file is not None:
        module.__file__ = file
    module.__dict__["__builtins__"] = sys.modules["builtins"]
    _former.append(sys.modules["__main__"])
    sys.modules["__main__"] = module
    try:
        code = get_code()
        exec(code, module.__dict__)
    except SystemExit as error:
        _end_other_processes(error.code)
        raise
    except BaseException:
        hide_own_frames()
        raise
    return 0


def _collect_less_often() -> None:
    """Raises the threshold of the garbage collector's youngest generation, unless it is off."""
    young, *older = gc.get_threshold()
    if 0 < young < _YOUNG_OBJECTS:
        gc.set_threshold(_YOUNG_OBJECTS, *older)


def _end_other_processes(code: object) -> None:
    """Ends the other processes of a distributed program that exits with an error code."""
    joining = sys.modules.get("jitney.runtime.distributed.initialize")
    if joining is not None and code not in (None, 0):
        joining.end_all(f"sys.exit({code!r})", code if isinstance(code, int) else 1)


def hide_own_frames() -> None:
    """Makes tracebacks begin with the first frame of the program."""
    show = sys.excepthook

    def show_program_frames(
        kind: type[BaseException], error: BaseException, tb: TracebackType | None
    ) -> None:
        while tb is not None and not _is_main_frame(tb):
            tb = tb.tb_next
        show(kind, error.with_traceback(tb), tb)

    sys.excepthook = show_program_frames


def _is_main_frame(tb: TracebackType) -> bool:
    return tb.tb_frame.f_globals is sys.modules["__main__"].__dict__
