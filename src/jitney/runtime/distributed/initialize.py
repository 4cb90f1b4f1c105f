"""`jax.distributed.initialize()`: joins the processes that `mpiexec` has started.

The processes exchange their device counts; from then on each of them sees all devices
(`jitney.runtime.devices.client`). If settings differ between processes, all of them raise an error.
A process that ends with an error, or with an exit code other than 0, ends all of them (`end_all`).
If a process is killed, `mpiexec` ends the others, and a watcher reports which process it was
(`death_watch`).
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

from jitney import version
from jitney.core.settings import config
from jitney.core.util.record import record
from jitney.runtime.devices import client, device, processes
from jitney.runtime.devices.processes import joined
from jitney.runtime.distributed import death_watch

if TYPE_CHECKING:
    from mpi4py import MPI

# Variables by which MPI launchers pass a process its number: MPICH and Slurm, Open MPI, MVAPICH.
_LAUNCHED = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK")
_METHODS = (None, "mpi4py")


class State:
    """The state of the processes, which libraries inspect (`jax._src.distributed.global_state`).

    Attributes:
      process_id: the number of this process.
      num_processes: the number of processes; None before `initialize`.
      coordinator_address: the address passed to `initialize`; MPI needs none.
      client, service, preemption_sync_manager: None; in JAX, these are services by which processes
        synchronize, which is done by MPI here.
      partition_index: the index passed to `initialize`.
    """

    def __init__(self) -> None:
        self.process_id = 0
        self.num_processes: int | None = None
        self.coordinator_address: str | None = None
        self.client: None = None
        self.service: None = None
        self.preemption_sync_manager: None = None
        self.partition_index: int | None = None
        self.is_initialized = False


global_state = State()


def is_initialized() -> bool:
    """Returns whether `initialize` has been called, without a later `shutdown`.

    Example:
      >>> jax.distributed.is_initialized()
      False
    """
    return global_state.is_initialized


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
    mtls_cert_file: str | None = None,
    mtls_key_file: str | None = None,
    mtls_ca_file: str | None = None,
    mtls_peer_uri_prefix: str | None = None,
    verify_secure_credentials: bool | None = None,
) -> None:
    """Joins the processes that `mpiexec` has started; `jax.devices()` then lists all devices.

    Each process must call it once, before it creates arrays or lists devices.

    Args:
      coordinator_address: not needed, since MPI connects the processes; if given, it must be the
        same in all processes.
      num_processes: the number of processes; if given, it must be the number that MPI reports.
      process_id: the number of this process; if given, it must be its MPI rank.
      local_device_ids: the numbers of the devices that this process uses, among those that the
        settings specify; by default all.
      cluster_detection_method: "mpi4py", or None for the same.
      initialization_timeout, heartbeat_timeout_seconds, shutdown_timeout_seconds,
        coordinator_bind_address, slice_index: accepted for compatibility.
      partition_index: stored for readers of `global_state`.
      mtls_cert_file, mtls_key_file, mtls_ca_file, mtls_peer_uri_prefix, verify_secure_credentials:
        must be omitted. MPI makes the connections, and this package cannot encrypt them.

    Raises:
      RuntimeError: if it was called before, or if devices have already been created.
      ValueError: if encrypted connections are requested; if no MPI environment is found; in all
        processes, if the arguments of one contradict MPI, or if settings differ between processes.
      ImportError: if mpi4py is not installed.
    """
    if global_state.is_initialized:
        raise RuntimeError(
            "jax.distributed.initialize: this process has joined the others already; to leave "
            "them, call jax.distributed.shutdown"
        )
    if client.backends:
        raise RuntimeError(
            "jax.distributed.initialize: the devices of this process exist already, because an array "
            "was created or devices were listed; call it right after the import"
        )
    if cluster_detection_method not in _METHODS:
        raise ValueError(
            "jax.distributed.initialize: cluster_detection_method must be 'mpi4py' or None, but "
            f"is {cluster_detection_method!r}"
        )
    secured = (mtls_cert_file, mtls_key_file, mtls_ca_file, mtls_peer_uri_prefix)
    if any([x is not None for x in secured]) or verify_secure_credentials:
        raise ValueError(
            "jax.distributed.initialize: the processes communicate through MPI, which does not "
            "support TLS; omit mtls_... and verify_secure_credentials, and secure the network "
            "instead"
        )
    if is_launched():
        _join_by_mpi(
            _ProcessArguments(coordinator_address, num_processes, process_id, local_device_ids)
        )
    else:
        _be_alone(coordinator_address, num_processes, process_id)
        joined.device_counts = (len(_own_devices(local_device_ids)),)
    global_state.process_id = joined.rank
    global_state.num_processes = joined.size
    global_state.coordinator_address = coordinator_address
    global_state.partition_index = partition_index
    global_state.is_initialized = True
    client.host_client()


def is_launched() -> bool:
    """Returns whether a launcher of MPI programs started this process."""
    return any([name in os.environ for name in _LAUNCHED])


def shutdown() -> None:
    """Leaves the group of processes, after all have called it.

    Arrays on other processes' devices are lost.

    Example:
      >>> jax.distributed.shutdown()  # does nothing if `initialize` was not called
    """
    if joined.world is not None:
        processes.meet("jax.distributed.shutdown()")
        _end_watch()
        for comm in (*joined.meetings.values(), joined.world):
            comm.Free()
        joined.meetings.clear()
        joined.world = None
    global_state.__init__()


# --- joining ------------------------------------------------------------------------------------------


def _be_alone(
    coordinator_address: str | None, num_processes: int | None, process_id: int | None
) -> None:
    """Checks that the arguments describe a single process, as no MPI launcher started this one."""
    cure = "start the program with `mpiexec -n 4 python -m jitney program.py`"
    if num_processes is None or num_processes > 1:
        expected = "" if num_processes is None else f" of num_processes={num_processes}"
        raise ValueError(
            "jax.distributed.initialize: no MPI environment was found, so there is no "
            f"process{expected} to join: {cure}; to run it in one process, coordinator_address "
            "should be defined, and num_processes should be 1"
        )
    if coordinator_address is None:
        raise ValueError(
            "jax.distributed.initialize: coordinator_address should be defined, with any value, "
            "or " + cure
        )
    if num_processes != 1 or process_id not in (None, 0):
        raise ValueError(
            f"jax.distributed.initialize: process_id={process_id} of "
            f"num_processes={num_processes}: num_processes must be at least 1, and process_id must "
            "be at least 0 and less than num_processes"
        )


@record(frozen=True)
class _ProcessArguments:
    """The arguments of `initialize` that describe the processes."""

    address: str | None
    size: int | None
    rank: int | None
    devices: int | Sequence[int] | None

    def problem(self, rank: int, size: int) -> str:
        """Returns why process `rank` of `size` does not match the arguments; empty if it does."""
        if self.size not in (None, size):
            return f"num_processes={self.size}, but mpiexec has started {size}"
        if self.rank not in (None, rank):
            return f"process_id={self.rank}, but MPI's rank of this process is {rank}"
        try:
            _own_devices(self.devices)
        except ValueError as error:
            return str(error)
        return ""


def _own_devices(device_ids: int | Sequence[int] | None) -> tuple[int, ...]:
    """Returns the numbers of the devices of this process that it uses.

    Raises:
      ValueError: if there are no devices with these numbers, or settings contradict each other.
    """
    count = client.own_device_count()
    if device_ids is None:
        return tuple(range(count))
    numbers = (device_ids,) if isinstance(device_ids, int) else tuple(device_ids)
    if not numbers or len(set(numbers)) < len(numbers) or not set(numbers) <= set(range(count)):
        raise ValueError(
            f"local_device_ids={device_ids!r}, but this process has the devices "
            f"{list(range(count))}: pass some of these, each once, or set jax_num_cpu_devices"
        )
    return numbers


def _join_by_mpi(requests: _ProcessArguments) -> None:
    """Joins the processes of MPI's world, if all of them can join."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError(
            "jax.distributed.initialize: this process was started by MPI's mpiexec, but mpi4py cannot "
            f"be imported ({error}): pip install 'jitney[mpi]'"
        ) from error
    comm = MPI.COMM_WORLD.Dup()
    joined.world, joined.rank, joined.size = comm, comm.rank, comm.size
    _watch()
    problems = _texts_of_processes(
        "jax.distributed.initialize", requests.problem(comm.rank, comm.size)
    )
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        problems[joined.rank] = (
            "this MPI does not support concurrent calls from several threads "
            "(MPI_THREAD_MULTIPLE): do not change mpi4py.rc.thread_level, or use another MPI, such "
            "as that of `pip install mpich`"
        )
    if any(problems.values()):
        reasons = "; ".join([f"process {k}: {text}" for k, text in problems.items() if text])
        _leave()
        raise ValueError(f"jax.distributed.initialize: {reasons}")
    _check_settings(requests)
    _look_around(comm, MPI)
    joined.device_counts = tuple([
        int(n)
        for n in processes.gather("device counts", str(len(_own_devices(requests.devices))).encode())
    ])  # fmt: skip
    device.thread_count.cache_clear()


