"""Compilation of programs in tensor IR for a device, and executables as bytes.

The methods `compile_and_load`, `serialize_executable` and `deserialize_executable` of a client are
implemented here.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.diagnostics.errors import JaxRuntimeError
from jitney.core.types.avals import ShapedArray
from jitney.runtime.compilation import compiling
from jitney.runtime.compilation.lazy_compiler import linker
from jitney.runtime.execution.assignment import assign, over
from jitney.runtime.execution.executable import Executable

if TYPE_CHECKING:
    from jitney.compiler.hlo import ir
    from jitney.runtime.devices.client import Client
    from jitney.runtime.devices.compile_options import CompileOptions
    from jitney.runtime.devices.device import Device

_FORMAT = "jitney executable 1"
_KEY = "executable"  # a program's file name; in the persistent cache it is a digest


def compile_and_load(
    owner: Client, computation: object, devices: Sequence[Device], options: CompileOptions | None
) -> Executable:
    """Returns the executable of a program for a device; see `Client.compile_and_load`."""
    module = _module(computation)
    device = _only(owner, devices, options)
    return _assigned(module, compiling.backend_compile_and_load(owner, module), device)


def _module(computation: Any) -> ir.Module:
    """Returns a program in tensor IR, which may be given as text.

    Raises:
      JaxRuntimeError: if it is neither, or the text cannot be read.
    """
    from jitney.compiler.hlo import ir
    from jitney.compiler.hlo.parse import parse_module

    if isinstance(computation, ir.Module):
        return computation
    text = computation.decode() if isinstance(computation, bytes) else computation
    if not isinstance(text, str):
        raise JaxRuntimeError(
            "compile_and_load: expected a program from jax.jit(f).lower(...).compiler_ir(), or its "
            f"text from .as_text(), but got {computation!r} of type {type(computation).__name__}"
        )
    try:
        return parse_module(text)
    except (ValueError, KeyError) as error:
        raise JaxRuntimeError(f"compile_and_load: the text is not a program: {error}") from error


def _only(owner: Client, devices: Sequence[Device], options: CompileOptions | None) -> Device:
    """Returns the device that runs a program.

    Raises:
      ValueError: if several are named.
    """
    given = list(devices)
    chosen = None if options is None else options.device_assignment
    if not given and chosen is not None:
        given = [owner.device(i) for i in chosen.ids]
    count = 1 if options is None else options.num_replicas * options.num_partitions
    if len(given) > 1 or count > 1:
        raise ValueError(
            f"compile_and_load: expected one device, got {max(len(given), count)}; a program does "
            "not include shardings of its arguments. To compile for several devices, use jax.jit "
            "with in_shardings"
        )
    return given[0] if given else owner.first


def _type_of(node: ir.Node) -> ShapedArray:
    stored: Any = node.type
    return ShapedArray(stored.shape, stored.dtype)


def _assigned(module: ir.Module, program: Any, device: Device) -> Executable:
    ins = [_type_of(x) for x in module.region.parameters]
    outs = [_type_of(x) for x in module.region.results]
    default = assign(())
    place = default if default.devices == (device,) else over((device,), default, len(ins))
    executable = Executable(module.name, program, ins, outs, place)
    executable.module = module
    return executable


def serialize(executable: Executable) -> bytes:
    """Returns an executable as bytes, for `deserialize`.

    Raises:
      ValueError: if its program is not known, or calls Python functions of this process.
    """
    from jitney.compiler.hlo.text import print_module
    from jitney.runtime.cache import disk_cache

    module = executable.module
    if module is None:
        raise ValueError(
            f"serialize_executable: the program of {executable.name} was not kept; compile it with "
            "jax.jit(f).lower(...).compile()"
        )
    if executable.program.links.callbacks:
        raise ValueError(
            f"serialize_executable: {executable.name} calls Python functions of this process "
            "(callbacks), which cannot be serialized; remove them"
        )
    contents = {
        "format": _FORMAT,
        "text": print_module(module, elide_above=2**62),
        "device": executable.assignment.devices[0].id,
        "code": disk_cache.as_files(_KEY, module, executable.program),
    }
    return pickle.dumps(contents)


def deserialize(owner: Client, serialized: bytes, devices: Sequence[Device]) -> Executable:
    """Returns the executable from the bytes that `serialize` returned.

    If the machine code is for another machine, the program is compiled again.

    Raises:
      ValueError: if the bytes are not a serialized executable, or if several devices are named.
    """
    from jitney.compiler.hlo.parse import parse_module
    from jitney.runtime.cache import disk_cache

    try:
        contents = pickle.loads(serialized)
        is_known = contents["format"] == _FORMAT
    except Exception as error:
        raise ValueError(
            "deserialize_executable: the bytes are not an executable returned by "
            "serialize_executable"
        ) from error
    if not is_known:
        raise ValueError(
            "deserialize_executable: the bytes were written by another version of this package; "
            "serialize the executable again"
        )
    module = parse_module(contents["text"])
    device = _only(owner, devices, None) if devices else owner.device(contents["device"])
    linker()
    code = contents["code"]
    program = None if code is None else disk_cache.from_files(code, _KEY, module)
    if program is None:
        program = compiling.backend_compile_and_load(owner, module)
    return _assigned(module, program, device)
