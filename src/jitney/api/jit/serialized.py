"""Serialization of compiled programs: `jax.experimental.serialize_executable`.

The bytes contain the program as text in the tensor IR, its types and shardings, and its machine
code. Loading uses the machine code if it was compiled for the same type of machine by the same
version of the compiler; otherwise it compiles the program from its text.
"""

# Arguments from users are checked, regardless of annotations.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from jitney.api.jit.jit_call import TracedProgram
from jitney.api.jit.stages import Compiled
from jitney.core.messages import messages
from jitney.core.program.jaxpr import is_high
from jitney.core.types.refs import any_refs
from jitney.primitives.call.loaded import loaded_jaxpr
from jitney.runtime.compilation.lazy_compiler import linker
from jitney.runtime.devices import client
from jitney.runtime.devices.device import Device
from jitney.runtime.devices.sharding import UNSPECIFIED, DeviceOfJit
from jitney.runtime.execution.assignment import NO_REQUESTS, RequestedShardings, assign
from jitney.runtime.execution.executable import Executable, Lowering

if TYPE_CHECKING:
    from typing import TypedDict

    from jitney.compiler.hlo import ir
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.runtime.devices.client import Client

if TYPE_CHECKING:

    class _Head(TypedDict):
        """The dict that `serialize` writes."""

        format: object
        name: str
        text: str
        arg_names: tuple[str, ...]
        donated: tuple[bool, ...]
        given_up: tuple[bool, ...]
        keep_unused: bool
        placed: bytes
        devices: list[int]
        code: dict[str, bytes] | None


_FORMAT = 1
_KEY = "serialized"  # the file name of a program; in the persistent cache, file names are digests


