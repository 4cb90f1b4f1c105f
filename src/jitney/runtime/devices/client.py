"""Clients: the devices of one platform, in this process and the processes that it has joined.

The host's client is created when a device is first requested or an array is created. The number of
this process's devices is fixed then: `jax_num_cpu_devices`, or else the number in `XLA_FLAGS`.
Devices are numbered process by process.
"""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from jitney.core.array import Array
from jitney.core.diagnostics.errors import JaxRuntimeError
from jitney.core.settings import config
from jitney.core.tracing.trace import Tracer
from jitney.core.util.record import record
from jitney.runtime.devices import processes
from jitney.runtime.devices.device import Device, thread_count
from jitney.runtime.native._native import Queue, ThreadPool, use_device

if TYPE_CHECKING:
    from jitney.runtime.devices.compile_options import CompileOptions
    from jitney.runtime.devices.layout import DeviceLayout

_FLAG = "--xla_force_host_platform_device_count="


@record(frozen=True)
class ForeignProgram:
    """A program in a form other than a jaxpr: the name of the form, and its text."""

    form: str
    text: str | bytes


class Executables(Protocol):
    """The operations of clients on executables, which a higher layer sets (`use_executables`)."""

    def compile_and_load(
        self, owner: Client, computation: object, devices: Sequence[Device],
        options: CompileOptions | None,
    ) -> Any: ...  # fmt: skip
    def serialize(self, executable: Any) -> bytes: ...
    def deserialize(self, owner: Client, serialized: bytes, devices: Sequence[Device]) -> Any: ...
    def heap_profile(self, platform: str) -> bytes: ...


_executables: list[Executables] = []
live_executables: weakref.WeakSet[Any] = weakref.WeakSet()


def use_executables(executables: Executables) -> None:
    """Sets the operations of clients on executables."""
    _executables[:] = [executables]


def live_arrays() -> list[Any]:
    """Returns all arrays that hold data."""
    return [
        x
        for x in gc.get_objects()
        if issubclass(type(x), Array) and not issubclass(type(x), Tracer) and not x.is_deleted()
    ]


