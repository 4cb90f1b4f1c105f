"""`jax.extend.ifrt_programs`: programs in formats other than jaxprs, for runtimes that accept them.

The runtime of jitney does not accept any of them: `Client.compile_ifrt_program` raises an error.
The constructors exist because libraries that also support other runtimes import their names.
"""

from __future__ import annotations

from types import SimpleNamespace

from jitney.core.util.lazy import listing
from jitney.runtime.devices.client import ForeignProgram
from jitney.runtime.devices.compile_options import CompileOptions

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
