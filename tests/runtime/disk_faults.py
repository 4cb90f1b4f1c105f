"""Faults of the folder of compiled programs: each must leave a right answer, at worst a compiled one.

The tests run each fault a few times. A longer run, which prints the table of docs/disk_cache.md:

    python -m tests.runtime.disk_faults 20
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import resource
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler.hlo.digest import digest
from jitney.core.settings import config
from jitney.runtime.cache import disk_cache
from jitney.runtime.execution.assignment import assign
from jitney.runtime.execution.executable import Executable

X = np.linspace(-2, 2, 50, dtype=np.float32)
NOBODY = 65534


@dataclass
class Kept:
    """A program on disk, what it is called with, and what it must give."""

    key: str
    lowering: object
    args: tuple[np.ndarray, ...]
    expected: list[np.ndarray]

    def is_found(self) -> bool:
        """Whether it is found on disk; if so, it must give what it should."""
        place = disk_cache.directory()
        assert place is not None
        disk_cache._codes.clear()
        low = self.lowering
        program = disk_cache.find(place, self.key, low.module)
        if program is None:
            return False
        self.check(Executable("kept", program, low.in_avals, low.out_avals, assign(())))
        return True

    def check(self, executable: Executable) -> None:
        found = executable.run(self.args)
        for x, y in zip(found, self.expected, strict=True):
            np.testing.assert_array_equal(np.asarray(x), y)

    def put(self) -> None:
        """Compiles it anew, if it is not found, and leaves it on disk."""
        jitney.clear_caches()
        disk_cache._codes.clear()
        low = self.lowering
        object.__setattr__(low, "_executable", None)
        self.check(low.compile())

    def file(self) -> Path:
        return Path(disk_cache.directory() or "", f"{self.key}.program")


def keep(function: Callable[..., object], *args: np.ndarray) -> Kept:
    """Compiles `function` and leaves it on disk."""
    lowering = jitney.jit(function).lower(*args)._lowering
    key = digest(lowering.module)
    assert key is not None
    kept = Kept(key, lowering, args, [])
    kept.expected = [np.asarray(x) for x in lowering.compile().run(args)]
    return kept


def several() -> list[Kept]:
    """Programs of one type and of other types, with constants, kernels that they share, and a loop."""
    table = np.arange(50, dtype=np.float32)
    return [
        keep(lambda x: x + 1, X),
        keep(lambda x: x + 2, X),
        keep(lambda x: x * 2 + table, X),
        keep(lambda x: jnp.sin(x) * 3 + table[::-1].copy(), X),
        keep(lambda x: (x + 1).astype(np.int32), X),
        keep(lambda x: x + 1, np.arange(2000, dtype=np.float32)),
        keep(lambda x: lax.fori_loop(0, 3, lambda i, x: x * 2, x), X),
    ]


@contextlib.contextmanager
def cache(root: str | Path) -> Iterator[Path]:
    """The cache is on, in `root`."""
    with config.enable_compilation_cache(True), config.compilation_cache_dir(str(root)):
        yield Path(disk_cache.directory() or "")


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A place for the cache, which other users can get to."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name, "cache")


# --- faults: each gives the number of its tries -------------------------------------------------------


def exchanged() -> int:
    """Each file stored under the name of every other file, for programs and object files."""
    kept = several()
    tries = 0
    for suffix in (".program", ".object"):
        paths = sorted(kept[0].file().parent.glob(f"*{suffix}"))
        contents = {path: path.read_bytes() for path in paths}
        for path in paths:
            for other in paths:
                if other != path:
                    path.write_bytes(contents[other])
                    found = [k.is_found() for k in kept]
                    assert suffix == ".object" or not found[_index(kept, path)]
                    tries += 1
                    path.write_bytes(contents[path])
    assert all(k.is_found() for k in kept)
    return tries


def _index(kept: list[Kept], path: Path) -> int:
    return [k.file() for k in kept].index(path)


def _damaged(damage: Callable[[bytes, int], bytes], step: int) -> int:
    table = np.arange(50, dtype=np.float32)
    kept = keep(lambda x: jnp.sin(x) * 3 + table, X)
    tries = 0
    for path in sorted(kept.file().parent.iterdir()):
        whole = path.read_bytes()
        for n in range(random.randrange(step), len(whole), step):
            path.write_bytes(damage(whole, n))
            assert not kept.is_found()
            tries += 1
        path.write_bytes(whole)
    assert kept.is_found()
    return tries


def torn(step: int = 1) -> int:
    """A file truncated after each of its bytes."""
    return _damaged(lambda whole, n: whole[:n], step)


def flipped(step: int = 1) -> int:
    """A file with one bit flipped, for each of its bytes."""

    def flip(whole: bytes, n: int) -> bytes:
        return whole[:n] + bytes([whole[n] ^ 1 << random.randrange(8)]) + whole[n + 1 :]

    return _damaged(flip, step)


def no_files() -> int:
    """FIFOs, links, sockets, folders and devices in place of the files and of the folder."""
    kept = several()[0]
    kinds = [_fifo, _link, _dangling_link, _socket, Path.mkdir, _device]
    tries = 0
    start = time.monotonic()
    for path in (kept.file(), next(kept.file().parent.glob("*.object")), kept.file().parent):
        for kind in kinds:
            if path.is_dir() and kind == Path.mkdir:
                continue
            aside = path.rename(path.with_name("aside"))
            try:
                kind(path)
            except PermissionError:
                aside.rename(path)  # devices are root's to make
                continue
            found = kept.is_found()
            assert not found or path.suffix == ".object"
            kept.put()
            tries += 1
            _clear(path)
            aside.rename(path)
    assert time.monotonic() - start < 60, "something was waited for"
    assert kept.is_found()
    return tries


def _fifo(path: Path) -> None:
    os.mkfifo(path, 0o600)


def _link(path: Path) -> None:
    path.symlink_to("aside")


def _dangling_link(path: Path) -> None:
    path.symlink_to("nowhere")


def _socket(path: Path) -> None:
    # The name of a socket is short: from within its folder.
    here = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path.name[:90])
        os.rename(path.name[:90], path.name)
    finally:
        os.chdir(here)


def _device(path: Path) -> None:
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero: it has no end


def _clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        for inner in path.iterdir():
            inner.unlink()
        path.rmdir()
    elif path.is_symlink() or path.exists():
        path.unlink()


def others_may_write() -> int:
    """Files and folders that are writable by the group or by others."""
    kept = several()[0]
    tries = 0
    place = kept.file().parent
    objects = list(place.glob("*.object"))
    for path in (kept.file(), place, place.parent):
        before = path.stat().st_mode
        for bits in (0o020, 0o002, 0o022, 0o1777):
            path.chmod(before | bits)
            assert not kept.is_found()
            with config.raise_persistent_cache_errors(True):
                _raises(PermissionError, kept.is_found)
            names = sorted(place.iterdir())
            if path.is_dir():
                kept.put()
                assert sorted(place.iterdir()) == names, "it is written to"
            tries += 1
            path.chmod(before)
    for path in objects:
        path.chmod(0o666)
        kept.is_found()
        path.chmod(0o600)
    assert kept.is_found()
    return tries


def _raises(kind: type[Exception], function: Callable[[], object]) -> None:
    try:
        function()
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


def of_other_users() -> int:
    """Access by another user to readable and unreadable folders of root and of a third user."""
    if os.geteuid() != 0:
        return 0
    kept = several()[0]
    place = kept.file().parent
    root, files = place.parent, list(place.iterdir())
    for path in (place, root):
        path.chmod(0o755)
    for path in files:
        path.chmod(0o644)
    _as_nobody(lambda: _expect(kept.is_found()))
    before = sorted(place.iterdir())
    # What is not there yet cannot be written.
    _as_nobody(lambda: several()[4].put())
    for path in files:
        path.chmod(0o600)
    _as_nobody(lambda: _expect(not kept.is_found()))
    place.chmod(0o700)
    _as_nobody(lambda: _expect(not kept.is_found()))
    assert sorted(place.iterdir()) == before
    place.chmod(0o755)
    for path in files:
        os.chown(path, 12345, 12345)
        path.chmod(0o644)
    _as_nobody(lambda: _expect(not kept.is_found()))
    assert not kept.is_found()
    for path in files:
        os.chown(path, 0, 0)
    for path in (place, root):
        os.chown(path, 12345, 12345)
        assert not kept.is_found()
        _as_nobody(lambda: _expect(not kept.is_found()))
        os.chown(path, 0, 0)
    assert kept.is_found()
    return 8


def _expect(is_so: bool) -> None:
    assert is_so


def _as_nobody(work: Callable[[], object]) -> None:
    def lowered() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        work()

    assert not _wait(_child(lowered))


def _child(work: Callable[[], object]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        pid = os.fork()
    if not pid:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    return pid


def _wait(pid: int) -> int:
    return os.waitpid(pid, 0)[1]


def writers() -> int:
    """Sixteen processes that compile the same programs at once, starting from an empty folder."""
    kept = several()
    place = kept[0].file().parent
    for path in place.iterdir():
        path.unlink()
    pids = [_child(lambda: [k.put() for k in kept]) for _ in range(16)]
    assert not any([_wait(pid) for pid in pids])
    assert all(k.is_found() for k in kept)
    assert {path.suffix for path in place.iterdir()} == {".program", ".object"}
    return 16


def killed(tries: int = 10) -> int:
    """Processes killed while they write files."""
    kept = several()
    place = kept[0].file().parent
    for _ in range(tries):
        for path in place.glob("*.*"):
            if random.random() < 0.8:
                path.unlink()
        pid = _child(lambda: [k.put() for k in kept])
        time.sleep(random.random() * 0.04)
        os.kill(pid, signal.SIGKILL)
        _wait(pid)
        for k in kept:
            k.is_found()
    for k in kept:
        k.put()
    assert all(k.is_found() for k in kept)
    return tries


def no_space() -> int:
    """A limit on the size of files that the process may write."""
    kept = several()
    place = kept[0].file().parent
    limits = [0, 1, 100, 500, 1000, 1500, 2000, 3000]

    def work(limit: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        for k in kept:
            k.put()
        with config.raise_persistent_cache_errors(True):
            if limit < 100:
                _raises(OSError, kept[0].put)

    for limit in limits:
        for path in place.glob("*.*"):
            path.unlink()
        assert not _wait(_child(lambda n=limit: work(n)))
        assert all(path.suffix in (".program", ".object") for path in place.iterdir())
        for k in kept:
            k.is_found()
    return len(limits)


def full_disk() -> int:
    """A full file system (requires the permission to mount one)."""
    if os.geteuid() != 0:
        return 0
    tries = 0
    for pages in (2, 3, 4, 6, 8, 12):
        with tempfile.TemporaryDirectory() as mount:
            command = ["mount", "-t", "tmpfs", "-o", f"size={4096 * pages},mode=700", "none", mount]
            if subprocess.run(command, capture_output=True, check=False).returncode:
                return tries
            try:
                with cache(Path(mount, "cache")):
                    for k in several():
                        k.put()
                        k.is_found()
                    with config.raise_persistent_cache_errors(True):
                        try:
                            several()
                        except OSError as error:
                            assert error.errno == errno.ENOSPC
                tries += 1
            finally:
                subprocess.run(["umount", mount], check=True)
    return tries


def too_many() -> int:
    """More programs than fit into the size limit, in one process and in several at once."""
    most = 200_000
    tries = 60

    def fill(first: int) -> None:
        with config.compilation_cache_max_size(most):
            for k in range(first, first + tries // 3):
                keep(lambda x, k=k: jnp.sin(x) * (k + 0.5), X)
                # Others may have written what they have not looked at yet.
                assert _size(place) <= most + 3 * 32_000

    place = several()[0].file().parent
    fill(0)
    assert _size(place) <= most
    pids = [_child(lambda k=k: fill(100 * k)) for k in (1, 2)]
    assert not any([_wait(pid) for pid in pids])
    assert _size(place) <= most
    return tries


def _size(place: Path) -> int:
    total = 0
    for path in place.glob("*.*"):
        with contextlib.suppress(FileNotFoundError):
            total += 512 * path.stat().st_blocks
    return total


FAULTS = {
    f.__name__: f
    for f in (
        exchanged, torn, flipped, no_files, others_may_write, of_other_users, writers, killed, no_space,
        full_disk, too_many,
    )
}  # fmt: skip


def main(iterations: int) -> None:
    """Runs each fault `iterations` times; prints how often it was tried."""
    jitney.jit(lambda x: x + 1)(X)
    print("| fault | attempts |\n|---|---|")
    for function in FAULTS.values():
        tries = 0
        for _ in range(iterations):
            with folder() as place, cache(place):
                tries += function()
        print(f"| {function.__doc__.removesuffix('.')} | {tries:,} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1)
