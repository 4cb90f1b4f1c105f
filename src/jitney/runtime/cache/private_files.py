"""Folders and files that only the user can have written, since their contents are executed.

A folder or file must belong to the user or to root, and neither group nor others may have write
permission. Folders are opened once and files are reached through them, so replacing a path in the
meantime has no effect. Only regular files of bounded size are read: links, FIFOs, devices and
sockets are refused without waiting for them.

Folders above the outermost opened folder are not checked. Users who can write there can move the
opened folder, but cannot put anything into it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from types import TracebackType

from jitney.core.contexts import Owned

_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def make_private(path: str) -> None:
    """Creates a folder with permissions for the user alone, if it does not exist."""
    parent = os.path.dirname(path)
    if not os.path.isdir(parent):
        os.makedirs(parent, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)


def _refuse(path: str, why: str) -> PermissionError:
    return PermissionError(errno.EPERM, f"{why}: it is neither read nor written", path)


def _check(status: os.stat_result, path: str) -> None:
    if status.st_uid not in (os.geteuid(), 0):
        raise _refuse(path, "it belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _refuse(path, "group or others may write to it")


class Folder:
    """An open folder, as a context manager.

    Args:
      path: its path, or its name within `above`, which must not be a link.
      above: the folder that contains it, if that folder must be private as well.

    Raises:
      OSError: if it does not exist; PermissionError if others could have written to it.
    """

    def __init__(self, path: str, above: Folder | None = None) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        if above is None:
            self.path = path
            self._opened = Owned(os.open, os.close, path, flags)
        else:
            self.path = os.path.join(above.path, path)
            self._opened = Owned(os.open, os.close, path, flags | os.O_NOFOLLOW, dir_fd=above._fd)
        self._fd = self._opened.value
        _check(os.fstat(self._fd), self.path)

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._opened.release()

    def read(self, name: str, most: int, *, touch: bool = False) -> bytes:
        """Returns the contents of a file of at most `most` bytes; `touch` updates its time of use.

        Raises:
          OSError: if it cannot be read, or cannot be trusted.
        """
        path = os.path.join(self.path, name)
        with Owned(os.open, os.close, name, os.O_RDONLY | _FLAGS, dir_fd=self._fd) as fd:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise _refuse(path, "it is not a regular file")
            _check(status, path)
            if status.st_size > most:
                raise OSError(errno.EFBIG, f"it has {status.st_size} bytes", path)
            data = os.read(fd, status.st_size)
            if len(data) != status.st_size:
                raise OSError(errno.EIO, "only a part of it could be read", path)
            if touch:
                with contextlib.suppress(OSError):  # fails for a shared folder of root's
                    os.utime(fd)
            return data

    def has(self, name: str) -> bool:
        """Returns whether there is a regular file called `name`."""
        try:
            return stat.S_ISREG(os.lstat(name, dir_fd=self._fd).st_mode)
        except FileNotFoundError:
            return False

    def write(self, name: str, data: bytes) -> None:
        """Writes a file atomically, so that it is complete or absent; replaces an existing file."""
        temporary = f"{name}.{os.urandom(6).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
        try:
            with (
                Owned(os.open, os.close, temporary, flags, 0o600, dir_fd=self._fd) as fd,
                open(fd, "wb", closefd=False) as file,
            ):
                file.write(data)
            os.replace(temporary, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except BaseException:
            self.remove(temporary)
            raise

    def remove(self, name: str) -> None:
        """Deletes a file, if it exists and can be deleted."""
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=self._fd)

    def extend(self, name: str, count: int) -> int:
        """Extends a file by `count` bytes, safely among processes; returns its new length."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _FLAGS
        with Owned(os.open, os.close, name, flags, 0o600, dir_fd=self._fd) as fd:
            os.write(fd, bytes(count))
            return os.fstat(fd).st_size