class Client:
    """The devices of one platform, each of which belongs to a process.

    Attributes:
      platform: "cpu".
      first: the device of this process with the lowest number.
      queue: the queue of programs over several devices, which use the threads of all of them.
    """

    platform: str = ""
    platform_version = "jitney"
    runtime_type = "jitney"
    is_c_api = False

    def __init__(
        self, platform: str, process_index: int, device_counts: Sequence[int], threads: int
    ) -> None:
        """Creates a client of the devices of all processes.

        Args:
          platform: "cpu".
          process_index: the number of this process.
          device_counts: the number of devices of each process.
          threads: the number of threads of this process, which are divided among its devices; each
            device has at least one.
        """
        self.platform = platform
        self._process_index = process_index
        devices: list[Device] = []
        for process, count in enumerate(device_counts):
            for i in range(count):
                share = threads * (i + 1) // count - threads * i // count
                is_own = process == process_index
                own_threads = max(1, share) if is_own else None
                devices.append(Device(len(devices), self, platform, own_threads, process, i))
        self._devices = tuple(devices)
        self.first = devices[sum(device_counts[:process_index])]
        is_single = device_counts[process_index] == 1
        self.queue = self.first.queue if is_single else Queue(ThreadPool(threads))

    def devices(self) -> list[Device]:
        """Returns all devices, including those of other processes."""
        return list(self._devices)

    def local_devices(self, process_index: int | None = None) -> list[Device]:
        """Returns the devices of a process, by default of this one."""
        number = self._process_index if process_index is None else process_index
        return [d for d in self._devices if d.process_index == number]

    def process_indices(self) -> list[int]:
        """Returns the numbers of the processes that have devices."""
        return list(dict.fromkeys([d.process_index for d in self._devices]))

    def device_count(self) -> int:
        return len(self._devices)

    def local_device_count(self) -> int:
        return len(self.local_devices())

    def process_index(self) -> int:
        """Returns the number of this process."""
        return self._process_index

    host_id = task_id = process_index

    def device_from_local_hardware_id(self, local_hardware_id: int) -> Device:
        """Returns this process's device with the given number among its own devices.

        Raises:
          IndexError: if there is none.
        """
        return self.local_devices()[local_hardware_id]

    def device(self, id: int) -> Device:  # noqa: A002
        """Returns the device with the given id.

        Raises:
          ValueError: if there is none.
        """
        for device in self._devices:
            if device.id == id:
                return device
        raise ValueError(f"{self} has no device with id {id}")

    def compile_ifrt_program(self, program: ForeignProgram, options: CompileOptions) -> NoReturn:
        """Rejects a program that is not a jaxpr, as no other form is supported.

        Raises:
          JaxRuntimeError: always.
        """
        raise JaxRuntimeError(
            f"{self} compiles only programs traced by jax.jit; {program.form} programs are for "
            "other runtimes"
        )

    # --- programs and arrays -------------------------------------------------------------------------

    def compile_and_load(
        self,
        computation: object,
        executable_devices: Sequence[Device] = (),
        compile_options: CompileOptions | None = None,
    ) -> Any:
        """Compiles a program in the tensor IR for a device.

        Args:
          computation: the program, from `jax.jit(f).lower(...).compiler_ir()`, or its text.
          executable_devices: the device, in a sequence; by default the one that the options name,
            or else the first.
          compile_options: options.

        Returns: an executable. Its method `run` maps a sequence of arrays to a list of arrays.

        Raises:
          JaxRuntimeError: if `computation` is not such a program.
          ValueError: if several devices are named.

        Example:
          >>> client = jax.devices()[0].client
          >>> program = jax.jit(jnp.negative).lower(jnp.ones(2)).compiler_ir()
          >>> client.compile_and_load(program, jax.devices()[:1]).run([jnp.ones(2)])
          [Array([-1., -1.], dtype=float32)]
        """
        return _executables[0].compile_and_load(
            self, computation, executable_devices, compile_options
        )

    compile = compile_and_load

    def serialize_executable(self, executable: Any) -> bytes:
        """Serializes an executable to bytes.

        Raises:
          ValueError: if its program was not kept, or calls Python functions of this process.
        """
        return _executables[0].serialize(executable)

    def deserialize_executable(
        self,
        serialized: bytes,
        executable_devices: Sequence[Device] = (),
        compile_options: CompileOptions | None = None,
    ) -> Any:
        """Returns the executable from the bytes that `serialize_executable` returned.

        Security: load data from trusted sources only; loading executes code.

        Args:
          serialized: the bytes.
          executable_devices: the device, in a sequence; by default the one with the id of the
            device for which it was compiled.
          compile_options: accepted for compatibility.

        Raises:
          ValueError: if the bytes are of another kind, or several devices are named.
        """
        return _executables[0].deserialize(self, serialized, executable_devices)

    def live_executables(self) -> list[Any]:
        """Returns the executables that are in memory."""
        while True:
            try:
                return list(live_executables)
            except RuntimeError:  # another thread has compiled a program meanwhile
                continue

    def live_arrays(self) -> list[Any]:
        """Returns all arrays that hold data."""
        return live_arrays()

    live_buffers = live_arrays

    def heap_profile(self) -> bytes:
        """Returns a profile of the memory of live arrays, for `pprof`."""
        return _executables[0].heap_profile(self.platform)

    def get_default_layout(
        self, dtype: Any, shard_shape: Sequence[int], device: Device
    ) -> DeviceLayout:
        """Returns the layout of arrays of a type on a device: row-major order."""
        from jitney.runtime.devices.layout import DeviceLayout  # late: few programs ask for it

        return DeviceLayout(len(shard_shape))

    def __reduce__(self) -> tuple[Callable[[str], Client], tuple[str]]:
        return client, (self.platform,)

    def __repr__(self) -> str:
        return f"<Client of platform {self.platform!r}, {self.device_count()} devices>"


backends: dict[str, Client] = {}  # clients created so far, by platform


@cache
def host_client() -> Client:
    """Returns the client of the host's CPU, created at the first request.

    Raises:
      ValueError: if settings contradict each other about its devices.
      RuntimeError: if `jax_platforms` excludes the CPU.
    """
    platforms = config.platforms.global_value
    if platforms and "cpu" not in platforms.split(","):
        raise RuntimeError(
            f"jax_platforms is {platforms!r}, but the only platform is cpu: unset the environment "
            "variable JAX_PLATFORMS, or set it to 'cpu'"
        )
    counts = processes.joined.device_counts or (own_device_count(),)
    host = backends["cpu"] = Client("cpu", processes.joined.rank, counts, thread_count())
    config.num_cpu_devices.frozen = (
        "jax_num_cpu_devices can be set only before devices are created, by the first array or "
        "jax.devices(): set it right after the import"
    )
    return host


def own_device_count() -> int:
    """Returns the number of devices that settings request: the option, else XLA's flag."""
    requested = config.num_cpu_devices.global_value
    words = os.environ.get("XLA_FLAGS")
    if requested > 0 or not words:
        return max(1, requested)
    flags = [word.removeprefix(_FLAG) for word in words.split() if word.startswith(_FLAG)]
    return max(1, int(flags[-1])) if flags else 1


def client(backend: str | None = None) -> Client:
    """Returns the client of platform `backend`, by default of the default platform.

    Raises:
      RuntimeError: if there is no such platform.
    """
    if backend not in (None, "cpu"):
        raise RuntimeError(
            f"there are no devices of the platform '{backend}'; the only platform is cpu"
        )
    return host_client()


def default_device() -> Device:
    """Returns the device of uncommitted arrays: `jax_default_device`, or else the first device."""
    chosen = config.default_device.value
    if isinstance(chosen, Device):
        return chosen
    return client(chosen).first


def only_default_device() -> Device:
    """Returns the first device, and lets native code use it until a default is chosen."""
    device = host_client().first
    use_device(device)
    return device
