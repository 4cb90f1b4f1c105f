"""The registry of passes that generate source maps."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from jitney.api.jit.jit import jit
from jitney.core.util.lazy import listing
from jitney.experimental.source_mapper.sourcemap import SourceMap

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

__dir__ = listing(__name__)


class SourceMapDump(NamedTuple):
    """The text of a program, with the source locations of its lines.

    Attributes:
      source_map: source map of the text.
      generated_code: text of the program.
      pass_name: name of the pass that generated the text.
    """

    source_map: SourceMap
    generated_code: str
    pass_name: str


class Pass(NamedTuple):
    """A stage of compilation.

    Attributes:
      name: name of the pass, by which `filter_passes` selects it.
      compile_fn: function (working folder, function, arguments, keyword arguments, **options) ->
        program.
      generate_dump: function (program, **options) -> `SourceMapDump`.
    """

    name: str
    compile_fn: Callable[..., Any]
    generate_dump: Callable[..., SourceMapDump]


_passes: dict[str, Pass] = {}


def register_pass(pass_: Pass) -> None:
    """Registers a pass.

    Raises:
      ValueError: if a pass of this name is already registered.
    """
    if pass_.name in _passes:
        raise ValueError(f"register_pass: pass {pass_.name!r} is already registered")
    _passes[pass_.name] = pass_


def all_passes() -> Sequence[Pass]:
    """Returns all passes."""
    return list(_passes.values())


def filter_passes(regex: str) -> Sequence[Pass]:
    """Returns the passes whose names begin with a match of the regular expression.

    Example:
      >>> from jax.experimental import source_mapper
      >>> [p.name for p in source_mapper.filter_passes("jax")]
      ['jaxpr']
    """
    return [x for x in _passes.values() if re.match(regex, x.name)]


def compile_with_env(
    f: Callable[..., Any],
    f_args: Sequence[PyTree],
    f_kwargs: Mapping[str, PyTree],
    env_flags: Mapping[str, str],
    compiler_flags: Mapping[str, Any],
) -> None:
    """Compiles a function with the given environment variables and compiler options.

    Args:
      f: function to be compiled.
      f_args, f_kwargs: arguments of `f`.
      env_flags: environment variables that are set during compilation.
      compiler_flags: options of `Lowered.compile`.
    """
    with _environment(env_flags):
        jit(f).lower(*f_args, **f_kwargs).compile(dict(compiler_flags))


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