def _texts_of_processes(what: str, own: str) -> dict[int, str]:
    """Returns the text that each process sends, by its number."""
    texts = processes.gather(what, own.encode())
    return {number: text.decode() for number, text in enumerate(texts)}


def _check_settings(requests: _ProcessArguments) -> None:
    """Checks that the settings on which programs depend are the same in all processes.

    Raises:
      ValueError: in all processes, if they differ.
    """
    settings = {
        "coordinator_address": requests.address,
        "version": version.PACKAGE_VERSION,
        "Python": sys.version_info[:2],
        "byte order": sys.byteorder,
        "jax_enable_x64": config.enable_x64.value,
        "jax_default_prng_impl": config.default_prng_impl_state.value,
        "jax_threefry_partitionable": config.threefry_partitionable.value,
    }
    # One line per setting; no value contains a newline.
    own = "\n".join([repr(value) for value in settings.values()])
    lines_of = {
        number: text.split("\n") for number, text in _texts_of_processes("settings", own).items()
    }
    for k, name in enumerate(settings):
        by_value: dict[str, list[int]] = {}
        for number, values in lines_of.items():
            by_value.setdefault(values[k], []).append(number)
        if len(by_value) > 1:
            differences = "; ".join(
                [f"{processes.named(w)}: {value}" for value, w in by_value.items()]
            )
            _leave()
            raise ValueError(
                f"jax.distributed.initialize: processes differ in {name}, so they would run "
                f"different programs. {differences}. Use the same value in all of them"
            )