class _Pickler(pickle.Pickler):
    """A pickler that writes devices as ids, and records which devices occur."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.devices: list[int] = []

    def persistent_id(self, obj: object) -> object:
        if not isinstance(obj, Device):
            return None
        if obj.id not in self.devices:
            self.devices.append(obj.id)
        return obj.id


class _Unpickler(pickle.Unpickler):
    """An unpickler that looks up devices by id in `devices`."""

    def __init__(self, data: bytes, owner: Client, devices: dict[int, Device]) -> None:
        super().__init__(io.BytesIO(data))
        self._owner = owner
        self._devices = devices

    def persistent_load(self, pid: Any) -> Device:
        return self._devices.get(pid) or self._owner.device(pid)


def _pickled(value: object) -> tuple[bytes, list[int]]:
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(value)
    return file.getvalue(), pickler.devices


def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """Returns a compiled function as bytes, and the structures of its arguments and of its result.

    Args:
      compiled: the result of `jax.jit(f).lower(...).compile()`.

    Raises:
      TypeError: if `compiled` is not a compiled program.
      ValueError: if the program calls Python functions, takes mutable references, or depends on an
        enclosing trace.

    Example:
      >>> compiled = jax.jit(lambda x: x + 1).lower(1.0).compile()
      >>> data, in_tree, out_tree = serialize(compiled)
      >>> deserialize_and_load(data, in_tree, out_tree)(2.0)
      Array(3., dtype=float32, weak_type=True)
    """
    from jitney.compiler.hlo.text import print_module
    from jitney.runtime.cache import disk_cache

    if not isinstance(compiled, Compiled):
        raise TypeError(
            "serialize takes a compiled program, the result of jax.jit(f).lower(x).compile(), not "
            f"{compiled!r} of type {type(compiled).__name__}"
        )
    program, lowering = compiled.program, compiled.lowering
    closed = program.closed
    why = None
    if program.outer_tracers:
        why = "it closes over values of a function that is being traced: pass them as arguments"
    elif any_refs(closed.in_avals) or is_high(closed):
        why = "it takes mutable references or values of user-defined types: pass arrays"
    elif _calls_python(lowering.module.region):
        why = "it calls Python functions of this process (callbacks): remove them"
    if why is not None:
        raise ValueError(f"serialize: jit({compiled.fun_name}) cannot be serialized: {why}")
    names = closed.jaxpr.debug_info.safe_arg_names(len(closed.in_avals))
    placed, devices = _pickled(
        {
            "in_avals": tuple(closed.in_avals),
            "out_avals": tuple(closed.out_avals),
            "requests": _parts(program.requests()),
            "places": compiled.places,
        }
    )
    return (
        pickle.dumps(
            {
                "format": _FORMAT,
                "name": compiled.fun_name,
                "text": print_module(lowering.module, elide_above=2**62),
                "arg_names": tuple(names),
                "donated": tuple(program.params["donated_invars"]),
                "given_up": program.consumed(on_mesh=False),
                "keep_unused": program.params["keep_unused"],
                "placed": placed,
                "devices": devices,
                "code": disk_cache.as_files(_KEY, lowering.module, lowering.compile().program),
            }
        ),
        compiled.in_tree,
        compiled.out_tree,
    )


def _parts(requests: RequestedShardings) -> tuple[object, object, object] | None:
    return (
        None if requests is NO_REQUESTS else (requests.operands, requests.results, requests.within)
    )


def _calls_python(region: ir.Region) -> bool:
    from jitney.compiler.hlo import ir, traversal

    for node in traversal.topological_order(traversal.roots(region)):
        inner = [r for _, r in traversal.regions(node)]
        if isinstance(node, ir.HostCall) or any(map(_calls_python, inner)):
            return True
    return False


def _head_of(serialized: bytes) -> _Head:
    """Returns the dict that `serialize` wrote, in which types and shardings are still pickled.

    Raises:
      ValueError: if the bytes were not written by `serialize` with the same format.
    """
    try:
        head = pickle.loads(serialized)
    except Exception as error:
        raise ValueError("deserialize_and_load: the bytes are not a serialized program") from error
    written = cast("_Head", head) if isinstance(head, dict) else None
    if written is None or written.get("format") != _FORMAT:
        raise ValueError(
            "deserialize_and_load: the bytes are not a serialized program, or were written by "
            "another version of this package: serialize the program again"
        )
    return written


def deserialize_and_load(
    serialized: bytes,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    backend: str | Client | None = None,
    execution_devices: Sequence[Device] | None = None,
) -> Compiled:
    """Loads a compiled function from the bytes that `serialize` returned.

    Security: load data from trusted sources only; loading executes code.

    Args:
      serialized: the bytes.
      in_tree, out_tree: the structures that `serialize` returned with them.
      backend: the name of the platform, or its client; None is the default platform.
      execution_devices: the devices that run the program; by default those with the ids of the
        devices for which it was compiled.

    Raises:
      ValueError: if `serialized` is not a serialized program, was written in the format of another
        version, or was compiled for another number of devices.
      RuntimeError: if the platform is unknown.
    """
    from jitney.compiler.hlo.parse import parse_module
    from jitney.runtime.cache import disk_cache

    owner = client.client(backend) if backend is None or isinstance(backend, str) else backend
    head = _head_of(serialized)
    chosen = None if execution_devices is None else tuple(execution_devices)
    numbers: list[int] = head["devices"]
    if chosen is not None and len(chosen) != max(1, len(numbers)):
        raise ValueError(
            f"deserialize_and_load: jit({head['name']}) was compiled for "
            f"{messages.counted(max(1, len(numbers)), 'device')}, but execution_devices has "
            f"{len(chosen)}: {list(chosen)}"
        )
    devices = {} if chosen is None else dict(zip(numbers, chosen, strict=False))
    placed = _Unpickler(head["placed"], owner, devices).load()
    module = parse_module(head["text"])
    in_avals, out_avals = placed["in_avals"], placed["out_avals"]
    requests = (
        NO_REQUESTS if placed["requests"] is None else RequestedShardings(*placed["requests"])
    )
    if chosen is not None and not numbers:
        requests = RequestedShardings(operands=(DeviceOfJit(chosen[0]),) * len(in_avals))
    params = {
        "donated_invars": head["donated"],
        "keep_unused": head["keep_unused"],
        "in_shardings": requests.operands or (UNSPECIFIED,) * len(in_avals),
        "out_shardings": requests.results or (UNSPECIFIED,) * len(out_avals),
    }
    jaxpr = loaded_jaxpr(module, in_avals, out_avals, head["arg_names"])
    program = TracedProgram(jaxpr, out_tree, (), params, head["given_up"], requests)
    lowering = Lowering(module, in_avals, out_avals)
    linker()
    code = None if head["code"] is None else disk_cache.from_files(head["code"], _KEY, module)
    if code is not None:
        lowering = Lowering(
            module, in_avals, out_avals,
            Executable(module.name, code, in_avals, out_avals, assign(())),
        )  # fmt: skip
    return Compiled(program, in_tree, head["name"], lowering, {}, placed["places"])
