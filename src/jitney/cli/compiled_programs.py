"""The functions that a program compiles, for the commands that show what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jitney.cli import run

if TYPE_CHECKING:
    from jitney.compiler.codegen.linking import CompiledProgram
    from jitney.compiler.hlo import ir
    from jitney.runtime.client import Client


def run_and_collect(
    path: str, arguments: Sequence[str], function: str | None
) -> tuple[int, list[ir.Module]]:
    """Runs a program; gives its exit code, and the functions of its own that were compiled, in order.

    Args:
      path, arguments: of the program.
      function: the name of the only function that is asked for; None for all.
    """
    with collected() as modules:
        status = run.run_path(path, arguments)
    own = [module for module in modules if _is_users(module)]
    if function is not None:
        own = [module for module in own if module.name == function]
    return status, own


@contextmanager
def collected() -> Iterator[list[ir.Module]]:
    """The programs that are compiled, or found on disk, within the context."""
    from jitney.runtime import compiling

    modules: list[ir.Module] = []
    load = compiling.backend_compile_and_load

    def load_and_note(backend: Client, module: ir.Module) -> CompiledProgram:
        modules.append(module)
        return load(backend, module)

    compiling.backend_compile_and_load = load_and_note
    try:
        yield modules
    finally:
        compiling.backend_compile_and_load = load


def _is_users(module: ir.Module) -> bool:
    """Whether a program comes from a function of the user's, not from an operation of this package."""
    from jitney.core import source_info

    file = None if module.jaxpr is None else module.jaxpr.debug_info.func_filename
    return file is not None and not any(map(file.startswith, source_info.exclude_paths))