def _look_around(comm: MPI.Intracomm, mpi: Any) -> None:
    """Counts the processes of this machine on the same cores, and starts to watch them."""
    machine = comm.Split_type(mpi.COMM_TYPE_SHARED)
    own = sorted(device.usable_cores())
    joined.sharers = machine.allgather(own).count(own)
    _Watch.deaths = death_watch.Watch(machine, joined.rank, joined.size)
    machine.Free()


def _leave() -> None:
    """Makes this process the only one again, after joining the others has failed."""
    joined.meetings.clear()
    joined.world, joined.rank, joined.size = None, 0, 1


# --- ending -------------------------------------------------------------------------------------------


class _Watch:
    """The state of the watch over the end of this process.

    Attributes:
      pid: the process that has joined the others; processes that it forks have not.
      deaths: the watch that informs the other processes if this one dies, or None.
    """

    pid = 0
    deaths: ClassVar[death_watch.Watch | None] = None


def _end_watch() -> None:
    """Dismisses the watcher, since this process has reported that it ends."""
    if _Watch.deaths is not None:
        _Watch.deaths.dismiss()
        _Watch.deaths = None


def _watch() -> None:
    """Ensures that the other processes are informed when this one ends, also without an error."""
    if _Watch.pid == os.getpid():
        return
    _Watch.pid = os.getpid()
    show = sys.excepthook

    def show_and_end_all(
        kind: type[BaseException], error: BaseException, tb: TracebackType | None
    ) -> None:
        show(kind, error, tb)
        end_all(_first_line(error))

    sys.excepthook = show_and_end_all
    atexit.register(_at_exit)


def _first_line(error: BaseException) -> str:
    text = str(error).partition("\n")[0]  # the full text has been shown
    text = text if len(text) < 100 else text[:96] + " ..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def end_all(why: str, code: int = 1) -> None:
    """Ends all processes, including this one, with a message; does nothing if there is only one.

    Args:
      why: the reason, for the message.
      code: the exit code.
    """
    if joined.world is None or _Watch.pid != os.getpid():
        return
    _end_watch()
    sys.stdout.flush()
    print(
        f"jitney: process {joined.rank} of {joined.size} has ended because of {why}. The other "
        "processes are terminated, too",
        file=sys.stderr,
        flush=True,
    )
    joined.world.Abort(code)


def _at_exit() -> None:
    """Ends all processes if this one ends with an error; otherwise waits for the others to end."""
    if joined.world is None or _Watch.pid != os.getpid():
        return
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if isinstance(error, BaseException):  # shown by a hook that a library has set
        end_all(_first_line(error))
    # Each time other processes meet for something else, they learn that this one has ended.
    late = threading.Timer(_PATIENCE, _tell_of_waiting)
    late.daemon = True
    late.start()
    while True:
        try:
            processes.meet("the end of the program")
            break
        except RuntimeError as different:
            print(f"jitney: process {joined.rank}: {different}", file=sys.stderr, flush=True)
    late.cancel()
    _end_watch()


_PATIENCE = 10.0  # seconds that a process waits at its end before it reports that it waits


def _tell_of_waiting() -> None:
    print(
        f"jitney: process {joined.rank} of {joined.size} has reached the end of its program, and "
        "waits for the other processes",
        file=sys.stderr,
        flush=True,
    )
