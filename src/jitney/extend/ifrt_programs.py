"""`jax.extend.ifrt_programs`: programs in other forms than jaxprs, for runtimes that take them.

This package's runtime takes none: `Client.compile_ifrt_program` raises. Constructors of such programs
are here for libraries that support other runtimes, and import these names.
"""

from __future__ import annotations

from types import SimpleNamespace

from jitney.core.lazy import listing
from jitney.runtime.client import CompileOptions, ForeignProgram

__dir__ = listing(__name__)


def _make_plugin_program(text: str | bytes) -> ForeignProgram:
    return ForeignProgram("plugin", text)


def _make_hlo_program(text: str | bytes) -> ForeignProgram:
    return ForeignProgram("HLO", text)


ifrt_programs = SimpleNamespace(
    Program=ForeignProgram,
    CompileOptions=CompileOptions,
    make_plugin_program=_make_plugin_program,
    make_plugin_compile_options=CompileOptions,
    make_hlo_program=_make_hlo_program,
    make_xla_compile_options=CompileOptions,
)
